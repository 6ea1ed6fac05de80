import {
  type Expression,
  type ExpressionBuilder,
  type Kysely,
  type SelectQueryBuilder,
  type SqlBool,
  sql,
} from 'kysely'
import { toLargestRatioKey, toPriceKey } from '../offers/money.ts'
import { foldCase } from '../offers/text.ts'
import { findDealInRow } from './rows.ts'
import type { CopyTables, DealsTable } from './schema.ts'
import { type CopyRow, isVisibleAt } from './sql-copies.ts'
import { hasWord, selectPageTime, splitWords } from './sql-lookups.ts'
import type { DealEntry, DealQuery, DealSort } from './store.ts'

/** Order of grids; the GTIN at the end makes it the same every time. */
const ORDERS: Readonly<Record<DealSort, readonly (readonly [keyof DealsTable, 'asc' | 'desc'])[]>> = {
  discount: [
    ['ratio_key', 'asc'],
    ['price_key', 'asc'],
    ['gtin', 'asc'],
  ],
  saving: [
    ['saving_key', 'desc'],
    ['price_key', 'asc'],
    ['gtin', 'asc'],
  ],
  price: [
    ['price_key', 'asc'],
    ['ratio_key', 'asc'],
    ['gtin', 'asc'],
  ],
  newest: [
    ['first_seen_ms', 'desc'],
    ['ratio_key', 'asc'],
    ['price_key', 'asc'],
    ['gtin', 'asc'],
  ],
}

type DealsQuery<Row> = SelectQueryBuilder<CopyTables, 'deals', Row>

/** The deals of the walk that readers see, one for each product: its best that passes the filters. */
export async function findDeals(
  database: Kysely<CopyTables>,
  copy: CopyRow,
  query: DealQuery,
): Promise<readonly DealEntry[]> {
  const filtered = filterDeals(database.selectFrom('deals'), copy, query)
  const best = hasOfferFilters(query)
    ? filtered.where(isBestOfFiltered(query))
    : filtered.where(query.isInStockOnly ? 'is_best_in_stock' : 'is_best', '=', 1)
  const ids = await paged(best.select('id'), query).execute()
  const entries = await readDeals(
    database,
    copy,
    ids.map((row) => row.id),
  )
  return ids.flatMap(({ id }) => entries.get(id) ?? [])
}

/** Cards by the row of their deal; damaged ones are left out. */
async function readDeals(
  database: Kysely<CopyTables>,
  copy: CopyRow,
  ids: readonly number[],
): Promise<ReadonlyMap<number, DealEntry>> {
  if (ids.length === 0) return new Map()
  const rows = await database
    .selectFrom('deals')
    .innerJoin('products', 'products.id', 'deals.product_id')
    .select(['deals.id', 'deals.offer', 'products.gtin', 'title', 'brand', 'images', 'as_of_ms'])
    .select(selectPageTime(copy))
    .where('deals.id', 'in', ids)
    .execute()
  return new Map(
    rows.flatMap((row): [number, DealEntry][] => {
      const card = findDealInRow(row)
      const asOfMs = Math.max(row.as_of_ms, row.page_as_of_ms ?? 0)
      return card === undefined ? [] : [[row.id, { ...card, asOfMs }]]
    }),
  )
}

/** The currency that most deals of a walk have, the first by alphabet at a tie. */
export async function computeDealCurrency(
  database: Kysely<CopyTables>,
  copyId: number,
  walk: number,
): Promise<string | undefined> {
  const row = await database
    .selectFrom('deals')
    .select('currency')
    .where('copy_id', '=', copyId)
    .where(isVisibleAt<'deals'>(walk))
    .groupBy('currency')
    .orderBy(({ fn }) => fn.countAll(), 'desc')
    .orderBy('currency')
    .limit(1)
    .executeTakeFirst()
  return row?.currency
}

/** The currency of a grid that names none: that of the walk; look-ups may bring the first deal of a channel. */
export async function findDealCurrency(
  database: Kysely<CopyTables>,
  copy: CopyRow,
): Promise<string | undefined> {
  const row = await database
    .selectFrom('copies')
    .select('deal_currency')
    .where('id', '=', copy.id)
    .executeTakeFirst()
  return row?.deal_currency ?? computeDealCurrency(database, copy.id, copy.currentWalk)
}

/** Filters by offer can make another offer the product's best; the flags then do not tell. */
function hasOfferFilters(query: DealQuery): boolean {
  return query.merchants.length > 0 || query.excluded.length > 0 || query.maxPrice !== null
}

/** No other deal of the product that passes the filters is better; offers are stored in the order that breaks ties. */
function isBestOfFiltered(query: DealQuery): (builder: DealsBuilder) => Expression<SqlBool> {
  return ({ exists, not, selectFrom }) => {
    const better = selectFrom('deals as other')
      .select('other.id')
      .whereRef('other.product_id', '=', 'deals.product_id')
      .whereRef('other.currency', '=', 'deals.currency')
      .where(
        sql<boolean>`(other.ratio_key, other.price_key, other.offer_index) < (deals.ratio_key, deals.price_key, deals.offer_index)`,
      )
      .where((builder) => builder.and(listOfferFilters(query, 'other')))
    return not(exists(better))
  }
}

type OfferFilters = Pick<DealQuery, 'isInStockOnly' | 'merchants' | 'excluded' | 'maxPrice'>
type DealsBuilder = ExpressionBuilder<CopyTables, 'deals'>

/** What a query asks of an offer, for the deals of that name in a statement. */
export function listOfferFilters(query: OfferFilters, table: 'deals' | 'other'): Expression<SqlBool>[] {
  const column = (name: keyof DealsTable): ReturnType<typeof sql.ref> => sql.ref(`${table}.${name}`)
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

function filterDeals<Row>(deals: DealsQuery<Row>, copy: CopyRow, query: DealQuery): DealsQuery<Row> {
  let filtered = deals
    .where('copy_id', '=', copy.id)
    .where('currency', '=', query.currency)
    .where(isVisibleAt<'deals'>(copy.currentWalk))
    .where('discount_percent', '>=', query.minDiscountPercent)
  // Nearly every deal has the least discount: with a bound on it the index of another order would not be taken.
  if (query.minDiscountPercent > 1)
    filtered = filtered.where('ratio_key', '<=', toLargestRatioKey(query.minDiscountPercent))
  for (const filter of listOfferFilters(query, 'deals')) filtered = filtered.where(filter)
  if (query.brand !== null) filtered = filtered.where('brand_key', '=', foldCase(query.brand))
  for (const filter of listWordFilters(query.words)) filtered = filtered.where(filter)
  return filtered
}

/** What a query asks of title and brand. */
export function listWordFilters(text: string | null): readonly Expression<SqlBool>[] {
  const words = splitWords(text ?? '')
  // Accents alone are no word, and no title has them alone.
  if (words.length === 0 && text !== null && text.trim() !== '') return [sql<boolean>`1 = 0`]
  return words.map(hasWord)
}

type PagedRow = { id: number }

function paged(deals: DealsQuery<PagedRow>, query: DealQuery): DealsQuery<PagedRow> {
  let ordered = deals
  for (const [column, direction] of ORDERS[query.sort]) ordered = ordered.orderBy(column, direction)
  return ordered.limit(query.limit).offset(query.offset)
}
