import { type Kysely, sql } from 'kysely'
import { foldCase } from '../offers/text.ts'
import { findOfferInRow } from './rows.ts'
import type { CopyTables } from './schema.ts'
import type { CopyRow } from './sql-copies.ts'
import { createCountedCondition, whereVisible } from './sql-deal-filters.ts'
import { DISCOUNT_STEPS_PERCENT, type DealCounts, type DealFacet, type DealQuery } from './store.ts'

/** Deals that are looked at. */
const MAX_DEALS = 20_000

/** Brands, and merchants, that are named. */
const MAX_NAMES = 30

/** The counts of a copy that has nothing. */
export const NO_DEALS: DealCounts = {
  total: 0,
  isBounded: false,
  brands: [],
  merchants: [],
  discounts: DISCOUNT_STEPS_PERCENT.map((minPercent) => ({ minPercent, count: 0 })),
}

/** Count the products of a grid, and those that it would have with another brand, merchant or discount. */
export async function countDeals(
  database: Kysely<CopyTables>,
  copy: CopyRow,
  query: DealQuery,
): Promise<DealCounts> {
  const rows = await readDeals(database, copy, query)
  const tally = createTally(query)
  for (const row of rows.slice(0, MAX_DEALS)) if (row.is_counted === 1) tally.add(row)
  return {
    ...(await nameGroups(database, tally)),
    total: tally.products.size,
    isBounded: rows.length > MAX_DEALS,
    discounts: countSteps(tally.percents),
  }
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

/** Visible deals by discount, and one more than are looked at where there are more. */
async function readDeals(
  database: Kysely<CopyTables>,
  copy: CopyRow,
  query: DealQuery,
): Promise<readonly DealRow[]> {
  const isCounted = await createCountedCondition(database, copy, query)
  return whereVisible(database.selectFrom('deals'), copy, query)
    .select(['id', 'product_id', 'brand_key', 'merchant_key', 'discount_percent'])
    .select(sql<number>`case when ${isCounted} then 1 else 0 end`.as('is_counted'))
    .orderBy('ratio_key')
    .orderBy('price_key')
    .orderBy('gtin')
    .orderBy('id')
    .limit(MAX_DEALS + 1)
    .execute()
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
