import { type Kysely, sql } from 'kysely'
import { MINUTE_MS, SECOND_MS } from '../clock.ts'
import { isPostgres } from '../database/is-postgres.ts'
import { toPictureHash } from '../offers/pictures.ts'
import { type FillOutcome, type FillPauses, startFilling } from './filling.ts'
import { parseImages } from './rows.ts'
import type { CopyTables } from './schema.ts'

/** Products that one short statement updates. */
const BATCH_PRODUCTS = 200

/** Filling continues after `done`: during an update, a process of an earlier version can write products without a name. */
const PAUSES_MS: FillPauses = { more: 20, failed: 5 * SECOND_MS, done: 5 * MINUTE_MS }

/** The name of a picture whose address cannot be read, so that it is not read again. */
const UNREADABLE = ''

/** Name the pictures of products that an earlier version wrote, in the background. Several processes can do it at once. */
export function startFillingPictures(database: Kysely<CopyTables>): ReturnType<typeof startFilling> {
  return startFilling(() => fillNextPictures(database), PAUSES_MS)
}

/** Name the pictures of the next products. */
export async function fillNextPictures(database: Kysely<CopyTables>): Promise<FillOutcome> {
  const { rows } = await sql<{ id: number; images: string }>`select id, images from products
    where picture_hash is null and images <> '[]' limit ${BATCH_PRODUCTS}`.execute(database)
  if (rows.length === 0) return 'done'
  const hashes = rows.map(({ id, images }) => {
    const imageUrl = parseImages(images)?.[0]
    return { id, hash: imageUrl === undefined ? UNREADABLE : toPictureHash(imageUrl) }
  })
  const json = JSON.stringify(hashes)
  const source = isPostgres(database)
    ? sql`json_to_recordset(${json}::json) as named (id bigint, hash text)`
    : sql`(select value ->> 'id' as id, value ->> 'hash' as hash from json_each(${json})) as named`
  await sql`update products set picture_hash = named.hash from ${source}
    where products.id = named.id and products.picture_hash is null`.execute(database)
  return 'more'
}
