import { type AliasedRawBuilder, type Kysely, type Transaction, sql } from 'kysely'
import type { Product } from '../catalog/contract.ts'
import { DAY_MS } from '../clock.ts'
import { foldText } from '../offers/text.ts'
import { findProductInRow, toStoredShape } from './rows.ts'
import type { CopyTables } from './schema.ts'
import { type CopyRow, getCopy, isVisibleAt } from './sql-copies.ts'
import { deleteVersions, insertVersions, readFirstSeen, updateVersion } from './sql-versions.ts'
import { executeOnce } from './statements.ts'
import type { CopyEntry } from './store.ts'

/** How long an absence is kept: no page under way is that old. */
const ABSENCE_KEPT_MS: number = DAY_MS

/** Columns of a product and, from its page, when an unchanged one was last seen by a walk. */
const productColumns = ['id', 'gtin', 'title', 'brand', 'images', 'offers', 'as_of_ms'] as const

/** What boxes read: the current walk, or the running one before there is any. */
const visibleWalk = sql<number>`case when c.current_walk > 0 then c.current_walk else c.running_walk end`

/** When a walk last saw the page of the product. */
const pageTime = sql<number | null>`(select w.as_of_ms from walk_pages w where w.copy_id = c.id
  and w.walk = ${visibleWalk} and w.after_gtin < p.gtin and w.until_gtin >= p.gtin order by w.after_gtin desc limit 1)`

/** What the copy knows of one product, in one statement: the newer of its row and its remembered absence. */
export async function findProduct(
  database: Kysely<CopyTables>,
  { catalog, channelId, gtin }: Readonly<{ catalog: string; channelId: string; gtin: string }>,
): Promise<CopyEntry | undefined> {
  const [row] = await executeOnce(database, 'find product', {
    values: [gtin, gtin, catalog, channelId],
    build: () =>
      database
        .selectFrom('copies as c')
        .leftJoin('products as p', (join) =>
          join
            .onRef('p.copy_id', '=', 'c.id')
            .on('p.gtin', '=', gtin)
            .on(
              sql<boolean>`p.from_walk <= ${visibleWalk} and (p.until_walk is null or p.until_walk > ${visibleWalk})`,
            ),
        )
        .leftJoin('absences as a', (join) => join.onRef('a.copy_id', '=', 'c.id').on('a.gtin', '=', gtin))
        .select(['p.id', 'p.gtin', 'p.title', 'p.brand', 'p.images', 'p.offers', 'p.as_of_ms'])
        .select(['a.as_of_ms as absent_at_ms', pageTime.as('page_as_of_ms')])
        .where('c.catalog', '=', catalog)
        .where('c.channel_id', '=', channelId),
  })
  if (row === undefined) return undefined
  const entry = isWhole(row) ? toEntries(row)[0] : undefined
  const { absent_at_ms: absentAtMs } = row
  if (absentAtMs === null || (entry !== undefined && entry.asOfMs >= absentAtMs)) return entry
  return { product: null, asOfMs: absentAtMs }
}

type Nullable<T> = { readonly [K in keyof T]: T[K] | null }

/** A row that was joined has all of its columns, or none. */
function isWhole(row: Nullable<ProductRow>): row is ProductRow {
  return row.id !== null
}

/** Visible products by GTIN, or by row of this copy, in no particular order; damaged rows are left out. */
export async function readProducts(
  database: Kysely<CopyTables>,
  copy: CopyRow,
  wanted: Readonly<{ gtins: readonly string[] } | { ids: readonly number[] }>,
): Promise<readonly (CopyEntry & Readonly<{ product: Product; id: number }>)[]> {
  const rows = await database
    .selectFrom('products')
    .select([...productColumns, selectPageTime(copy)])
    // Not with rows: SQLite would go through the whole copy to find a few of them.
    .$if('gtins' in wanted, (query) =>
      query.where('copy_id', '=', copy.id).where('gtin', 'in', 'gtins' in wanted ? wanted.gtins : []),
    )
    .$if('ids' in wanted, (query) => query.where('id', 'in', 'ids' in wanted ? wanted.ids : []))
    .where(isVisibleAt<'products'>(copy.visibleWalk))
    .execute()
  return rows.flatMap(toEntries)
}

type ProductRow = Parameters<typeof findProductInRow>[0] &
  Readonly<{ id: number; as_of_ms: number; page_as_of_ms: number | null }>

/** The product of a row; none where that is damaged. */
function toEntries(row: ProductRow): (CopyEntry & Readonly<{ product: Product; id: number }>)[] {
  const product = findProductInRow(row)
  const asOfMs = Math.max(row.as_of_ms, row.page_as_of_ms ?? 0)
  return product === undefined ? [] : [{ product, asOfMs, id: row.id }]
}

/** The words of a search, without case and accents. */
export function splitWords(text: string): readonly string[] {
  return foldText(text)
    .split(' ')
    .filter((word) => word !== '')
}

/** `search_text` holds the word; its own `%` and `_` are letters. */
export function hasWord(word: string): ReturnType<typeof sql<boolean>> {
  const pattern = `%${word.replace(/[\\%_]/g, '\\$&')}%`
  return sql<boolean>`search_text like ${pattern} escape '\\'`
}

/** Writes a look-up over every version of the product; what is newer stays. */
export async function putLookup(
  database: Kysely<CopyTables>,
  place: Readonly<{ catalog: string; channelId: string; gtin: string }>,
  entry: CopyEntry,
): Promise<void> {
  await database.transaction().execute(async (transaction) => {
    const copy = await getCopy(transaction, place.catalog, place.channelId)
    const versions = await executeOnce(transaction, 'find versions', {
      values: [copy.id, place.gtin, copy.visibleWalk],
      build: () =>
        transaction
          .selectFrom('products')
          .select(['id', 'from_walk', 'brand', 'as_of_ms'])
          .where('copy_id', '=', copy.id)
          .where('gtin', '=', place.gtin)
          .where((builder) =>
            builder.or([builder('until_walk', 'is', null), builder('until_walk', '>', copy.visibleWalk)]),
          ),
    })
    if (versions.some((version) => version.as_of_ms > entry.asOfMs)) return
    if (await isOutdated(transaction, copy, { gtin: place.gtin, asOfMs: entry.asOfMs })) return
    if (entry.product === null)
      await putAbsence(transaction, { copy, gtin: place.gtin, versions, asOfMs: entry.asOfMs })
    else await putProduct(transaction, { copy, product: entry.product, versions, asOfMs: entry.asOfMs })
  })
}

/** Has a remembered absence, or a page whose range holds the product, said something newer? */
async function isOutdated(
  transaction: Transaction<CopyTables>,
  copy: CopyRow,
  lookup: Readonly<{ gtin: string; asOfMs: number }>,
): Promise<boolean> {
  const [found] = await executeOnce(transaction, 'find newer', {
    values: [
      copy.id,
      lookup.gtin,
      lookup.asOfMs,
      copy.id,
      copy.currentWalk,
      lookup.gtin,
      lookup.gtin,
      lookup.asOfMs,
    ],
    build: () =>
      transaction.selectNoFrom(({ exists, or, selectFrom }) =>
        or([
          exists(
            selectFrom('absences')
              .select('gtin')
              .where('copy_id', '=', copy.id)
              .where('gtin', '=', lookup.gtin)
              .where('as_of_ms', '>', lookup.asOfMs),
          ),
          exists(
            selectFrom('walk_pages')
              .select('walk')
              .where('copy_id', '=', copy.id)
              .where('walk', '>=', copy.currentWalk)
              .where('after_gtin', '<', lookup.gtin)
              .where('until_gtin', '>=', lookup.gtin)
              .where('as_of_ms', '>', lookup.asOfMs),
          ),
        ]).as('is_outdated'),
      ),
  })
  return Boolean(found?.is_outdated)
}

type Version = Readonly<{ id: number; from_walk: number; brand: string | null; as_of_ms: number }>
type Put = Readonly<{ copy: CopyRow; versions: readonly Version[]; asOfMs: number }>

async function putAbsence(
  transaction: Transaction<CopyTables>,
  put: Put & Readonly<{ gtin: string }>,
): Promise<void> {
  const ids = put.versions.map((version) => version.id)
  await deleteVersions(transaction, ids)
  // Walks clear absences, too; where none runs, this does.
  await transaction
    .deleteFrom('absences')
    .where('copy_id', '=', put.copy.id)
    .where('as_of_ms', '<', put.asOfMs - ABSENCE_KEPT_MS)
    .execute()
  await transaction
    .insertInto('absences')
    .values({ copy_id: put.copy.id, gtin: put.gtin, as_of_ms: put.asOfMs })
    .onConflict((conflict) => conflict.columns(['copy_id', 'gtin']).doUpdateSet({ as_of_ms: put.asOfMs }))
    .execute()
}

async function putProduct(
  transaction: Transaction<CopyTables>,
  put: Put & Readonly<{ product: Product }>,
): Promise<void> {
  const { copy, asOfMs } = put
  const visible = put.versions.find((version) => version.from_walk <= copy.visibleWalk)
  const staged = put.versions.filter((version) => version !== visible)
  const knownBrand = put.versions.find((version) => version.brand !== null)?.brand ?? null
  const shape = toStoredShape(put.product, knownBrand)
  const firstSeen = await readFirstSeen(
    transaction,
    put.versions.map((version) => version.id),
  )
  await deleteVersions(
    transaction,
    staged.map((version) => version.id),
  )
  if (visible === undefined) {
    await insertVersions(transaction, [shape], {
      copyId: copy.id,
      fromWalk: copy.visibleWalk,
      asOfMs,
      firstSeen,
    })
  } else {
    await updateVersion(transaction, shape, {
      copyId: copy.id,
      fromWalk: visible.from_walk,
      asOfMs,
      productId: visible.id,
    })
  }
  await executeOnce(transaction, 'delete absence', {
    values: [copy.id, put.product.gtin],
    build: () =>
      transaction.deleteFrom('absences').where('copy_id', '=', copy.id).where('gtin', '=', put.product.gtin),
  })
}

/** When the walk last saw the product's page: an unchanged product's own row is older. */
export function selectPageTime(copy: CopyRow): AliasedRawBuilder<number | null, 'page_as_of_ms'> {
  return sql<
    number | null
  >`(select w.as_of_ms from walk_pages w where w.copy_id = ${copy.id} and w.walk = ${copy.visibleWalk}
    and w.after_gtin < products.gtin and w.until_gtin >= products.gtin order by w.after_gtin desc limit 1)`.as(
    'page_as_of_ms',
  )
}
