import { type Kysely, type RawBuilder, sql } from 'kysely'
import { inList, isPostgres } from '../database/dialect.ts'
import { createDeadlineCondition } from '../database/sqlite.ts'
import type { DealSort } from '../offers/deals.ts'
import { foldCase } from '../offers/text.ts'
import { type RowTimes, selectPageTime, toAsOfMs } from './lookups.ts'
import { NO_FALL_KEY, parseDealRow, parseOfferJson } from './rows.ts'
import type { CopyTables, DealsTable } from './schema.ts'
import { type CopyRow, type CopyView, createVersionCondition } from './copies.ts'
import {
  type DealPlan,
  createFilterCondition,
  createVisibilityCondition,
  isDiscountRare,
  planDealQuery,
  createCountCondition,
} from './deal-filters.ts'
import {
  type DealEntry,
  type DealQuery,
  isShortRead,
  DISCOUNT_STEPS_PERCENT,
  type DealCounts,
  type DealFacet,
  toIndexedSort,
} from './store.ts'

/** Sort orders of grids; the GTIN at the end makes them deterministic. */
const ORDERS = {
  discount: ['ratio_key', 'price_key', 'gtin'],
  saving: ['saving_key', 'price_key', 'gtin'],
  price: ['price_key', 'ratio_key', 'gtin'],
  newest: ['first_seen_ms', 'ratio_key', 'price_key', 'gtin'],
  drop: ['drop_key', 'ratio_key', 'price_key', 'gtin'],
} as const satisfies Record<DealSort, readonly (keyof DealsTable)[]>
const DESCENDING: ReadonlySet<keyof DealsTable> = new Set(['saving_key', 'first_seen_ms'])

/** First deals in a grid's sort order. They fill nearly every page without a search of all deals. */
const WINDOW_DEALS = 3_000

/** Pages after this many cards skip the window. */
const WINDOW_CARDS = 1_000

/** Columns that filters and orders use. */
const WINDOW_COLUMNS = sql`id, product_id, gtin, currency, offer_index, merchant_key, brand_key, network_key, is_in_stock,
  is_best, is_best_in_stock, discount_percent, ratio_key, price_key, saving_key, first_seen_ms, search_text`

const DEALS = sql.table('deals')

/** Find the deals of the current walk, one per product: its best deal that passes the filters. */
export async function findDeals(
  database: Kysely<CopyTables>,
  copy: CopyView,
  query: DealQuery,
): Promise<readonly DealEntry[]> {
  const plan = await planDealQuery(database, copy, query)
  const ids = plan === null ? [] : await findIds(database, copy, plan)
  return ids.length === 0 ? [] : readDeals(database, copy, ids)
}

async function findIds(
  database: Kysely<CopyTables>,
  copy: CopyView,
  plan: DealPlan,
): Promise<readonly number[]> {
  const { query, rareFilter } = plan
  const findPage = async (
    source: RawBuilder<unknown>,
    condition: RawBuilder<unknown>,
    shouldSort = false,
  ): Promise<readonly number[]> => {
    const { rows } = await sql<{ id: number }>`select deals.id from ${source} as deals
      where ${condition} and ${createFilterCondition(database, copy, plan)}
      order by ${toOrderBy(query, shouldSort)} limit ${query.limit} offset ${query.offset}`.execute(database)
    return rows.map(({ id }) => id)
  }
  const isVisible = createVisibilityCondition(database, copy, query)
  // The indexes of these orders contain all filter columns; without filters, nearly every deal is a result in any order.
  const isCovered = query.sort === 'discount' || query.sort === 'drop'
  if (rareFilter === null && (isCovered || isShortRead({ ...query, offset: 0 })))
    return findPage(DEALS, sql`${createDeadlineCondition(database, 'deals.id')} and ${isVisible}`)
  if (rareFilter === null && query.offset + query.limit <= WINDOW_CARDS) {
    const window = sql`(select ${WINDOW_COLUMNS} from deals where ${isVisible}
      order by ${toOrderBy(query)} limit ${WINDOW_DEALS})`
    const ids = await findPage(window, sql`1 = 1`)
    // When the page is not full, there can be more deals after the window.
    if (ids.length === query.limit) return ids
  }
  // Find all matches, by the rare filter or a full scan, and sort them.
  const isVisibleMatch = createVisibilityCondition(database, copy, query, rareFilter !== 'words')
  return findPage(
    DEALS,
    sql`${createDeadlineCondition(database, 'deals.id')} and ${isVisibleMatch}`,
    await mustSort(database, copy, plan),
  )
}

/**
 * Return whether all matches must be sorted. PostgreSQL's statistics know no relation between columns: it would expect many
 * matches of a filter that is rare among observed deals only, and read all of these in order.
 */
async function mustSort(
  database: Kysely<CopyTables>,
  copy: CopyView,
  { query, rareFilter }: DealPlan,
): Promise<boolean> {
  if (rareFilter !== null) return rareFilter !== getOrder(query)[0]
  return !isPostgres(database) || isDiscountRare(database, copy, query)
}

const getOrder = (query: DealQuery): readonly (keyof DealsTable)[] => ORDERS[toIndexedSort(query)]

/** `shouldSort` keeps the engine from reading the deals in the order of an index, because none has the first term. */
function toOrderBy(query: DealQuery, shouldSort = false): RawBuilder<unknown> {
  const terms = getOrder(query).map(
    (column) => sql`${sql.ref(`deals.${column}`)} ${sql.raw(DESCENDING.has(column) ? 'desc' : 'asc')}`,
  )
  return sql.join(shouldSort ? [sql`+deals.copy_id`, ...terms] : terms)
}

type DealRow = Parameters<typeof parseDealRow>[0] &
  RowTimes &
  Pick<DealsTable, 'drop_key' | 'first_seen_ms'> &
  Readonly<{ id: number }>

/** Read deals in the order of `ids`, without damaged rows. */
async function readDeals(
  database: Kysely<CopyTables>,
  copy: CopyView,
  ids: readonly number[],
): Promise<readonly DealEntry[]> {
  const { rows } = await sql<DealRow>`
    select deals.id, offer, offer_index, drop_key, first_seen_ms, p.gtin, title, brand, images, checked_at, p.as_of_ms, ${selectPageTime(copy)}
    from deals join products p on p.id = deals.product_id where ${inList(database, 'deals.id', ids)}`.execute(
    database,
  )
  const toEntry = (row: DealRow): DealEntry | undefined => {
    const card = parseDealRow(row)
    return (
      card && {
        asOfMs: toAsOfMs(row, copy.nowMs),
        hasFall: row.drop_key !== NO_FALL_KEY,
        firstSeenMs: row.first_seen_ms,
        ...card,
      }
    )
  }
  const byId = new Map(rows.map((row) => [row.id, toEntry(row)]))
  return ids.flatMap((id) => byId.get(id) ?? [])
}

/** Find the currency of most deals of a walk; alphabetical order breaks a tie. */
export async function computeDealCurrency(
  database: Kysely<CopyTables>,
  copyId: number,
  walk: number,
): Promise<string | undefined> {
  const { rows } = await sql<{ currency: string }>`select currency from deals
    where copy_id = ${copyId} and is_observed = 0 and ${createVersionCondition(walk)}
    group by currency order by count(*) desc, currency limit 1`.execute(database)
  return rows[0]?.currency
}

/**
 * Find the default currency of a grid; `undefined` before the first walk. Compute it when the walk found no deals, because a look-up
 * can add the first one.
 */
export async function findDealCurrency(
  database: Kysely<CopyTables>,
  { id, currentWalk, dealCurrency }: CopyRow,
): Promise<string | undefined> {
  if (currentWalk === 0) return undefined
  return dealCurrency ?? computeDealCurrency(database, id, currentWalk)
}

const MAX_DEALS = 20_000

/** Most brands, and most merchants, in a result. */
const MAX_GROUPS = 30

export const EMPTY_DEAL_COUNTS: DealCounts = {
  total: 0,
  isBounded: false,
  brands: [],
  merchants: [],
  discounts: DISCOUNT_STEPS_PERCENT.map((minPercent) => ({ minPercent, count: 0 })),
}

/** Count the products of a grid, and its products for every other brand, merchant or discount. */
export async function countDeals(
  database: Kysely<CopyTables>,
  copy: CopyView,
  query: DealQuery,
  shopKeys: ReadonlyMap<string, string>,
): Promise<DealCounts> {
  const rows = await readCountedDeals(database, copy, query)
  const countedRows = rows.slice(0, MAX_DEALS).filter((row) => row.is_counted === 1)
  const brand = query.brand === null ? null : foldCase(query.brand)
  const includedKeys = new Set(query.merchants.map(foldCase))
  const excludedKeys = new Set(query.excluded.map(foldCase))
  const isOfBrand = (row: CountedDeal): boolean => brand === null || row.brand_key === brand
  const isOfMerchant = ({ merchant_key: key }: CountedDeal): boolean =>
    (includedKeys.size === 0 || includedKeys.has(key)) && !excludedKeys.has(key)
  const hasDiscount = (row: CountedDeal): boolean => row.discount_percent >= query.minDiscountPercent

  const discountedRows = countedRows.filter(hasDiscount)
  const brands = findLargestGroups(discountedRows.filter(isOfMerchant), ({ brand_key: key }) => key)
  const merchants = findLargestGroups(
    discountedRows.filter(isOfBrand),
    ({ merchant_key: key }) => shopKeys.get(key) ?? key,
  )
  const names = await readNames(database, [...brands, ...merchants])
  const matchingRows = countedRows.filter((row) => isOfBrand(row) && isOfMerchant(row))
  return {
    total: countProducts(matchingRows.filter(hasDiscount)),
    isBounded: rows.length > MAX_DEALS,
    brands: brands.map((group) => toFacet(group, names.get(group.topDeal.id)?.brand)),
    merchants: merchants.map((group) => toFacet(group, names.get(group.topDeal.id)?.merchant)),
    discounts: DISCOUNT_STEPS_PERCENT.map((minPercent) => ({
      minPercent,
      count: countProducts(matchingRows.filter((row) => row.discount_percent >= minPercent)),
    })),
  }
}

type CountedDeal = Readonly<{
  id: number
  product_id: number
  brand_key: string
  merchant_key: string
  discount_percent: number
  /** 1 when the deal passes the filters that apply to all facets. */
  is_counted: number
}>

/** Read visible deals by discount, and one more than `MAX_DEALS` to detect that there are more. */
async function readCountedDeals(
  database: Kysely<CopyTables>,
  copy: CopyView,
  query: DealQuery,
): Promise<readonly CountedDeal[]> {
  const isCounted = await createCountCondition(database, copy, query)
  const { rows } = await sql<CountedDeal>`select id, product_id, brand_key, merchant_key, discount_percent,
    case when ${isCounted} then 1 else 0 end as is_counted from deals
    where ${createVisibilityCondition(database, copy, query)}
    order by ratio_key, price_key, gtin, id limit ${MAX_DEALS + 1}`.execute(database)
  return rows
}

function countProducts(rows: readonly CountedDeal[]): number {
  return new Set(rows.map((row) => row.product_id)).size
}

/** The deals of a brand or merchant. The deal with the highest discount gives the group its name. */
type DealGroup = Readonly<{ key: string; topDeal: CountedDeal; count: number }>

/** Find the groups with the most products. Products without a brand are in no group. */
function findLargestGroups(
  rows: readonly CountedDeal[],
  toKey: (row: CountedDeal) => string,
): readonly DealGroup[] {
  const groups = new Map<string, { topDeal: CountedDeal; products: Set<number> }>()
  for (const row of rows) {
    const group = groups.get(toKey(row)) ?? { topDeal: row, products: new Set() }
    group.products.add(row.product_id)
    groups.set(toKey(row), group)
  }
  return [...groups]
    .filter(([key]) => key !== '')
    .map(([key, { topDeal, products }]) => ({ key, topDeal, count: products.size }))
    .sort((a, b) => b.count - a.count || (a.key < b.key ? -1 : 1))
    .slice(0, MAX_GROUPS)
}

/** Use the case-folded key when the row with the name is missing or damaged. */
function toFacet({ key, count }: DealGroup, name: string | null | undefined): DealFacet {
  return { name: name ?? key, count }
}

type Names = Readonly<{ brand: string | null; merchant: string | undefined }>

/** Read brand and merchant, as the catalog writes them, by the id of each group's top deal. */
async function readNames(
  database: Kysely<CopyTables>,
  groups: readonly DealGroup[],
): Promise<ReadonlyMap<number, Names>> {
  const ids = groups.map(({ topDeal }) => topDeal.id)
  const { rows } = await sql<{ id: number; brand: string | null; offer: string }>`
    select deals.id, brand, offer from deals join products on products.id = deals.product_id
    where ${inList(database, 'deals.id', ids)}`.execute(database)
  return new Map(
    rows.map(({ id, brand, offer }) => [id, { brand, merchant: parseOfferJson(offer)?.merchant }]),
  )
}
