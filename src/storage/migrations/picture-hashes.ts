import { type Kysely, sql } from 'kysely'
import { isPostgres } from '../../database/is-postgres.ts'
import { toPictureHash } from '../../offers/pictures.ts'
import { parseImages } from '../rows.ts'

/** Products that one statement updates. */
const BATCH_PRODUCTS = 1_000

/** Add the names of pictures to the products of a copy. Never change it: it is part of a released migration. */
export async function addPictureHashes(database: Kysely<unknown>): Promise<void> {
  const isServer = isPostgres(database)
  // Other processes may run the migration of a server at the same time.
  const ifNotExists = isServer ? sql`if not exists` : sql``
  await sql`alter table products add column ${ifNotExists} picture_hash text`.execute(database)
  for (let afterId = 0; ;) {
    const { rows } = await sql<{ id: number; images: string }>`select id, images from products
      where id > ${afterId} order by id limit ${BATCH_PRODUCTS}`.execute(database)
    const last = rows.at(-1)
    if (last === undefined) break
    await fillHashes(database, rows)
    afterId = last.id
  }
  await sql`create index ${ifNotExists} products_by_picture on products (picture_hash)
    where picture_hash is not null`.execute(database)
}

async function fillHashes(
  database: Kysely<unknown>,
  rows: readonly Readonly<{ id: number; images: string }>[],
): Promise<void> {
  const hashes = rows.flatMap(({ id, images }) => {
    const imageUrl = parseImages(images)?.[0]
    return imageUrl === undefined ? [] : [{ id, hash: toPictureHash(imageUrl) }]
  })
  const json = JSON.stringify(hashes)
  const source = isPostgres(database)
    ? sql`json_to_recordset(${json}::json) as named (id bigint, hash text)`
    : sql`(select value ->> 'id' as id, value ->> 'hash' as hash from json_each(${json})) as named`
  await sql`update products set picture_hash = named.hash from ${source}
    where products.id = named.id`.execute(database)
}
