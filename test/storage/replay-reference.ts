import { DAY_MS } from '../../src/clock.ts'
import type { Product } from '../../src/catalog/contract.ts'
import { DAY_0 } from './replay-world.ts'

/** That a product was seen at a time, with its prices in cents by currency and shop; without any, no shop sold it. */
export type Observation = Readonly<{ timeMs: number; prices: ReadonlyMap<string, number> }>

/** What was seen of one price on each day of the replay, in cents; `undefined` on days without it. */
export type Calendar = readonly (Readonly<{ low: number; last: number | null }> | undefined)[]

/** Compute each day of a price from all observations of its product: no changes, no runs. */
export function computeCalendar(observations: readonly Observation[], key: string): Calendar {
  const calendar: ({ low: number; last: number | null } | undefined)[] = []
  for (const { timeMs, prices } of observations) {
    const day = Math.floor(timeMs / DAY_MS) - DAY_0
    const price = prices.get(key)
    const before = calendar[day]
    if (price !== undefined) calendar[day] = { low: Math.min(price, before?.low ?? price), last: price }
    else if (before !== undefined) calendar[day] = { ...before, last: null }
  }
  return calendar
}

/** List all keys of prices that a product ever had. */
export function listKeys(observations: readonly Observation[]): string[] {
  return [...new Set(observations.flatMap(({ prices }) => [...prices.keys()]))].sort()
}

/** Compute the reference price of the price of the last day, day by day; `undefined` without one. */
function computeReference(calendar: Calendar, price: number): number | undefined {
  const began = findBeginning(calendar, price)
  if (began === undefined) return undefined
  const lows: number[] = []
  for (let day = began - 30; day < began; day += 1) {
    const low = calendar[day]?.low
    if (low !== undefined) lows.push(low)
  }
  if (lows.length < 25) return undefined
  const beganLow = calendar[began]?.low ?? price
  return beganLow < price ? Math.min(beganLow, ...lows) : Math.min(...lows)
}

/** Go back from the last day while each day had only this price and at most five days are missing in a row. */
function findBeginning(calendar: Calendar, price: number): number | undefined {
  let began = calendar.length - 1
  if (calendar[began]?.last !== price) return undefined
  let missing = 0
  for (let day = began - 1; day >= 0 && missing <= 5; day -= 1) {
    const seen = calendar[day]
    missing = seen === undefined ? missing + 1 : 0
    if (seen === undefined) continue
    if (calendar[began]?.low !== price || toEndPrice(seen) !== price) break
    began = day
  }
  return began
}

/** Return the last price of a day, also when the shop left later. */
function toEndPrice({ low, last }: Readonly<{ low: number; last: number | null }>): number {
  return last ?? low
}

/** A deal as a shop claims it, in cents, with the reference price if it is above the price. */
export type ReplayDeal = Readonly<{
  index: number
  shop: string
  price: number
  claim: number
  reference: number | undefined
}>

/** List the deals of a product in EUR. */
export function computeDeals(
  product: Product | null,
  index: number,
  observations: readonly Observation[],
): ReplayDeal[] {
  const offers = (product?.offers ?? []).filter(({ currency }) => currency === 'EUR')
  return offers.flatMap((offer) => {
    const [price, claim] = [toCents(offer.price), toCents(offer.oldPrice ?? '0')]
    if (claim <= price) return []
    const calendar = computeCalendar(observations, `EUR ${offer.merchant.toLowerCase()}`)
    const reference = computeReference(calendar, price)
    const isFall = reference !== undefined && reference > price
    return { index, shop: offer.merchant, price, claim, reference: isFall ? reference : undefined }
  })
}

function toCents(text: string): number {
  return Math.round(Number(text) * 100)
}

/** Compare fractions exactly: smaller products of cents are exact. */
const compareRatios = (a: number, aOf: number, b: number, bOf: number): number => a * bOf - b * aOf

/** Compute the cards of the grid of confirmed deals, in order: the largest fall of each product. */
export function computeFalls(deals: readonly ReplayDeal[]): string[] {
  const fallen = deals.flatMap(({ reference, ...deal }) =>
    reference === undefined ? [] : { ...deal, reference },
  )
  const sorted = fallen.toSorted(
    (a, b) =>
      compareRatios(a.price, a.reference, b.price, b.reference) || a.price - b.price || a.index - b.index,
  )
  const seen = new Set<number>()
  const best = sorted.filter(({ index }) => !seen.has(index) && seen.add(index))
  return best.map((deal) => {
    const percent = Math.round((100 * (deal.reference - deal.price)) / deal.reference)
    return `${deal.index} ${deal.shop} ${deal.price}<${deal.reference} ${percent} %`
  })
}

/** Compute the order of all deals by their fall: the best claimed deal of each product. */
export function computeDropOrder(deals: readonly ReplayDeal[]): string[] {
  const byClaim = deals.toSorted(
    (a, b) => compareRatios(a.price, a.claim, b.price, b.claim) || a.price - b.price || a.index - b.index,
  )
  const seen = new Set<number>()
  const best = byClaim.filter(({ index }) => !seen.has(index) && seen.add(index))
  const toFall = ({ price, reference }: ReplayDeal): readonly [number, number] =>
    reference === undefined ? [1, 1] : [price, reference]
  // The sort is stable, so equal falls keep the order of the claims.
  return best
    .toSorted((a, b) => compareRatios(...toFall(a), ...toFall(b)))
    .map(({ index, shop, price }) => `${index} ${shop} ${price}`)
}
