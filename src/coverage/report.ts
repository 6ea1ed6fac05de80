import type { Offer, Product } from '../catalog/contract.ts'
import type { Clock } from '../clock.ts'
import { toDay } from '../offers/price-history.ts'
import { compareTexts, isInStock } from '../offers/ranking.ts'
import type { ShopBook } from '../offers/shop-book.ts'
import {
  type AskedProduct,
  type CountStore,
  type DayPeriod,
  type PlacementCount,
  type StateCounts,
  sumStates,
} from '../storage/counts.ts'
import type { CopyStore } from '../storage/store.ts'

/**
 * What shops offer of a product now. `hidden`: no shop sells it, so its boxes are empty; `sold_out`: no shop has it in stock;
 * `one_shop`: one shop has it in stock; `sold`: several do. The worst first.
 */
export const SUPPLY_STATES = ['hidden', 'sold_out', 'one_shop', 'sold'] as const
export type SupplyState = (typeof SUPPLY_STATES)[number]

/** A product that was asked for in the period, and what shops offer of it now. */
export type CoveredProduct = AskedProduct &
  Readonly<{
    /** `null` when no shop sells it: the copy no longer knows its title. */
    title: string | null
    state: SupplyState
    /** Names of shops as readers see them: those with stock; of a product that is sold out, all. */
    shops: readonly string[]
    clicks: number
  }>

export type CoverageReport = Readonly<{
  period: DayPeriod
  /** The worst state first; within it, the most requested first. */
  products: readonly CoveredProduct[]
  /** Of all products, including those that are not listed. */
  clickCount: number
}>

/** Where a product is embedded, and since when no shop sells it. */
export type ProductDetails = Readonly<{
  /** The last day on which a shop sold a hidden product, as far as it was observed; `null`: unknown, or the product is sold. */
  lastSoldDay: number | null
  /** The one with the most requests first. */
  placements: readonly PlacementCount[]
}>

type ReportParts = Readonly<{
  store: CountStore & Pick<CopyStore, 'findProducts' | 'findPriceSeries'>
  clock: Clock
  shops: ShopBook
}>

/** Products of one read of the store. */
const BATCH_PRODUCTS = 500

/** Return the period of the last days until today, in UTC. */
function toPeriod(clock: Clock, days: number): DayPeriod {
  const untilDay = toDay(clock.nowMs())
  return { fromDay: untilDay - days + 1, untilDay }
}

/** Read the products that were asked for in the last `days`, at most the `limit` most requested ones. */
export async function readCoverageReport(
  { store, clock, shops }: ReportParts,
  channelId: string,
  { days, limit }: Readonly<{ days: number; limit: number }>,
): Promise<CoverageReport> {
  const period = toPeriod(clock, days)
  const asked = await store.listAskedProducts(channelId, { ...period, limit })
  const keys = asked.map(({ gtin }) => gtin)
  const clicks = await store.sumClicks(channelId, { ...period, by: 'gtin', keys })
  const products: CoveredProduct[] = []
  for (const batch of toBatches(asked)) {
    const gtins = batch.map(({ gtin }) => gtin)
    const entries = await store.findProducts(channelId, gtins)
    for (const one of batch) {
      const supply = describeSupply(entries.get(one.gtin)?.product ?? null, shops)
      products.push({ ...one, ...supply, clicks: clicks.get(one.gtin) ?? 0 })
    }
  }
  // Sorting is stable.
  products.sort((a, b) => toRank(a) - toRank(b))
  return { period, products, clickCount: [...clicks.values()].reduce((sum, count) => sum + count, 0) }
}

const toRank = ({ state }: CoveredProduct): number => SUPPLY_STATES.indexOf(state)

function describeSupply(
  product: Product | null,
  shops: ShopBook,
): Pick<CoveredProduct, 'title' | 'state' | 'shops'> {
  if (product === null || product.offers.length === 0) return { title: null, state: 'hidden', shops: [] }
  const { title, offers } = product
  const inStock = offers.filter(isInStock)
  if (inStock.length === 0) return { title, state: 'sold_out', shops: listShops(offers, shops) }
  const sellers = listShops(inStock, shops)
  return { title, state: sellers.length === 1 ? 'one_shop' : 'sold', shops: sellers }
}

function listShops(offers: readonly Offer[], shops: ShopBook): readonly string[] {
  const byKey = new Map(offers.map(({ merchant }) => [shops.toKey(merchant), shops.toShownName(merchant)]))
  return [...byKey.values()].sort(compareTexts)
}

/** Read the details of some products of a report, by GTIN. `limit`: placements of 500 products, the most requested ones. */
export async function readProductDetails(
  { store }: Pick<ReportParts, 'store'>,
  channelId: string,
  {
    period,
    products,
    limit,
  }: Readonly<{ period: DayPeriod; products: readonly CoveredProduct[]; limit: number }>,
): Promise<ReadonlyMap<string, ProductDetails>> {
  const details = new Map<string, ProductDetails>()
  for (const batch of toBatches(products)) {
    const gtins = batch.map(({ gtin }) => gtin)
    const request = { ...period, gtins, limit }
    const placements = groupByProduct(await store.listPlacements(channelId, request))
    const soldDays = await findLastSoldDays(store, channelId, batch)
    for (const gtin of gtins)
      details.set(gtin, { lastSoldDay: soldDays.get(gtin) ?? null, placements: placements.get(gtin) ?? [] })
  }
  return details
}

/** Find the last days on which shops sold the hidden ones of some products, by GTIN. */
async function findLastSoldDays(
  store: ReportParts['store'],
  channelId: string,
  products: readonly CoveredProduct[],
): Promise<ReadonlyMap<string, number>> {
  const soldDays = new Map<string, number>()
  const unobserved: string[] = []
  for (const { gtin } of products.filter(({ state }) => state === 'hidden')) {
    const day = await findLastObservedDay(store, channelId, gtin)
    if (day === undefined) unobserved.push(gtin)
    else soldDays.set(gtin, day)
  }
  if (unobserved.length === 0) return soldDays
  return new Map([...soldDays, ...(await store.findLastShownDays(channelId, unobserved))])
}

function groupByProduct(
  placements: readonly PlacementCount[],
): ReadonlyMap<string, readonly PlacementCount[]> {
  const groups = new Map<string, PlacementCount[]>()
  for (const placement of placements) {
    const group = groups.get(placement.gtin) ?? []
    group.push(placement)
    groups.set(placement.gtin, group)
  }
  return groups
}

async function findLastObservedDay(
  store: ReportParts['store'],
  channelId: string,
  gtin: string,
): Promise<number | undefined> {
  const series = await store.findPriceSeries(channelId, gtin)
  const lastDays = series.flatMap(({ days }) => days.at(-1)?.day ?? [])
  return lastDays.length === 0 ? undefined : Math.max(...lastDays)
}

/** A placement with its products. `emptyProducts`: those that no shop sells now. */
export type PlacementSummary = StateCounts &
  Readonly<{ sub: string; products: number; emptyProducts: number }>

/** Add up the placements of products: those with the most empty products first, then those with the most requests. */
export function sumPlacements(
  products: readonly CoveredProduct[],
  details: ReadonlyMap<string, ProductDetails>,
): readonly PlacementSummary[] {
  const sums = new Map<string, { -readonly [Key in keyof PlacementSummary]: PlacementSummary[Key] }>()
  for (const { gtin, state } of products)
    for (const { sub, shown, hidden, unavailable } of details.get(gtin)?.placements ?? []) {
      const sum = sums.get(sub) ?? { sub, products: 0, emptyProducts: 0, shown: 0, hidden: 0, unavailable: 0 }
      sum.products += 1
      sum.emptyProducts += Number(state === 'hidden')
      sum.shown += shown
      sum.hidden += hidden
      sum.unavailable += unavailable
      sums.set(sub, sum)
    }
  return [...sums.values()].sort(
    (a, b) => b.emptyProducts - a.emptyProducts || sumStates(b) - sumStates(a) || compareTexts(a.sub, b.sub),
  )
}

function toBatches<T>(items: readonly T[]): readonly (readonly T[])[] {
  const batches: T[][] = []
  for (let from = 0; from < items.length; from += BATCH_PRODUCTS)
    batches.push(items.slice(from, from + BATCH_PRODUCTS))
  return batches
}
