import { type Kysely, type SelectQueryBuilder, sql } from 'kysely'
import { toPriceKey } from '../offers/money.ts'
import { foldCase, foldText } from '../offers/text.ts'
import type { CopyTables, DealsTable } from './schema.ts'
import { type CopyRow, isVisibleAt } from './sql-copies.ts'
import { hasWord, readProducts } from './sql-lookups.ts'
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
  const rows = await (canUseBestFlag(query)
    ? paged(
        filtered
          .where(query.isInStockOnly ? 'is_best_in_stock' : 'is_best', '=', 1)
          .select(['product_id', 'offer_index']),
        query,
      ).execute()
    : findBestOfFiltered(database, filtered, query))
  const entries = await readProducts(database, copy, { ids: rows.map((row) => row.product_id) })
  const byId = new Map(entries.map((entry) => [entry.id, entry]))
  return rows.flatMap((row) => {
    const entry = byId.get(row.product_id)
    return entry === undefined
      ? []
      : [{ product: entry.product, offerIndex: row.offer_index, asOfMs: entry.asOfMs }]
  })
}

/** The currency that most of the channel's deals have, the first by alphabet at a tie. */
export async function findDealCurrency(
  database: Kysely<CopyTables>,
  copy: CopyRow,
): Promise<string | undefined> {
  const row = await database
    .selectFrom('deals')
    .select('currency')
    .where('copy_id', '=', copy.id)
    .where(isVisibleAt<'deals'>(copy.currentWalk))
    .groupBy('currency')
    .orderBy(({ fn }) => fn.countAll(), 'desc')
    .orderBy('currency')
    .limit(1)
    .executeTakeFirst()
  return row?.currency
}

/** Filters by offer can make another offer the product's best; the flags then do not tell. */
function canUseBestFlag(query: DealQuery): boolean {
  return query.merchants.length === 0 && query.excluded.length === 0 && query.maxPrice === null
}

function filterDeals<Row>(deals: DealsQuery<Row>, copy: CopyRow, query: DealQuery): DealsQuery<Row> {
  let filtered = deals
    .where('copy_id', '=', copy.id)
    .where('currency', '=', query.currency)
    .where(isVisibleAt<'deals'>(copy.currentWalk))
    .where('discount_percent', '>=', query.minDiscountPercent)
  if (query.isInStockOnly) filtered = filtered.where('is_in_stock', '=', 1)
  if (query.merchants.length > 0)
    filtered = filtered.where('merchant_key', 'in', query.merchants.map(foldCase))
  if (query.excluded.length > 0)
    filtered = filtered.where('merchant_key', 'not in', query.excluded.map(foldCase))
  if (query.maxPrice !== null) filtered = filtered.where('price_key', '<=', toPriceKey(query.maxPrice))
  if (query.brand !== null) filtered = filtered.where('brand_key', '=', foldCase(query.brand))
  for (const word of foldText(query.words ?? '')
    .split(' ')
    .filter((word) => word !== '')) {
    filtered = filtered.where(hasWord(word))
  }
  return filtered
}

async function findBestOfFiltered<Row>(
  database: Kysely<CopyTables>,
  filtered: DealsQuery<Row>,
  query: DealQuery,
): Promise<readonly Readonly<{ product_id: number; offer_index: number }>[]> {
  const ranked = filtered
    .clearSelect()
    .selectAll('deals')
    .select(
      // Offers are stored in the order of merchant and network, as the flags break ties.
      sql<number>`row_number() over (partition by gtin order by ratio_key, price_key, offer_index)`.as(
        'place',
      ),
    )
  const best = database.selectFrom(ranked.as('deals')).where('place', '=', 1)
  return paged(best.select(['product_id', 'offer_index']), query).execute()
}

type PagedRow = { product_id: number; offer_index: number }

function paged(deals: DealsQuery<PagedRow>, query: DealQuery): DealsQuery<PagedRow> {
  let ordered = deals
  for (const [column, direction] of ORDERS[query.sort]) ordered = ordered.orderBy(column, direction)
  return ordered.limit(query.limit).offset(query.offset)
}
