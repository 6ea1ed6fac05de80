import { setImmediate } from 'node:timers/promises'
import { type Expression, type Kysely, type SqlBool, sql } from 'kysely'
import { foldCase } from '../offers/text.ts'
import { findOfferInRow } from './rows.ts'
import type { CopyTables } from './schema.ts'
import { type CopyRow, isVisibleAt } from './sql-copies.ts'
import { listOfferFilters, listWordFilters } from './sql-deals.ts'
import { DISCOUNT_STEPS_PERCENT, type DealCounts, type DealFacet, type DealQuery } from './store.ts'

/** Deals that are looked at, and how many of them while readers wait. */
const MAX_DEALS = 20_000
const DEALS_AT_ONCE = 1_000

/** Brands, and merchants, that are named. */
const MAX_NAMES = 30

/** The counts of a copy that has nothing. */
const NO_DEALS: DealCounts = {
  total: 0,
  isBounded: false,
  brands: [],
  merchants: [],
  discounts: DISCOUNT_STEPS_PERCENT.map((minPercent) => ({ minPercent, count: 0 })),
}

/** Reads the copy as it is now; `undefined` while nothing was ever stored of the channel. */
export type ReadCopy = <T>(
  read: (database: Kysely<CopyTables>, copy: CopyRow) => Promise<T>,
) => Promise<T | undefined>

/**
 * Counts the products of a grid, and those that it would have with another brand, merchant or discount. It reads some deals
 * at a time, so that readers are served between; when a walk completes meanwhile, it begins anew.
 */
export async function countDeals(readCopy: ReadCopy, query: DealQuery): Promise<DealCounts> {
  let state: Counting | undefined
  do {
    const known = state
    state = await readCopy((database, copy) => countNext(database, copy, { query, known }))
    if (state === undefined) return NO_DEALS
    await setImmediate()
  } while (state.last !== undefined && state.count < MAX_DEALS)
  const { tally, last } = state
  const names = await readCopy((database) => nameGroups(database, tally))
  return {
    ...NO_DEALS,
    ...names,
    total: tally.products.size,
    isBounded: last !== undefined,
    discounts: countSteps(tally.percents),
  }
}

/** How far a count is. */
type Counting = Readonly<{
  walk: number
  tally: Tally
  /** Deals that were looked at, and the place of the last of them while there are more. */
  count: number
  last: DealPlace | undefined
}>

async function countNext(
  database: Kysely<CopyTables>,
  copy: CopyRow,
  { query, known }: Readonly<{ query: DealQuery; known: Counting | undefined }>,
): Promise<Counting> {
  const walk = copy.currentWalk
  const begun = known?.walk === walk ? known : { tally: createTally(query), count: 0, last: undefined }
  const { rows, last } = await readDeals(database, copy, { query, after: begun.last })
  for (const row of rows) if (row.is_counted === 1) begun.tally.add(row)
  return { walk, tally: begun.tally, count: begun.count + rows.length, last }
}

type DealRow = Readonly<{
  id: number
  product_id: number
  brand_key: string
  merchant_key: string
  discount_percent: number
  /** Passes the filters that no facet leaves out. */
  is_counted: number
}>

/** A deal's place in the order of discounts. */
type DealPlace = Readonly<{ id: number; ratio_key: string; price_key: string; gtin: string }>

/** The next visible deals by discount, and the place of the last of them where there may be more. */
async function readDeals(
  database: Kysely<CopyTables>,
  copy: CopyRow,
  wanted: Readonly<{ query: DealQuery; after: DealPlace | undefined }>,
): Promise<Readonly<{ rows: readonly DealRow[]; last: DealPlace | undefined }>> {
  const { query, after } = wanted
  const { isInStockOnly, maxPrice } = query
  const filters = [
    ...listOfferFilters({ isInStockOnly, maxPrice, merchants: [], excluded: [] }, 'deals'),
    ...listWordFilters(query.words),
  ]
  let deals = database
    .selectFrom('deals')
    .select(['id', 'product_id', 'brand_key', 'merchant_key', 'discount_percent'])
    .select(({ and }) => toFlag(and(filters)).as('is_counted'))
    .where('copy_id', '=', copy.id)
    .where('currency', '=', query.currency)
    .where(isVisibleAt<'deals'>(copy.currentWalk))
  if (after !== undefined) deals = deals.where(isAfter(after))
  const rows = await deals
    .orderBy('ratio_key')
    .orderBy('price_key')
    .orderBy('gtin')
    .orderBy('id')
    .limit(DEALS_AT_ONCE + 1)
    .execute()
  const lastId = rows.length > DEALS_AT_ONCE ? rows[DEALS_AT_ONCE - 1]?.id : undefined
  if (lastId === undefined) return { rows, last: undefined }
  const last = await database
    .selectFrom('deals')
    .select(['id', 'ratio_key', 'price_key', 'gtin'])
    .where('id', '=', lastId)
    .executeTakeFirst()
  return { rows: rows.slice(0, DEALS_AT_ONCE), last }
}

function isAfter({ id, ratio_key, price_key, gtin }: DealPlace): Expression<SqlBool> {
  return sql<boolean>`(ratio_key, price_key, gtin, id) > (${ratio_key}, ${price_key}, ${gtin}, ${id})`
}

function toFlag(filter: Expression<SqlBool>): ReturnType<typeof sql<number>> {
  return sql<number>`case when ${filter} then 1 else 0 end`
}

/** Products of a brand or merchant, and a row that names it. */
type Group = { id: number; products: Set<number> }

type Tally = Readonly<{
  /** Those that pass every filter. */
  products: ReadonlySet<number>
  /** By key, with every filter but their own. */
  brands: ReadonlyMap<string, Group>
  merchants: ReadonlyMap<string, Group>
  /** The highest discount of each product that passes the other filters. */
  percents: ReadonlyMap<number, number>
  add(row: DealRow): void
}>

function createTally(query: DealQuery): Tally {
  const passes = createFilters(query)
  const products = new Set<number>()
  const brands = new Map<string, Group>()
  const merchants = new Map<string, Group>()
  const percents = new Map<number, number>()
  return {
    products,
    brands,
    merchants,
    percents,
    add(row) {
      const isBrand = passes.brand(row)
      const isMerchant = passes.merchant(row)
      const isDiscount = row.discount_percent >= query.minDiscountPercent
      if (isMerchant && isDiscount) addToGroup(brands, row.brand_key, { id: row.product_id, row })
      if (isBrand && isDiscount) addToGroup(merchants, row.merchant_key, { id: row.id, row })
      if (!isBrand || !isMerchant) return
      if (isDiscount) products.add(row.product_id)
      percents.set(row.product_id, Math.max(row.discount_percent, percents.get(row.product_id) ?? 0))
    },
  }
}

/** The filters that a facet leaves out. */
function createFilters(query: DealQuery): Readonly<Record<'brand' | 'merchant', (row: DealRow) => boolean>> {
  const brand = query.brand === null ? null : foldCase(query.brand)
  const merchants = new Set(query.merchants.map(foldCase))
  const excluded = new Set(query.excluded.map(foldCase))
  return {
    brand: (row) => brand === null || row.brand_key === brand,
    merchant: ({ merchant_key: key }) => (merchants.size === 0 || merchants.has(key)) && !excluded.has(key),
  }
}

function addToGroup(
  groups: Map<string, Group>,
  key: string,
  { id, row }: Readonly<{ id: number; row: DealRow }>,
): void {
  const group = groups.get(key)
  if (group === undefined) groups.set(key, { id, products: new Set([row.product_id]) })
  else group.products.add(row.product_id)
}

function countSteps(percents: ReadonlyMap<number, number>): DealCounts['discounts'] {
  const highest = [...percents.values()]
  return DISCOUNT_STEPS_PERCENT.map((minPercent) => ({
    minPercent,
    count: highest.filter((percent) => percent >= minPercent).length,
  }))
}

type Largest = Readonly<{ key: string; id: number; count: number }>

/** The groups with the most products; a product without a brand has none to choose. */
function pickLargest(groups: ReadonlyMap<string, Group>): readonly Largest[] {
  return [...groups]
    .filter(([key]) => key !== '')
    .map(([key, { id, products }]) => ({ key, id, count: products.size }))
    .sort((a, b) => b.count - a.count || (a.key < b.key ? -1 : 1))
    .slice(0, MAX_NAMES)
}

/** The largest groups with their names as the catalog writes them: of several, that of the deal with the highest discount. */
async function nameGroups(
  database: Kysely<CopyTables>,
  tally: Tally,
): Promise<Pick<DealCounts, 'brands' | 'merchants'>> {
  const brands = pickLargest(tally.brands)
  const merchants = pickLargest(tally.merchants)
  const brandNames = await readBrands(database, toIds(brands))
  const merchantNames = await readMerchants(database, toIds(merchants))
  return { brands: toFacets(brands, brandNames), merchants: toFacets(merchants, merchantNames) }
}

function toIds(groups: readonly Largest[]): readonly number[] {
  return groups.map(({ id }) => id)
}

type Names = ReadonlyMap<number, string | null | undefined>

/** A row that is gone or damaged leaves the name without case. */
function toFacets(groups: readonly Largest[], names: Names): readonly DealFacet[] {
  return groups.map(({ key, id, count }) => ({ name: names.get(id) ?? key, count }))
}

async function readBrands(database: Kysely<CopyTables>, ids: readonly number[]): Promise<Names> {
  if (ids.length === 0) return new Map()
  const rows = await database.selectFrom('products').select(['id', 'brand']).where('id', 'in', ids).execute()
  return new Map(rows.map(({ id, brand }) => [id, brand]))
}

async function readMerchants(database: Kysely<CopyTables>, ids: readonly number[]): Promise<Names> {
  if (ids.length === 0) return new Map()
  const rows = await database.selectFrom('deals').select(['id', 'offer']).where('id', 'in', ids).execute()
  return new Map(rows.map(({ id, offer }) => [id, findOfferInRow(offer)?.merchant]))
}
