import { type Transaction, sql } from 'kysely'
import { isPostgres } from '../database/is-postgres.ts'
import type { StoredShape } from './rows.ts'
import type { CopyTables, DealsTable } from './schema.ts'
import { toWordList } from './sql-search.ts'
import { insertWithWords } from './sqlite-search.ts'
import { insertRows, isIn } from './statements.ts'

/** From here on, putting words in at once costs less than letting the trigger do it product by product. */
const MANY_PRODUCTS = 8

/** When each offer of a product was first seen on sale, Unix milliseconds, by `toFirstSeenKey`. */
export type FirstSeen = ReadonlyMap<string, number>

/** Where a version belongs, and when it was seen. */
export type VersionPlace = Readonly<{
  copyId: number
  fromWalk: number
  asOfMs: number
  firstSeen: FirstSeen
}>

/** Add a version of some products with their deals. */
export async function insertVersions(
  transaction: Transaction<CopyTables>,
  shapes: readonly StoredShape[],
  place: VersionPlace,
): Promise<void> {
  if (shapes.length === 0) return
  const insert = (): Promise<readonly number[]> => insertProducts(transaction, shapes, place)
  const isOneByOne = shapes.length < MANY_PRODUCTS || isPostgres(transaction)
  const ids = isOneByOne ? await insert() : await insertWithWords(transaction, insert)
  const deals = shapes.flatMap((shape, index) => toDealRows(shape, ids[index] ?? 0, place))
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

/** Overwrite a version in place: it is current again. */
export async function updateVersion(
  transaction: Transaction<CopyTables>,
  shape: StoredShape,
  place: VersionPlace & Readonly<{ productId: number }>,
): Promise<void> {
  const { productId } = place
  await transaction
    .updateTable('products')
    .set({
      ...shape.content,
      as_of_ms: place.asOfMs,
      until_walk: null,
      ...(isPostgres(transaction) && { words: toWordList(shape.content.search_text) }),
    })
    .where('id', '=', productId)
    .execute()
  await sql`delete from deals where product_id = ${productId}`.execute(transaction)
  await insertRows(transaction, 'deals', toDealRows(shape, productId, place))
}

/** The tables of versions, each with the column that holds the id of a product. */
const VERSION_TABLES = { products: 'id', deals: 'product_id' } as const

/** Set or take back the end of versions and of their deals. */
export async function markUntil(
  transaction: Transaction<CopyTables>,
  productIds: readonly number[],
  untilWalk: number | null,
): Promise<void> {
  if (productIds.length === 0) return
  for (const [table, column] of Object.entries(VERSION_TABLES))
    await sql`update ${sql.table(table)} set until_walk = ${untilWalk}
      where ${isIn(transaction, column, productIds)}`.execute(transaction)
}

/** Remove versions with their deals. `endedBy`: only those that still have ended at or before that walk. */
export async function deleteVersions(
  transaction: Transaction<CopyTables>,
  productIds: readonly number[],
  endedBy?: number,
): Promise<void> {
  if (productIds.length === 0) return
  const isEnded = endedBy === undefined ? sql`` : sql`and until_walk <= ${endedBy}`
  for (const [table, column] of Object.entries(VERSION_TABLES))
    await sql`delete from ${sql.table(table)}
      where ${isIn(transaction, column, productIds)} ${isEnded}`.execute(transaction)
}

/** Count the deals of some versions, by the version. */
export async function countDealsOf(
  transaction: Transaction<CopyTables>,
  productIds: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  if (productIds.length === 0) return new Map()
  const { rows } = await sql<{ product_id: number; count: number }>`
    select product_id, count(*) as count from deals
    where ${isIn(transaction, 'product_id', productIds)} group by product_id`.execute(transaction)
  return new Map(rows.map((row) => [row.product_id, row.count]))
}

type SeenOffer = Readonly<{ gtin: string; offer_key: string; first_seen_ms: number }>

/** Network, merchant and currency of an offer may be those of another product's. */
function toFirstSeenKey({ gtin, offer_key: offerKey }: Pick<SeenOffer, 'gtin' | 'offer_key'>): string {
  return `${gtin} ${offerKey}`
}

/**
 * Return the first times of the offers that some shapes have: from the versions that they replace, and from products that were
 * absent until now. Call it before the versions are deleted or written over.
 */
export async function carryFirstSeen(
  transaction: Transaction<CopyTables>,
  copyId: number,
  { replacedIds, shapes }: Readonly<{ replacedIds: readonly number[]; shapes: readonly StoredShape[] }>,
): Promise<FirstSeen> {
  const replaced = await readFirstSeen(transaction, replacedIds)
  const seen = new Map(replaced.map((offer) => [toFirstSeenKey(offer), offer.first_seen_ms]))
  const unseen = shapes.filter(({ deals }) => deals.some((deal) => !seen.has(toFirstSeenKey(deal))))
  const lapsed = await takeLapsed(
    transaction,
    copyId,
    unseen.map(({ content }) => content.gtin),
  )
  return new Map([...lapsed, ...replaced].map((offer) => [toFirstSeenKey(offer), offer.first_seen_ms]))
}

/** Read the deals of some versions; the earliest time where two versions have the same offer. */
async function readFirstSeen(
  transaction: Transaction<CopyTables>,
  productIds: readonly number[],
): Promise<readonly SeenOffer[]> {
  if (productIds.length === 0) return []
  const { rows } = await sql<SeenOffer>`
    select gtin, offer_key, min(first_seen_ms) as first_seen_ms from deals
    where ${isIn(transaction, 'product_id', productIds)} group by gtin, offer_key`.execute(transaction)
  return rows
}

/** Keep the first times of the offers of versions whose product is absent from now on. Call it before they are deleted. */
export async function keepFirstSeen(
  transaction: Transaction<CopyTables>,
  absentIds: readonly number[],
  asOfMs: number,
): Promise<void> {
  if (absentIds.length === 0) return
  await sql`insert into lapsed_deals (copy_id, gtin, offer_key, first_seen_ms, lapsed_at_ms)
    select copy_id, gtin, offer_key, min(first_seen_ms), cast(${asOfMs} as bigint) from deals
    where ${isIn(transaction, 'product_id', absentIds)} group by copy_id, gtin, offer_key
    on conflict (copy_id, gtin, offer_key) do update
    set first_seen_ms = excluded.first_seen_ms, lapsed_at_ms = excluded.lapsed_at_ms`.execute(transaction)
}

/** Read the first times that are kept of products that are back, and forget them. */
export async function takeLapsed(
  transaction: Transaction<CopyTables>,
  copyId: number,
  gtins: readonly string[],
): Promise<readonly SeenOffer[]> {
  if (gtins.length === 0) return []
  const isBack = sql`copy_id = ${copyId} and ${isIn(transaction, 'gtin', gtins)}`
  const { rows } =
    await sql<SeenOffer>`select gtin, offer_key, first_seen_ms from lapsed_deals where ${isBack}`.execute(
      transaction,
    )
  if (rows.length > 0) await sql`delete from lapsed_deals where ${isBack}`.execute(transaction)
  return rows
}

function toDealRows(
  { deals }: StoredShape,
  productId: number,
  { copyId, fromWalk, asOfMs, firstSeen }: VersionPlace,
): readonly Omit<DealsTable, 'id'>[] {
  return deals.map((deal) => ({
    product_id: productId,
    copy_id: copyId,
    gtin: deal.gtin,
    from_walk: fromWalk,
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
    first_seen_ms: Math.min(firstSeen.get(toFirstSeenKey(deal)) ?? Infinity, asOfMs),
  }))
}
