import { type Expression, type Kysely, type SelectQueryBuilder, type SqlBool, sql } from 'kysely'
import { isPostgres } from '../database/postgres.ts'
import { inTime } from '../database/read-deadline.ts'
import { toLargestRatioKey, toPriceKey } from '../offers/money.ts'
import { foldCase } from '../offers/text.ts'
import type { CopyTables } from './schema.ts'
import { WORD, hasWord, selectIdsByWords, splitWords, toIndexWords, unlessSplit } from './search-words.ts'
import { type CopyRow, isVisibleAt } from './sql-copies.ts'
import type { DealQuery } from './store.ts'

/** A filter with at most so many deals is rare: they are read through an index of their own and sorted. */
const RARE_DEALS = 2_000

/** Deals that are searched for a text within words, which no index finds: those with the highest discounts. */
const MAX_SCANNED = 20_000

/** Deals that such a search gives: their ids stand in the statement. */
const MAX_FOUND = 1_000

type Condition = Expression<SqlBool>

/** One filter of a grid that deals pass by a column. */
type ColumnFilter = Readonly<{
  column: 'brand_key' | 'merchant_key' | 'price_key' | 'is_in_stock'
  /** An index finds the deals that pass. */
  isIndexed: boolean
  /** Build the condition on the column, as the statement names it. */
  test(column: Expression<unknown>): Condition
}>

/** The `q` of a grid. */
type WordFilter = Readonly<{
  /** Products that have the words, counted up to a bound; 0: no deal can pass. */
  count: number
  /** `isIndexUsed`: deals are found by the index, and not only tested. */
  test(isIndexUsed: boolean): Condition
}>

/** How to find the deals of a grid. `rare`: a filter that few deals pass; `null`: none is known to be rare. */
export type DealPlan = Readonly<{
  query: DealQuery
  words: WordFilter | null
  rare: ColumnFilter['column'] | 'words' | null
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
  let rare: DealPlan['rare'] = words === null ? null : 'words'
  let least = words?.count ?? Infinity
  for (const filter of listColumnFilters(query)) {
    const count = filter.isIndexed ? await countUpToBound(database, copy, { query, filter }) : Infinity
    if (count >= least) continue
    rare = filter.column
    least = count
  }
  if (least === 0) return null
  return { query, words, rare: least <= RARE_DEALS ? rare : null }
}

/** List the filters that deals pass by a column. */
function listColumnFilters(query: Omit<DealQuery, 'channelId'>): readonly ColumnFilter[] {
  const { brand, merchants, excluded, maxPrice } = query
  const filters: ColumnFilter[] = []
  if (query.isInStockOnly)
    filters.push({ column: 'is_in_stock', isIndexed: false, test: (column) => sql`${column} = 1` })
  if (brand !== null)
    filters.push({
      column: 'brand_key',
      isIndexed: true,
      test: (column) => sql`${column} = ${foldCase(brand)}`,
    })
  if (merchants.length > 0) {
    const keys = sql.join(merchants.map(foldCase))
    filters.push({ column: 'merchant_key', isIndexed: true, test: (column) => sql`${column} in (${keys})` })
  }
  if (excluded.length > 0) {
    const keys = sql.join(excluded.map(foldCase))
    filters.push({
      column: 'merchant_key',
      isIndexed: false,
      test: (column) => sql`${column} not in (${keys})`,
    })
  }
  if (maxPrice !== null)
    filters.push({
      column: 'price_key',
      isIndexed: true,
      test: (column) => sql`${column} <= ${toPriceKey(maxPrice)}`,
    })
  return filters
}

/** Count deals of all versions: an index entry says nothing of the walk, and the count only tells few from many. */
async function countUpToBound(
  database: Kysely<CopyTables>,
  copy: CopyRow,
  { query, filter }: Readonly<{ query: DealQuery; filter: ColumnFilter }>,
): Promise<number> {
  const some = whereInTime(database, database.selectFrom('deals'))
    .select('id')
    .where('copy_id', '=', copy.id)
    .where('currency', '=', query.currency)
    .where(filter.test(sql.ref(filter.column)))
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

/** Keep the visible deals in the currency of the grid. */
export function whereVisible<Row>(
  deals: DealsSelect<Row>,
  copy: CopyRow,
  query: Pick<DealQuery, 'currency'>,
): DealsSelect<Row> {
  return deals
    .where('copy_id', '=', copy.id)
    .where('currency', '=', query.currency)
    .where(isVisibleAt(copy.currentWalk))
}

/** Keep the deals that pass every filter of the grid, and that are the best of their product among those that pass. */
export function wherePassing<Row>(
  database: Kysely<CopyTables>,
  deals: DealsSelect<Row>,
  { query, words, rare }: DealPlan,
): DealsSelect<Row> {
  const conditions: Condition[] = [
    sql`discount_percent >= ${query.minDiscountPercent}`,
    isBestOfProduct(database, query),
  ]
  for (const { column, isIndexed, test } of listColumnFilters(query)) {
    // SQLite takes any index that fits a condition. Where none is rare, reading the rows that an index points to costs more
    // than going through `deals_by_discount`; a plus sign keeps SQLite from using an index for that column.
    const isFree = isPostgres(database) || column === 'is_in_stock' || (isIndexed && column === rare)
    conditions.push(test(isFree ? sql.ref(`deals.${column}`) : sql`+${sql.ref(`deals.${column}`)}`))
  }
  // Nearly every deal has the least discount: with a bound on it the index of another order would not be taken.
  if (query.minDiscountPercent > 1)
    conditions.push(sql`ratio_key <= ${toLargestRatioKey(query.minDiscountPercent)}`)
  if (words !== null) conditions.push(words.test(rare === 'words'))
  return deals.where(({ and }) => and(conditions))
}

/** Build the condition that a deal passes the filters that no facet of the counts leaves out: stock, price and words. */
export async function createCountedCondition(
  database: Kysely<CopyTables>,
  copy: CopyRow,
  query: DealQuery,
): Promise<Condition> {
  const filters = listColumnFilters({ ...query, brand: null, merchants: [], excluded: [] })
  const conditions = filters.map(({ column, test }) => test(sql.ref(`deals.${column}`)))
  if (query.words !== null) conditions.push((await createWordFilter(database, copy, query)).test(false))
  return conditions.length === 0 ? sql`1 = 1` : sql`(${sql.join(conditions, sql` and `)})`
}

/**
 * A filter by offer can make another offer the product's best. The best of all offers stays the best among those that pass; for
 * any other, no better deal of the product passes. Offers are stored in the order that breaks ties.
 */
function isBestOfProduct(database: Kysely<CopyTables>, query: DealQuery): Condition {
  const isBest = query.isInStockOnly
    ? sql<SqlBool>`deals.is_best_in_stock = 1`
    : sql<SqlBool>`deals.is_best = 1`
  const hasOfferFilters = query.merchants.length > 0 || query.excluded.length > 0 || query.maxPrice !== null
  if (!hasOfferFilters) return isBest
  const offerFilters = listColumnFilters({ ...query, brand: null })
  const better = database
    .selectFrom('deals as other')
    .select('other.id')
    .where(sql<SqlBool>`other.product_id = deals.product_id`)
    .where(sql<SqlBool>`other.currency = deals.currency`)
    .where(
      sql<SqlBool>`(other.ratio_key, other.price_key, other.offer_index) < (deals.ratio_key, deals.price_key, deals.offer_index)`,
    )
    .where(({ and }) => and(offerFilters.map(({ column, test }) => test(sql.ref(`other.${column}`)))))
  return sql`(${isBest} or not exists ${better})`
}

/**
 * Find deals of products in which every word of the text begins a word of title or brand, with its signs. Where no product has
 * such words, as in languages without spaces, the text is searched for anywhere in the 20,000 deals with the highest discounts.
 */
async function createWordFilter(
  database: Kysely<CopyTables>,
  copy: CopyRow,
  query: DealQuery,
): Promise<WordFilter> {
  const typed = splitWords(query.words ?? '')
  const words = toIndexWords(typed.join(' '))
  const ids =
    words.length === 0 ? undefined : await selectIdsByWords(database, copy, { words, isWhole: false })
  const count = ids === undefined ? 0 : await countProducts(database, ids)
  if (ids === undefined || count === 0) {
    const found = await findByText(database, copy, { words: typed, currency: query.currency })
    return {
      count: found.length,
      test: () => (found.length === 0 ? sql`1 = 0` : sql`deals.id in (${sql.join(found.map(sql.lit))})`),
    }
  }
  // The index knows letters and digits only: "c++" is more than "c".
  const signs = typed.filter((word) => word.match(WORD)?.[0] !== word).map(hasWord)
  return {
    count,
    test(isIndexUsed) {
      const id = isIndexUsed || isPostgres(database) ? sql`deals.product_id` : sql`+deals.product_id`
      return sql`${sql.join([sql`${id} in ${ids}`, ...signs], sql` and `)}`
    },
  }
}

async function countProducts(database: Kysely<CopyTables>, ids: Expression<{ id: number }>): Promise<number> {
  const counted = sql<{ count: number }>`select count(*) as count from (
    select * from ${ids} as products limit ${sql.lit(RARE_DEALS + 1)}) as counted`
  const { rows } = await unlessSplit(counted.execute(database), { rows: [] })
  return rows[0]?.count ?? 0
}

/** Find deals whose text has the words anywhere, among those with the highest discounts. */
async function findByText(
  database: Kysely<CopyTables>,
  copy: CopyRow,
  { words, currency }: Readonly<{ words: readonly string[]; currency: string }>,
): Promise<readonly number[]> {
  // Accents alone are no word, and no title has them alone.
  if (words.length === 0) return []
  const first = whereVisible(database.selectFrom('deals'), copy, { currency })
    .select(['id', 'search_text'])
    .orderBy('ratio_key')
    .orderBy('price_key')
    .orderBy('gtin')
    .limit(MAX_SCANNED)
    .as('first')
  const rows = await database
    .selectFrom(first)
    .select('id')
    .where(({ and }) => and(words.map(hasWord)))
    .limit(MAX_FOUND)
    .execute()
  return rows.map(({ id }) => id)
}
