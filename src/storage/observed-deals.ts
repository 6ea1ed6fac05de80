import { type RawBuilder, type SqlBool, type Transaction, sql } from 'kysely'
import { inList, insertRows } from '../database/dialect.ts'
import type { Evidence } from '../offers/deals.ts'
import { toRatioKey, toSavingKey } from '../offers/money.ts'
import {
  addPresentPrice,
  findFall,
  listObservedDays,
  toDay,
  toPriceText,
  toSeriesKey,
} from '../offers/price-history.ts'
import { compareTexts } from '../offers/ranking.ts'
import { computeDiscountPercent } from '../offers/sale.ts'
import type { DayPeriod } from './counts.ts'
import { NO_FALL_KEY, parseOfferJson } from './rows.ts'
import type { CopyTables, DealsTable } from './schema.ts'
import {
  type GtinRange,
  type Histories,
  type WalkedDays,
  readHistories,
  readWalkedDays,
} from './price-history.ts'

type NewDeal = Omit<DealsTable, 'id'>

/** Finds the reference price above the present price of a deal, as decimal text; `null` when its price has not fallen. */
export type FallFinder = (deal: NewDeal) => string | null

/** Without a history, no price has fallen. */
export const findNoReference: FallFinder = () => null

/** Create the finder for deals that were seen on `day`. Everything that it needs must be part of `histories`. */
export function createFallFinder(histories: Histories, walkedDays: WalkedDays, day: number): FallFinder {
  return ({ gtin, currency, merchant_key: merchantKey, price_key: priceKey }) => {
    const series = histories.get(gtin)?.get(toSeriesKey({ merchantKey, currency }))
    const price = Number(priceKey)
    if (series === undefined || !Number.isSafeInteger(price)) return null
    const days = listObservedDays(series.changes, walkedDays.list(gtin))
    const reference = findFall(addPresentPrice(days, price, day), price)
    return reference === null ? null : toPriceText(reference)
  }
}

/** Add the keys of falls to the deals, and the rows of those that have one, with the reference price as old price. */
export function addObservedDeals(deals: readonly NewDeal[], findReference: FallFinder): readonly NewDeal[] {
  const observed = deals.flatMap((deal) => toObservedDeal(deal, findReference) ?? [])
  if (observed.length === 0) return deals
  const keys = new Map(observed.map((deal) => [toDealKey(deal), deal.drop_key]))
  return [
    ...deals.map((deal) => ({ ...deal, drop_key: keys.get(toDealKey(deal)) ?? NO_FALL_KEY })),
    ...markBest(observed),
  ]
}

/** Unique among the deals of one version. */
function toDealKey({ product_id: productId, offer_index: offerIndex }: NewDeal): string {
  return `${productId} ${offerIndex}`
}

function toObservedDeal(deal: NewDeal, findReference: FallFinder): NewDeal | undefined {
  const oldPrice = findReference(deal)
  const offer = oldPrice === null ? undefined : parseOfferJson(deal.offer)
  if (oldPrice === null || offer === undefined) return undefined
  const { price } = offer
  const ratioKey = toRatioKey(price, oldPrice)
  return {
    ...deal,
    is_observed: 1,
    offer: JSON.stringify({ ...offer, oldPrice, saleEndsAtMs: offer.saleEndsAtMs ?? undefined }),
    discount_percent: computeDiscountPercent(price, oldPrice),
    ratio_key: ratioKey,
    saving_key: toSavingKey(price, oldPrice),
    drop_key: ratioKey,
  }
}

/** Mark the best deal of each product and currency, by fall, then price, as `collectDeals` does. */
function markBest(deals: readonly NewDeal[]): readonly NewDeal[] {
  const seen = new Set<string>()
  const isFirst = (key: string): boolean => !seen.has(key) && seen.add(key) !== undefined
  const sorted = deals.toSorted(
    (a, b) =>
      compareTexts(a.ratio_key, b.ratio_key) ||
      compareTexts(a.price_key, b.price_key) ||
      a.offer_index - b.offer_index,
  )
  return sorted.map((deal) => {
    const key = `${deal.product_id} ${deal.currency}`
    return {
      ...deal,
      is_best: Number(isFirst(key)),
      is_best_in_stock: Number(deal.is_in_stock === 1 && isFirst(`${key} in stock`)),
    }
  })
}

/** Read the GTINs of a range that have a confirmed deal. */
export async function readFallenGtins(
  transaction: Transaction<CopyTables>,
  copyId: number,
  { afterGtin, untilGtin }: GtinRange,
): Promise<readonly string[]> {
  const { rows } = await sql<Pick<DealsTable, 'gtin'>>`select distinct deals.gtin from products p
    join deals on deals.product_id = p.id where p.copy_id = ${copyId} and p.gtin > ${afterGtin}
    and p.gtin <= ${untilGtin} and deals.is_observed = 1`.execute(transaction)
  return rows.map(({ gtin }) => gtin)
}

async function deleteFalls(
  transaction: Transaction<CopyTables>,
  productIds: readonly number[],
): Promise<void> {
  if (productIds.length === 0) return
  const isOfProduct = inList(transaction, 'product_id', productIds)
  await sql`delete from deals where ${isOfProduct} and is_observed = 1`.execute(transaction)
  await sql`update deals set drop_key = ${NO_FALL_KEY} where ${isOfProduct} and drop_key <> ${NO_FALL_KEY}`.execute(
    transaction,
  )
}

/** Delete the histories and falls of products. */
export async function deleteHistories(
  transaction: Transaction<CopyTables>,
  copyId: number,
  gtins: readonly string[],
): Promise<void> {
  const isOfProduct = sql`copy_id = ${copyId} and ${inList(transaction, 'gtin', gtins)}`
  const { rows } = await sql<Pick<DealsTable, 'product_id'>>`select distinct product_id from deals
    where product_id in (select id from products where ${isOfProduct}) and is_observed = 1`.execute(
    transaction,
  )
  await deleteFalls(
    transaction,
    rows.map((row) => row.product_id),
  )
  await sql`delete from price_histories where ${isOfProduct}`.execute(transaction)
}

type StoredDeal = DealsTable & Readonly<{ id: number; seen_ms: number }>

/**
 * Compute the falls of products again, after their history changed without their prices. `seenDay`: when they were last seen; by
 * default when their row was written. Versions that a running walk has ended keep their falls.
 */
export async function refreshFalls(
  transaction: Transaction<CopyTables>,
  copyId: number,
  { gtins, fromDay, untilDay, seenDay }: DayPeriod & Readonly<{ gtins: readonly string[]; seenDay?: number }>,
): Promise<void> {
  if (gtins.length === 0) return
  const { rows } = await sql<StoredDeal>`select deals.*, p.as_of_ms as seen_ms from deals
    join products p on p.id = deals.product_id
    where p.copy_id = ${copyId} and p.until_walk is null and deals.is_observed = 0
    and ${inList(transaction, 'p.gtin', gtins)}`.execute(transaction)
  if (rows.length === 0) return
  await deleteFalls(transaction, [...new Set(rows.map((row) => row.product_id))])
  const histories = await readHistories(transaction, copyId, gtins)
  const walkedDays = await readWalkedDays(transaction, copyId, { fromDay, untilDay })
  const observed: NewDeal[] = []
  for (const { id, seen_ms: seenMs, ...deal } of rows) {
    const found = toObservedDeal(deal, createFallFinder(histories, walkedDays, seenDay ?? toDay(seenMs)))
    if (found === undefined) continue
    observed.push(found)
    await sql`update deals set drop_key = ${found.drop_key} where id = ${id}`.execute(transaction)
  }
  await insertRows(transaction, 'deals', markBest(observed))
}

/** Build the condition that a row of `deals` or its alias is one of a grid's deals. A constant, for the choice of an index. */
export function createEvidenceCondition(evidence: Evidence, alias = 'deals'): RawBuilder<SqlBool> {
  return sql`${sql.ref(`${alias}.is_observed`)} = ${sql.lit(Number(evidence === 'observed'))}`
}
