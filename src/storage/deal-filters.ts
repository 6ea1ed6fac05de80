import { type Kysely, type RawBuilder, type SqlBool, sql } from 'kysely'
import { asRare, isPostgres, withoutIndex } from '../database/dialect.ts'
import { createDeadlineCondition } from '../database/sqlite.ts'
import { toLargestRatioKey, toPriceKey } from '../offers/money.ts'
import { foldCase } from '../offers/text.ts'
import type { CopyTables } from './schema.ts'
import { type CopyView, createVersionCondition } from './copies.ts'
import {
  WORD,
  createWordCondition,
  selectIdsByWords,
  splitWords,
  toIndexWords,
  replaceOnSplitWord,
} from './search.ts'
import { createEvidenceCondition } from './observed-deals.ts'
import type { DealQuery } from './store.ts'

/** A filter with at most this many deals is rare: its deals are read through the filter's index and sorted. */
const RARE_DEALS = 2_000

/** Deals with the highest discounts that are scanned for text inside words, which no index finds. */
const MAX_SCANNED = 20_000

/** Maximum results of such a scan, because their ids become part of the statement. */
const MAX_MATCHES = 1_000

type Condition = RawBuilder<SqlBool>

/** A filter of a grid on one column. `isIndexed`: an index finds the matching deals. */
type ColumnFilter = Readonly<{
  column: 'brand_key' | 'merchant_key' | 'network_key' | 'price_key' | 'is_in_stock'
  isIndexed: boolean
  toCondition(column: RawBuilder<unknown>): Condition
}>

/** The filter for the search text of a grid. */
type WordFilter = Readonly<{
  /** Matching products, counted up to a bound; 0 when no deal can match. */
  count: number
  /** `isIndexUsed`: the index finds the deals; otherwise the condition only tests them. */
  toCondition(isIndexUsed: boolean): Condition
}>

/** How to find the deals of a grid. `rareFilter`: the filter with the fewest deals; `null` when no filter is rare. */
export type DealPlan = Readonly<{
  query: DealQuery
  wordFilter: WordFilter | null
  rareFilter: ColumnFilter['column'] | 'words' | null
}>

/**
 * Plan the query of a grid. Without ANALYZE, SQLite has no statistics: count each indexed filter's deals up to a bound.
 * @returns `null` when no deal can match
 */
export async function planDealQuery(
  database: Kysely<CopyTables>,
  copy: CopyView,
  query: DealQuery,
): Promise<DealPlan | null> {
  const wordFilter = query.searchText === null ? null : await createWordFilter(database, copy, query)
  let rareFilter: DealPlan['rareFilter'] = wordFilter === null ? null : 'words'
  let lowestCount = wordFilter?.count ?? Infinity
  for (const { column, isIndexed, toCondition } of listColumnFilters(query)) {
    if (!isIndexed) continue
    const count = await countMatches(database, copy, { query, condition: toCondition(sql.ref(column)) })
    if (count >= lowestCount) continue
    rareFilter = column
    lowestCount = count
  }
  if (lowestCount === 0) return null
  return { query, wordFilter, rareFilter: lowestCount <= RARE_DEALS ? rareFilter : null }
}

/** Return whether few deals have the discount of a grid that has no other rare filter. */
export async function isDiscountRare(
  database: Kysely<CopyTables>,
  copy: CopyView,
  query: DealQuery,
): Promise<boolean> {
  if (query.minDiscountPercent <= 1) return false
  const condition: Condition = sql`ratio_key <= ${toLargestRatioKey(query.minDiscountPercent)}`
  return (await countMatches(database, copy, { query, condition })) <= RARE_DEALS
}

/** Count deals of all versions up to a bound: no index contains the walk, and a rough count is enough. */
function countMatches(
  database: Kysely<CopyTables>,
  copy: CopyView,
  { query, condition }: Readonly<{ query: DealQuery; condition: Condition }>,
): Promise<number> {
  return countUpToBound(
    database,
    sql`(select id from deals where copy_id = ${copy.id} and ${createEvidenceCondition(query.evidence)}
      and currency = ${query.currency} and ${condition} and ${createDeadlineCondition(database, 'deals.id')})`,
  )
}

function listColumnFilters(query: Omit<DealQuery, 'channelId'>): readonly ColumnFilter[] {
  const { brand, merchants, excluded, networks = null, maxPrice } = query
  const filters: ColumnFilter[] = []
  const add = (
    ...[column, isIndexed, toCondition]: [ColumnFilter['column'], boolean, ColumnFilter['toCondition']]
  ): void => void filters.push({ column, isIndexed, toCondition })
  if (query.isInStockOnly) add('is_in_stock', false, (column) => sql`${column} = 1`)
  if (brand !== null) add('brand_key', true, (column) => sql`${column} = ${foldCase(brand)}`)
  if (merchants.length > 0) add('merchant_key', true, (column) => sql`${column} in (${toKeys(merchants)})`)
  if (excluded.length > 0) add('merchant_key', false, (column) => sql`${column} not in (${toKeys(excluded)})`)
  if (maxPrice !== null) add('price_key', true, (column) => sql`${column} <= ${toPriceKey(maxPrice)}`)
  if (networks !== null) add('network_key', true, (column) => sql`${column} in (${toKeys(networks)})`)
  return filters
}

function toKeys(names: readonly string[]): RawBuilder<unknown> {
  return sql.join(names.map(foldCase))
}

async function countUpToBound(
  database: Kysely<CopyTables>,
  ids: RawBuilder<Readonly<{ id: number }>>,
): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from (
    select * from ${ids} as listed limit ${sql.lit(RARE_DEALS + 1)}) as counted`.execute(database)
  return rows[0]?.count ?? 0
}

/** Build the condition on visibility, currency and sale end. `isIndexUsed = false` keeps SQLite from using an index for it. */
export function createVisibilityCondition(
  database: Kysely<CopyTables>,
  copy: CopyView,
  { currency, evidence }: Pick<DealQuery, 'currency' | 'evidence'>,
  isIndexUsed = true,
): Condition {
  const toColumn = (name: string) => (isIndexUsed ? sql.ref(name) : withoutIndex(database, name))
  return sql`${toColumn('deals.copy_id')} = ${copy.id} and ${createEvidenceCondition(evidence)}
    and ${toColumn('deals.currency')} = ${currency}
    and ${createVersionCondition(copy.currentWalk)} and ${createRunningCondition(database, copy)}`
}

/**
 * Build the condition that the sale of a deal has not ended. SQLite finds ended sales in their own small index, so that it need
 * not read a row that another index covers. A plus sign keeps it from reading the row by its id.
 */
function createRunningCondition(database: Kysely<CopyTables>, { nowMs }: CopyView): Condition {
  return isPostgres(database)
    ? sql`(deals.sale_ends_ms is null or deals.sale_ends_ms > ${nowMs})`
    : sql`not exists (select 1 from deals as ended where ended.product_id = deals.product_id
        and +ended.id = +deals.id and ended.sale_ends_ms <= ${nowMs})`
}

/** Build the condition that a deal passes all filters and is the best such deal of its product. */
export function createFilterCondition(
  database: Kysely<CopyTables>,
  copy: CopyView,
  { query, wordFilter, rareFilter }: DealPlan,
): Condition {
  const conditions: Condition[] = [
    sql`discount_percent >= ${query.minDiscountPercent}`,
    createBestDealCondition(copy, query),
  ]
  for (const filter of listColumnFilters(query))
    conditions.push(createColumnCondition(database, filter, rareFilter))
  // Nearly every deal has a discount of at least 1 %, and a bound would keep SQLite from using another sort order's index.
  if (query.minDiscountPercent > 1) {
    const ratioKey = rareFilter === null ? sql.ref('ratio_key') : withoutIndex(database, 'ratio_key')
    conditions.push(sql`${ratioKey} <= ${toLargestRatioKey(query.minDiscountPercent)}`)
  }
  if (wordFilter !== null) conditions.push(wordFilter.toCondition(rareFilter === 'words'))
  return joinConditions(conditions)
}

/**
 * Build the condition of one filter. `rareFilter`: for the choice of SQLite's index. Without one, scanning `deals_by_discount` is
 * cheaper than any other index.
 */
function createColumnCondition(
  database: Kysely<CopyTables>,
  { column, isIndexed, toCondition }: ColumnFilter,
  rareFilter: DealPlan['rareFilter'],
): Condition {
  const name = `deals.${column}`
  // SQLite expects few deals in a currency, and would scan a covering index rather than use this one.
  if (isIndexed && column === rareFilter) return asRare(database, toCondition(sql.ref(name)))
  return toCondition(withoutIndex(database, name))
}

/** Build the condition of the filters that apply to all facets: stock, price and search text. */
export async function createCountCondition(
  database: Kysely<CopyTables>,
  copy: CopyView,
  query: DealQuery,
): Promise<Condition> {
  const filters = listColumnFilters({ ...query, brand: null, merchants: [], excluded: [] })
  const conditions = filters.map(({ column, toCondition }) => toCondition(sql.ref(`deals.${column}`)))
  if (query.searchText !== null)
    conditions.push((await createWordFilter(database, copy, query)).toCondition(false))
  return joinConditions(conditions)
}

function joinConditions(conditions: readonly Condition[]): Condition {
  return conditions.length === 0 ? sql`1 = 1` : sql`(${sql.join(conditions, sql` and `)})`
}

/**
 * Build the condition that a deal is the best matching one of its product: either it is the best of all offers, or no better
 * offer matches. The latter needs offer filters or an ended sale of the product. `offer_index` breaks ties.
 */
function createBestDealCondition(copy: CopyView, query: DealQuery): Condition {
  const isBest: Condition = query.isInStockOnly ? sql`deals.is_best_in_stock = 1` : sql`deals.is_best = 1`
  const { merchants, excluded, networks = null, maxPrice } = query
  const hasOfferFilters =
    merchants.length > 0 || excluded.length > 0 || networks !== null || maxPrice !== null
  const canBeReplaced: Condition = hasOfferFilters
    ? sql`1 = 1`
    : sql`exists (select 1 from deals as ended
        where ended.product_id = deals.product_id and ended.sale_ends_ms <= ${copy.nowMs})`
  const filters = listColumnFilters({ ...query, brand: null })
  const otherPassesFilters = joinConditions(
    filters.map(({ column, toCondition }) => toCondition(sql.ref(`other.${column}`))),
  )
  return sql`(${isBest} or ${canBeReplaced} and not exists (select other.id from deals as other
    where other.product_id = deals.product_id and ${createEvidenceCondition(query.evidence, 'other')}
    and other.currency = deals.currency
    and (other.ratio_key, other.price_key, other.offer_index) < (deals.ratio_key, deals.price_key, deals.offer_index)
    and (other.sale_ends_ms is null or other.sale_ends_ms > ${copy.nowMs}) and ${otherPassesFilters}))`
}

/**
 * Match products where every search word is the prefix of a word in title or brand. If none match, as in languages without
 * spaces, search for the words anywhere in the 20,000 deals with the highest discounts.
 */
async function createWordFilter(
  database: Kysely<CopyTables>,
  copy: CopyView,
  query: DealQuery,
): Promise<WordFilter> {
  const typedWords = splitWords(query.searchText ?? '')
  const words = toIndexWords(typedWords.join(' '))
  const ids =
    words.length === 0 ? undefined : await selectIdsByWords(database, copy, { words, isWholeWord: false })
  const count = ids === undefined ? 0 : await replaceOnSplitWord(countUpToBound(database, ids), 0)
  if (ids === undefined || count === 0) {
    const matchIds = await scanForText(database, copy, { ...query, words: typedWords })
    const toCondition = (): Condition =>
      matchIds.length === 0 ? sql`1 = 0` : sql`deals.id in (${sql.join(matchIds.map(sql.lit))})`
    return { count: matchIds.length, toCondition }
  }
  // The index contains letters and digits only, so "c++" needs a further condition.
  const symbolConditions = typedWords
    .filter((word) => word.match(WORD)?.[0] !== word)
    .map(createWordCondition)
  return {
    count,
    toCondition(isIndexUsed) {
      const id = isIndexUsed ? sql.ref('deals.product_id') : withoutIndex(database, 'deals.product_id')
      return joinConditions([sql`${id} in ${ids}`, ...symbolConditions])
    },
  }
}

async function scanForText(
  database: Kysely<CopyTables>,
  copy: CopyView,
  { words, ...query }: Pick<DealQuery, 'currency' | 'evidence'> & Readonly<{ words: readonly string[] }>,
): Promise<readonly number[]> {
  // The text consisted of accents only, which folding removes.
  if (words.length === 0) return []
  const { rows } = await sql<{ id: number }>`select id from (
      select id, search_text from deals
      where ${createVisibilityCondition(database, copy, query)}
      order by ratio_key, price_key, gtin limit ${MAX_SCANNED}) as first
    where ${joinConditions(words.map(createWordCondition))} limit ${MAX_MATCHES}`.execute(database)
  return rows.map(({ id }) => id)
}
