import { type Kysely, type Transaction, sql } from 'kysely'
import { MAX_PAGE_PRODUCTS } from '../catalog/contract.ts'
import { isFuture, toLatestMs } from '../clock.ts'
import { isPostgres } from '../database/postgres.ts'
import { compareTexts } from '../offers/ranking.ts'
import type { ComparedContent } from './rows.ts'
import type { CopyTables } from './schema.ts'
import { executeOnce, splitList } from './statements.ts'
import type { WalkPage } from './store.ts'

/** Versions that one transaction looks at: a page that follows a gap of a million products is put in step by step. */
const MAX_VERSIONS_READ = 1_000

/** GTINs above `afterGtin` up to `untilGtin`, as a page sees them. */
type PageRange = Readonly<{
  copyId: number
  page: Pick<WalkPage, 'walk' | 'asOfMs'>
  afterGtin: string
  untilGtin: string
  nowMs: number
}>

/** A version that the running walk may have to do with: not ended before it. */
export type Version = Readonly<{
  id: number
  gtin: string
  from_walk: number
  until_walk: number | null
  digest: string
  brand: string | null
  as_of_ms: number
}>

const VERSION_COLUMNS = ['id', 'gtin', 'from_walk', 'until_walk', 'digest', 'brand', 'as_of_ms'] as const

/** Taking seven values of each row out of a database costs more than finding the rows: they come as one text. */
const columns = sql.join(VERSION_COLUMNS.map((name) => sql.ref(name)))
const IN_ONE_TEXT = {
  sqlite: sql<string>`json_group_array(json_array(${columns}))`,
  postgres: sql<string>`coalesce(json_agg(json_build_array(${columns})), '[]')::text`,
} as const

type VersionValues = [number, string, number, number | null, string, string | null, number]

/** In place of a time of the future: any page is newer. */
export const UNKNOWN_AGE_MS = 0

function parseVersions(json: string, nowMs: number): readonly Version[] {
  const versions = (JSON.parse(json) as VersionValues[]).map(
    ([id, gtin, fromWalk, untilWalk, digest, brand, asOfMs]) => ({
      id,
      gtin,
      from_walk: fromWalk,
      until_walk: untilWalk,
      digest,
      brand,
      as_of_ms: isFuture(asOfMs, nowMs) ? UNKNOWN_AGE_MS : asOfMs,
    }),
  )
  // No database promises an order within the text.
  return versions.sort((a, b) => compareTexts(a.gtin, b.gtin))
}

/** The versions of a range in the order of their GTINs, and up to where they are all of them. */
export async function readVersions(
  transaction: Transaction<CopyTables>,
  { copyId, page, afterGtin, untilGtin, nowMs }: PageRange,
): Promise<Readonly<{ versions: readonly Version[]; knownUntilGtin: string }>> {
  const [row] = await executeOnce(transaction, 'versions of a range', {
    values: [copyId, afterGtin, untilGtin, page.walk, MAX_VERSIONS_READ],
    build: () =>
      transaction
        .selectFrom((database) =>
          database
            .selectFrom('products')
            .select(VERSION_COLUMNS)
            .where('copy_id', '=', copyId)
            .where('gtin', '>', afterGtin)
            .where('gtin', '<=', untilGtin)
            .where((builder) =>
              builder.or([builder('until_walk', 'is', null), builder('until_walk', '=', page.walk)]),
            )
            .orderBy('gtin')
            .limit(MAX_VERSIONS_READ)
            .as('versions'),
        )
        .select(IN_ONE_TEXT[isPostgres(transaction) ? 'postgres' : 'sqlite'].as('json')),
  })
  const versions = parseVersions(row?.json ?? '[]', nowMs)
  const last = versions.at(-1)
  if (last === undefined || versions.length < MAX_VERSIONS_READ)
    return { versions, knownUntilGtin: untilGtin }
  // The last product may have another version behind it.
  const whole = versions.filter(({ gtin }) => gtin < last.gtin)
  return { versions: whole, knownUntilGtin: whole.at(-1)?.gtin ?? untilGtin }
}

/** Products of the range of which something newer than the page says that no shop sells them. */
export async function readAbsences(
  transaction: Transaction<CopyTables>,
  { copyId, page, afterGtin, untilGtin, nowMs }: PageRange,
): Promise<ReadonlySet<string>> {
  const rows = await executeOnce(transaction, 'absences of a range', {
    values: [copyId, afterGtin, untilGtin, page.asOfMs, toLatestMs(nowMs)],
    build: () =>
      transaction
        .selectFrom('absences')
        .select('gtin')
        .where('copy_id', '=', copyId)
        .where('gtin', '>', afterGtin)
        .where('gtin', '<=', untilGtin)
        .where('as_of_ms', '>', page.asOfMs)
        .where('as_of_ms', '<=', toLatestMs(nowMs)),
  })
  return new Set(rows.map((row) => row.gtin))
}

/** What some versions show, by their ids. */
export async function readContents(
  transaction: Transaction<CopyTables>,
  ids: readonly number[],
): Promise<ReadonlyMap<number, ComparedContent>> {
  const contents = new Map<number, ComparedContent>()
  for (const some of splitList(ids)) {
    const rows = await executeOnce(transaction, `contents of ${some.length}`, {
      values: some,
      build: () =>
        transaction
          .selectFrom('products')
          .select(['id', 'title', 'brand', 'images', 'offers', 'drops'])
          .where('id', 'in', some),
    })
    for (const row of rows) contents.set(row.id, row)
  }
  return contents
}

/**
 * Digests and GTINs of the next products after one, a line each: more than a page has, as a page may lack some of them.
 * What a walk reads later with its transaction decides; this only saves parsing.
 */
export async function listKnown(
  database: Kysely<CopyTables>,
  copyId: number,
  afterGtin: string,
): Promise<string> {
  const [row] = await executeOnce(database, 'known products', {
    values: [copyId, afterGtin, KNOWN_PRODUCTS],
    build: () =>
      database
        .selectFrom((builder) =>
          builder
            .selectFrom('products')
            .select(['digest', 'gtin'])
            .where('copy_id', '=', copyId)
            .where('gtin', '>', afterGtin)
            .where('until_walk', 'is', null)
            .orderBy('gtin')
            .limit(KNOWN_PRODUCTS)
            .as('known'),
        )
        .select(LINES[isPostgres(database) ? 'postgres' : 'sqlite'].as('lines')),
  })
  return row?.lines ?? ''
}

const LINES = {
  sqlite: sql<string>`group_concat(digest || ' ' || gtin, char(10))`,
  postgres: sql<string>`string_agg(digest || ' ' || gtin, chr(10))`,
} as const

/** A page's, and some that are gone. */
const KNOWN_PRODUCTS: number = MAX_PAGE_PRODUCTS + 40
