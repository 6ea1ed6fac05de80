import { type Kysely, sql } from 'kysely'
import { inList } from '../database/dialect.ts'
import { foldCase } from '../offers/text.ts'
import { parseOfferJson } from './rows.ts'
import type { CopyTables } from './schema.ts'
import type { CopyView } from './sql-copies.ts'
import { createCountCondition, createVisibilityCondition } from './sql-deal-filters.ts'
import { DISCOUNT_STEPS_PERCENT, type DealCounts, type DealFacet, type DealQuery } from './store.ts'

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
  const rows = await readDeals(database, copy, query)
  const countedRows = rows.slice(0, MAX_DEALS).filter((row) => row.is_counted === 1)
  const brand = query.brand === null ? null : foldCase(query.brand)
  const includedKeys = new Set(query.merchants.map(foldCase))
  const excludedKeys = new Set(query.excluded.map(foldCase))
  const isOfBrand = (row: DealRow): boolean => brand === null || row.brand_key === brand
  const isOfMerchant = ({ merchant_key: key }: DealRow): boolean =>
    (includedKeys.size === 0 || includedKeys.has(key)) && !excludedKeys.has(key)
  const hasDiscount = (row: DealRow): boolean => row.discount_percent >= query.minDiscountPercent

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

type DealRow = Readonly<{
  id: number
  product_id: number
  brand_key: string
  merchant_key: string
  discount_percent: number
  /** 1 when the deal passes the filters that apply to all facets. */
  is_counted: number
}>

/** Read visible deals by discount, and one more than `MAX_DEALS` to detect that there are more. */
async function readDeals(
  database: Kysely<CopyTables>,
  copy: CopyView,
  query: DealQuery,
): Promise<readonly DealRow[]> {
  const isCounted = await createCountCondition(database, copy, query)
  const { rows } = await sql<DealRow>`select id, product_id, brand_key, merchant_key, discount_percent,
    case when ${isCounted} then 1 else 0 end as is_counted from deals
    where ${createVisibilityCondition(database, copy, query)}
    order by ratio_key, price_key, gtin, id limit ${MAX_DEALS + 1}`.execute(database)
  return rows
}

function countProducts(rows: readonly DealRow[]): number {
  return new Set(rows.map((row) => row.product_id)).size
}

/** The deals of a brand or merchant. The deal with the highest discount gives the group its name. */
type DealGroup = Readonly<{ key: string; topDeal: DealRow; count: number }>

/** Find the groups with the most products. Products without a brand are in no group. */
function findLargestGroups(rows: readonly DealRow[], toKey: (row: DealRow) => string): readonly DealGroup[] {
  const groups = new Map<string, { topDeal: DealRow; products: Set<number> }>()
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
