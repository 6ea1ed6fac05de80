import { type Expression, type Kysely, type SelectQueryBuilder, type SqlBool, sql } from 'kysely'
import { isPostgres } from '../database/postgres.ts'
import { inTime } from '../database/read-deadline.ts'
import { toLargestRatioKey, toPriceKey } from '../offers/money.ts'
import { foldCase } from '../offers/text.ts'
import type { CopyTables, DealsTable } from './schema.ts'
import { type CopyRow, isVisibleAt } from './sql-copies.ts'
import { type WordFilter, createWordFilter } from './sql-deal-words.ts'
import type { DealQuery } from './store.ts'

/** A filter with at most so many deals is rare: they are read through an index of their own and sorted. */
const RARE_DEALS = 2_000

/** Filters that have an index of their own. */
type IndexedFilter = 'brand' | 'merchants' | 'maxPrice' | 'words'

/** How to find the deals of a grid. */
export type DealPlan = Readonly<{
  query: DealQuery
  words: WordFilter | null
  /** A filter that few deals pass; `null`: none is known to be rare. */
  rare: IndexedFilter | null
}>

/**
 * Choose how to find the deals of a grid. SQLite has no statistics to choose by, so each indexed filter is counted up to a bound.
 * @returns `null` when no deal can pass
 */
export async function planDeals(
  database: Kysely<CopyTables>,
  copy: CopyRow,
  query: DealQuery,
): Promise<DealPlan | null> {
  const words = query.words === null ? null : await createWordFilter(database, copy, query)
  const counts: [IndexedFilter, number][] = []
  if (words !== null) counts.push(['words', words.count])
  for (const [filter, condition] of listIndexed(query))
    counts.push([filter, await countUpToBound(database, copy, { query, condition })])
  const [rarest] = counts.toSorted(([, one], [, other]) => one - other)
  if (rarest === undefined) return { query, words, rare: null }
  const [filter, count] = rarest
  return count === 0 ? null : { query, words, rare: count <= RARE_DEALS ? filter : null }
}

function listIndexed(query: DealQuery): [Exclude<IndexedFilter, 'words'>, Expression<SqlBool>][] {
  const { brand, merchants, maxPrice } = query
  const listed: [Exclude<IndexedFilter, 'words'>, Expression<SqlBool>][] = []
  if (brand !== null) listed.push(['brand', sql`brand_key = ${foldCase(brand)}`])
  if (merchants.length > 0)
    listed.push(['merchants', sql`merchant_key in (${sql.join(merchants.map(foldCase))})`])
  if (maxPrice !== null) listed.push(['maxPrice', sql`price_key <= ${toPriceKey(maxPrice)}`])
  return listed
}

/** Deals of all versions: an index entry says nothing of the walk, and the count is only to tell few from many. */
async function countUpToBound(
  database: Kysely<CopyTables>,
  copy: CopyRow,
  { query, condition }: Readonly<{ query: DealQuery; condition: Expression<SqlBool> }>,
): Promise<number> {
  const some = whereInTime(database, database.selectFrom('deals'))
    .select('id')
    .where('copy_id', '=', copy.id)
    .where('currency', '=', query.currency)
    .where(condition)
    .limit(RARE_DEALS + 1)
    .as('some')
  const row = await database
    .selectFrom(some)
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirst()
  return row?.count ?? 0
}

type DealsSelect<Row> = SelectQueryBuilder<CopyTables, 'deals', Row>

/** End a statement of SQLite that goes through many deals when its time is over. A server ends statements by itself. */
export function whereInTime<Row>(database: Kysely<CopyTables>, deals: DealsSelect<Row>): DealsSelect<Row> {
  return isPostgres(database) ? deals : deals.where(inTime('deals.id'))
}

/** Visible deals in the currency of the grid, without its filters. */
export function whereVisible<Row>(
  deals: DealsSelect<Row>,
  copy: CopyRow,
  query: Pick<DealQuery, 'currency'>,
): DealsSelect<Row> {
  return deals
    .where('copy_id', '=', copy.id)
    .where('currency', '=', query.currency)
    .where(isVisibleAt<'deals'>(copy.currentWalk))
}

/** Every filter of the grid, as conditions on `deals`, and that a deal is the best of its product among those that pass. */
export function listFilters(database: Kysely<CopyTables>, plan: DealPlan): readonly Expression<SqlBool>[] {
  const { query, words, rare } = plan
  const filters: Expression<SqlBool>[] = [
    sql`discount_percent >= ${query.minDiscountPercent}`,
    ...listOfferFilters(query, toColumns(database, rare)),
    isBestOfProduct(database, query),
  ]
  // Nearly every deal has the least discount: with a bound on it the index of another order would not be taken.
  if (query.minDiscountPercent > 1)
    filters.push(sql`ratio_key <= ${toLargestRatioKey(query.minDiscountPercent)}`)
  if (query.brand !== null)
    filters.push(sql`${toColumns(database, rare)('brand_key')} = ${foldCase(query.brand)}`)
  if (words !== null) filters.push(words.condition(rare === 'words'))
  return filters
}

/** Names a column of a condition. */
export type ToColumn = (name: keyof DealsTable) => Expression<unknown>

const RARE_COLUMNS: Partial<Record<keyof DealsTable, IndexedFilter>> = {
  brand_key: 'brand',
  merchant_key: 'merchants',
  price_key: 'maxPrice',
}

/**
 * SQLite takes any index that fits a condition. Where none is rare, reading the rows that an index points to costs more than going
 * through `deals_by_discount`; a plus sign keeps SQLite from using an index for that column.
 */
function toColumns(database: Kysely<CopyTables>, rare: IndexedFilter | null): ToColumn {
  const isServer = isPostgres(database)
  return (name) => {
    const isUsed = isServer || !(name in RARE_COLUMNS) || RARE_COLUMNS[name] === rare
    return isUsed ? sql.ref(`deals.${name}`) : sql`+${sql.ref(`deals.${name}`)}`
  }
}

type OfferFilters = Pick<DealQuery, 'isInStockOnly' | 'merchants' | 'excluded' | 'maxPrice'>

/** What a query asks of an offer. */
export function listOfferFilters(query: OfferFilters, column: ToColumn): Expression<SqlBool>[] {
  const filters: Expression<SqlBool>[] = []
  const { merchants, excluded, maxPrice } = query
  if (query.isInStockOnly) filters.push(sql`${column('is_in_stock')} = 1`)
  if (merchants.length > 0)
    filters.push(sql`${column('merchant_key')} in (${sql.join(merchants.map(foldCase))})`)
  if (excluded.length > 0)
    filters.push(sql`${column('merchant_key')} not in (${sql.join(excluded.map(foldCase))})`)
  if (maxPrice !== null) filters.push(sql`${column('price_key')} <= ${toPriceKey(maxPrice)}`)
  return filters
}

/**
 * A filter by offer can make another offer the product's best. The best of all offers stays the best among those that pass; for
 * any other, no better deal of the product passes. Offers are stored in the order that breaks ties.
 */
function isBestOfProduct(database: Kysely<CopyTables>, query: DealQuery): Expression<SqlBool> {
  const isBest: Expression<SqlBool> = query.isInStockOnly
    ? sql`deals.is_best_in_stock = 1`
    : sql`deals.is_best = 1`
  const hasOfferFilters = query.merchants.length > 0 || query.excluded.length > 0 || query.maxPrice !== null
  if (!hasOfferFilters) return isBest
  const better = database
    .selectFrom('deals as other')
    .select('other.id')
    .where(sql<SqlBool>`other.product_id = deals.product_id`)
    .where(sql<SqlBool>`other.currency = deals.currency`)
    .where(
      sql<SqlBool>`(other.ratio_key, other.price_key, other.offer_index) < (deals.ratio_key, deals.price_key, deals.offer_index)`,
    )
    .where((builder) => builder.and(listOfferFilters(query, (name) => sql.ref(`other.${name}`))))
  return sql`(${isBest} or not exists ${better})`
}
