import { type AliasedRawBuilder, type Kysely, type Transaction, sql } from 'kysely'
import type { Product } from '../catalog/contract.ts'
import { type Drops, addDrops } from '../catalog/parse.ts'
import { parseDrops, toStoredShape, type StoredShape } from './rows.ts'
import type { CopyTables } from './schema.ts'
import { type CopyRow, isVisibleAt } from './sql-copies.ts'
import { deleteVersions, insertVersion, markUntil, readFirstSeen, updateVersion } from './sql-versions.ts'
import type { WalkPage } from './store.ts'

/** Most rows that one transaction writes: readers of the same database are never held up for long. */
const MAX_TRANSACTION_ROWS = 500

/** Products looked at for one transaction that ends or removes some; each takes its deals along. */
const MAX_TRANSACTION_PRODUCTS = 100

/** Above every GTIN: the last page covers the rest of the catalog. */
export const END_OF_CATALOG = ':'

/** Puts a page into the copy under its walk's number. Doing so twice changes nothing. */
export async function applyPage(database: Kysely<CopyTables>, copy: CopyRow, page: WalkPage): Promise<void> {
  for (const products of splitByRows(page.products)) {
    await database
      .transaction()
      .execute((transaction) => applyProducts(transaction, copy, { ...page, products }))
  }
  const untilGtin = page.nextCursor === null ? END_OF_CATALOG : (page.products.at(-1)?.gtin ?? page.afterGtin)
  while ((await endMissing(database, copy, { ...page, untilGtin })) > 0);
  const content = {
    until_gtin: untilGtin,
    as_of_ms: page.asOfMs,
    next_cursor: page.nextCursor,
    product_count: page.products.length,
    drops: JSON.stringify(page.drops),
  }
  await database
    .insertInto('walk_pages')
    .values({ copy_id: copy.id, walk: page.walk, after_gtin: page.afterGtin, ...content })
    .onConflict((conflict) => conflict.columns(['copy_id', 'walk', 'after_gtin']).doUpdateSet(content))
    .execute()
}

/** Sums of a walk's pages. */
export async function sumPages(
  database: Kysely<CopyTables>,
  copyId: number,
  walk: number,
): Promise<Readonly<{ productCount: number; drops: Drops }>> {
  const rows = await database
    .selectFrom('walk_pages')
    .select(['product_count', 'drops'])
    .where('copy_id', '=', copyId)
    .where('walk', '=', walk)
    .execute()
  const drops: Drops = {}
  for (const row of rows) addDrops(drops, parseDrops(row.drops))
  return { productCount: rows.reduce((sum, row) => sum + row.product_count, 0), drops }
}

/** Products with a deal at a walk. */
export async function countDeals(
  database: Kysely<CopyTables>,
  copyId: number,
  walk: number,
): Promise<number> {
  const row = await database
    .selectFrom('deals')
    .select(sql<number>`count(distinct gtin)`.as('count'))
    .where('copy_id', '=', copyId)
    .where(isVisibleAt<'deals'>(walk))
    .executeTakeFirst()
  return row?.count ?? 0
}

/** Removes what ended at or before `walk`, in small transactions. */
export async function removeEnded(database: Kysely<CopyTables>, copyId: number, walk: number): Promise<void> {
  for (;;) {
    const rows = await database
      .selectFrom('products')
      .select(['id', countDealsOfProduct])
      .where('copy_id', '=', copyId)
      .where('until_walk', '<=', walk)
      .limit(MAX_TRANSACTION_PRODUCTS)
      .execute()
    if (rows.length === 0) break
    const removed = takeWithinRows(rows).map((row) => row.id)
    await database.transaction().execute((transaction) => deleteVersions(transaction, removed))
  }
  await database.deleteFrom('walk_pages').where('copy_id', '=', copyId).where('walk', '<', walk).execute()
}

/** Removes absences that the pages of a walk begun at `startedAtMs` have confirmed or overruled. */
export async function removeAbsences(
  database: Kysely<CopyTables>,
  copyId: number,
  startedAtMs: number,
): Promise<void> {
  for (;;) {
    const rows = await database
      .selectFrom('absences')
      .select('gtin')
      .where('copy_id', '=', copyId)
      .where('as_of_ms', '<', startedAtMs)
      .limit(MAX_TRANSACTION_ROWS)
      .execute()
    if (rows.length === 0) return
    const gtins = rows.map((row) => row.gtin)
    await database
      .deleteFrom('absences')
      .where('copy_id', '=', copyId)
      .where('gtin', 'in', gtins)
      .where('as_of_ms', '<', startedAtMs)
      .execute()
  }
}

const countDealsOfProduct: AliasedRawBuilder<number, 'deal_count'> =
  sql<number>`(select count(*) from deals where deals.product_id = products.id)`.as('deal_count')

/** The first of the rows that one transaction may write with their deals; one at least. */
function takeWithinRows<T extends Readonly<{ deal_count: number }>>(rows: readonly T[]): readonly T[] {
  let sum = 0
  const end = rows.findIndex((row, index) => (sum += 1 + row.deal_count) > MAX_TRANSACTION_ROWS && index > 0)
  return end === -1 ? rows : rows.slice(0, end)
}

/** Products in groups whose rows, with their deals twice, stay within one transaction. */
function splitByRows(products: readonly Product[]): Product[][] {
  const groups: Product[][] = []
  let rows = Infinity
  for (const product of products) {
    const cost = 3 + 3 * product.offers.length
    if (rows + cost > MAX_TRANSACTION_ROWS) {
      groups.push([])
      rows = 0
    }
    groups.at(-1)?.push(product)
    rows += cost
  }
  return groups
}

type Version = Readonly<{
  id: number
  gtin: string
  from_walk: number
  until_walk: number | null
  digest: string
  brand: string | null
  as_of_ms: number
}>

async function applyProducts(
  transaction: Transaction<CopyTables>,
  copy: CopyRow,
  page: WalkPage,
): Promise<void> {
  const gtins = page.products.map((product) => product.gtin)
  const versions = await transaction
    .selectFrom('products')
    .select(['id', 'gtin', 'from_walk', 'until_walk', 'digest', 'brand', 'as_of_ms'])
    .where('copy_id', '=', copy.id)
    .where('gtin', 'in', gtins)
    .where((builder) =>
      builder.or([builder('until_walk', 'is', null), builder('until_walk', '=', page.walk)]),
    )
    .execute()
  const absences = await transaction
    .selectFrom('absences')
    .select('gtin')
    .where('copy_id', '=', copy.id)
    .where('gtin', 'in', gtins)
    .where('as_of_ms', '>', page.asOfMs)
    .execute()
  const absent = new Set(absences.map((row) => row.gtin))
  for (const product of page.products) {
    if (absent.has(product.gtin)) continue
    const own = versions.filter((version) => version.gtin === product.gtin)
    await applyProduct(transaction, { copyId: copy.id, page, product, versions: own })
  }
}

type Application = Readonly<{
  copyId: number
  page: WalkPage
  product: Product
  versions: readonly Version[]
}>

async function applyProduct(transaction: Transaction<CopyTables>, application: Application): Promise<void> {
  const { page, versions } = application
  const staged = versions.find((version) => version.from_walk === page.walk)
  const base = versions.find((version) => version.from_walk < page.walk)
  const newest = staged ?? base
  const knownBrand = newest?.brand ?? null
  const shape = toStoredShape(application.product, knownBrand)
  const place = { copyId: application.copyId, fromWalk: page.walk, asOfMs: page.asOfMs }
  if (newest !== undefined && (newest.as_of_ms > page.asOfMs || newest.digest === shape.content.digest)) {
    if (newest.until_walk !== null) await markUntil(transaction, [newest.id], null)
  } else if (staged !== undefined) {
    await updateVersion(transaction, shape, { ...place, productId: staged.id })
  } else {
    await replaceVersion(transaction, shape, { ...place, base })
  }
}

async function replaceVersion(
  transaction: Transaction<CopyTables>,
  shape: StoredShape,
  details: Readonly<{ copyId: number; fromWalk: number; asOfMs: number; base: Version | undefined }>,
): Promise<void> {
  const baseIds = details.base === undefined ? [] : [details.base.id]
  const firstSeen = await readFirstSeen(transaction, baseIds)
  await markUntil(transaction, baseIds, details.fromWalk)
  await insertVersion(transaction, shape, { ...details, firstSeen })
}

/** Ends some versions of the page's range that the page does not have; how many they were. */
async function endMissing(
  database: Kysely<CopyTables>,
  copy: CopyRow,
  page: WalkPage & Readonly<{ untilGtin: string }>,
): Promise<number> {
  const gtins = page.products.map((product) => product.gtin)
  return database.transaction().execute(async (transaction) => {
    const missing = await transaction
      .selectFrom('products')
      .select(['id', 'from_walk', countDealsOfProduct])
      .where('copy_id', '=', copy.id)
      .where('gtin', '>', page.afterGtin)
      .where('gtin', '<=', page.untilGtin)
      .where('until_walk', 'is', null)
      .where('as_of_ms', '<=', page.asOfMs)
      .$if(gtins.length > 0, (query) => query.where('gtin', 'not in', gtins))
      .limit(MAX_TRANSACTION_PRODUCTS)
      .execute()
    const rows = takeWithinRows(missing)
    const staged = rows.filter((row) => row.from_walk === page.walk)
    const based = rows.filter((row) => row.from_walk < page.walk)
    await deleteVersions(
      transaction,
      staged.map((row) => row.id),
    )
    await markUntil(
      transaction,
      based.map((row) => row.id),
      page.walk,
    )
    return rows.length
  })
}
