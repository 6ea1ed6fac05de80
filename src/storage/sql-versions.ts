import { type Transaction, sql } from 'kysely'
import { isPostgres } from '../database/postgres.ts'
import { toWordList } from './search-words.ts'
import type { StoredShape } from './rows.ts'
import type { CopyTables, DealsTable } from './schema.ts'
import { type FirstSeen, toFirstSeenKey } from './sql-first-seen.ts'
import { insertWithWords } from './sqlite-words.ts'
import { executeOnce, insertRows, isIn } from './statements.ts'

/** From here on, putting words in at once costs less than letting the trigger do it product by product. */
const MANY_PRODUCTS = 8

/** Where a version belongs, and when it was seen. */
export type VersionPlace = Readonly<{ copyId: number; fromWalk: number; asOfMs: number }>

/** Adds a version of some products with their deals. */
export async function insertVersions(
  transaction: Transaction<CopyTables>,
  shapes: readonly StoredShape[],
  details: VersionPlace & Readonly<{ firstSeen: FirstSeen }>,
): Promise<void> {
  if (shapes.length === 0) return
  const insert = (): Promise<readonly number[]> => insertProducts(transaction, shapes, details)
  const isOneByOne = shapes.length < MANY_PRODUCTS || isPostgres(transaction)
  const ids = isOneByOne ? await insert() : await insertWithWords(transaction, insert)
  const deals = shapes.flatMap((shape, index) =>
    toDealRows(shape, { ...details, productId: ids[index] ?? 0 }),
  )
  await insertRows(transaction, 'deals', deals)
}

function insertProducts(
  transaction: Transaction<CopyTables>,
  shapes: readonly StoredShape[],
  { copyId, fromWalk, asOfMs }: VersionPlace,
): Promise<readonly number[]> {
  // Each column by name: spreading objects costs as much as inserting them.
  const rows = shapes.map(({ content }) => ({
    copy_id: copyId,
    gtin: content.gtin,
    from_walk: fromWalk,
    until_walk: null,
    digest: content.digest,
    title: content.title,
    brand: content.brand,
    search_text: content.search_text,
    images: content.images,
    offers: content.offers,
    drops: content.drops,
    as_of_ms: asOfMs,
  }))
  if (!isPostgres(transaction)) return insertRows(transaction, 'products', rows)
  const withWords = rows.map((row) => ({ ...row, words: toWordList(row.search_text) }))
  return insertRows(transaction, 'products', withWords)
}

/** Overwrites a version in place: it is current again. */
export async function updateVersion(
  transaction: Transaction<CopyTables>,
  shape: StoredShape,
  details: VersionPlace & Readonly<{ productId: number; firstSeen: FirstSeen }>,
): Promise<void> {
  await transaction
    .updateTable('products')
    .set({
      ...shape.content,
      as_of_ms: details.asOfMs,
      until_walk: null,
      ...(isPostgres(transaction) && { words: toWordList(shape.content.search_text) }),
    })
    .where('id', '=', details.productId)
    .execute()
  await transaction.deleteFrom('deals').where('product_id', '=', details.productId).execute()
  await insertRows(transaction, 'deals', toDealRows(shape, details))
}

/** Sets or takes back the end of versions and of their deals. */
export async function markUntil(
  transaction: Transaction<CopyTables>,
  productIds: readonly number[],
  untilWalk: number | null,
): Promise<void> {
  if (productIds.length === 0) return
  for (const [table, column] of [
    ['products', 'id'],
    ['deals', 'product_id'],
  ] as const)
    await transaction
      .updateTable(table)
      .set({ until_walk: untilWalk })
      .where(isIn(transaction, column, productIds))
      .execute()
}

/** A look-up has found a version as it is: it was seen a moment ago. */
export async function confirmVersion(
  transaction: Transaction<CopyTables>,
  productId: number,
  asOfMs: number,
): Promise<void> {
  await executeOnce(transaction, 'confirm product', {
    values: [asOfMs, productId],
    build: () => transaction.updateTable('products').set({ as_of_ms: asOfMs }).where('id', '=', productId),
  })
}

/** Removes versions with their deals. `endedBy`: only those that still have ended at or before that walk. */
export async function deleteVersions(
  transaction: Transaction<CopyTables>,
  productIds: readonly number[],
  endedBy?: number,
): Promise<void> {
  if (productIds.length === 0) return
  for (const [table, column] of [
    ['products', 'id'],
    ['deals', 'product_id'],
  ] as const) {
    const removal = transaction.deleteFrom(table).where(isIn(transaction, column, productIds))
    await (endedBy === undefined ? removal : removal.where('until_walk', '<=', endedBy)).execute()
  }
}

/** How many deals some versions have, by the version. */
export async function countDealsOf(
  transaction: Transaction<CopyTables>,
  productIds: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  if (productIds.length === 0) return new Map()
  const rows = await transaction
    .selectFrom('deals')
    .select(['product_id', sql<number>`count(*)`.as('count')])
    .where(isIn(transaction, 'product_id', productIds))
    .groupBy('product_id')
    .execute()
  return new Map(rows.map((row) => [row.product_id, row.count]))
}

type DealRow = Omit<DealsTable, 'id'>

function toDealRows(
  shape: StoredShape,
  details: VersionPlace & Readonly<{ productId: number; firstSeen: FirstSeen }>,
): DealRow[] {
  return shape.deals.map((deal) => ({
    product_id: details.productId,
    copy_id: details.copyId,
    gtin: deal.gtin,
    from_walk: details.fromWalk,
    until_walk: null,
    offer_index: deal.offer_index,
    offer: deal.offer,
    offer_key: deal.offer_key,
    currency: deal.currency,
    merchant_key: deal.merchant_key,
    brand_key: deal.brand_key,
    search_text: deal.search_text,
    is_in_stock: deal.is_in_stock,
    is_best: deal.is_best,
    is_best_in_stock: deal.is_best_in_stock,
    discount_percent: deal.discount_percent,
    ratio_key: deal.ratio_key,
    price_key: deal.price_key,
    saving_key: deal.saving_key,
    first_seen_ms: Math.min(
      details.firstSeen.get(toFirstSeenKey(deal.gtin, deal.offer_key)) ?? Infinity,
      details.asOfMs,
    ),
  }))
}
