import type { Offer, Product } from '../../../src/catalog/contract.ts'
import { DAY_MS, HOUR_MS } from '../../../src/clock.ts'
import type { DealQuery } from '../../../src/storage/store.ts'
import type { StoredCopy } from '../../../src/storage/stored-copy.ts'
import type { HistoryRules } from '../../../src/storage/price-history.ts'
import { makeParsedOffer, makeProduct, toGtin } from '../../helpers/products.ts'
import { CHANNEL, type CopyFixture, begin, makePage, makeQuery, walkAll } from './subject.ts'

/** Day 0 of the tests: long ago, because a database server uses its own clock. */
export const DAY_0: number = Date.UTC(2020, 0, 1) / DAY_MS

export const RULES: HistoryRules = { keptDays: 400, priceMaxAgeSeconds: 86_400 }

/** Return a time of a day, Unix milliseconds; by default noon. */
export function toMs(day: number, hour = 12): number {
  return (DAY_0 + day) * DAY_MS + hour * HOUR_MS
}

/** Build an offer that the shop claims to be on sale. */
export function makeClaim(price: string, over: Partial<Offer> = {}): Offer {
  return makeParsedOffer({ price, oldPrice: '500', ...over })
}

/** Build product number `index` with these prices, claims of one merchant, or these offers. */
export function makeLamp(index: number, ...offers: readonly (string | Offer)[]): Product {
  return makeProduct({
    gtin: toGtin(index),
    offers: offers.map((offer) => (typeof offer === 'string' ? makeClaim(offer) : offer)),
  })
}

/** A copy on a time line of days. Times are a day and an hour; by default noon. */
export type HistoryFixture = Readonly<{
  copy: StoredCopy
  setTime(day: number, hour?: number): void
  /** Walk the whole catalog at one time. */
  walk(products: readonly Product[], day: number, hour?: number): Promise<void>
  /** Walk the same catalog once a day, from the first to the last day. */
  walkDays(products: readonly Product[], from: number, until: number): Promise<void>
  begin(day: number, hour?: number): Promise<number>
  /** Apply a page that ends before the product `until`; without it, the last page. */
  apply(
    walk: number,
    products: readonly Product[],
    page: Readonly<{ day: number; hour?: number; after?: number; until?: number }>,
  ): Promise<void>
  complete(walk: number, day: number): Promise<void>
  lookUp(index: number, product: Product | null, day: number, hour?: number): Promise<void>
  /** Open the copy again with other rules. */
  reopen(rules: Partial<HistoryRules>): Promise<HistoryFixture>
  /**
   * Read the days of a product by series, as `day low`, with `>last` if it differs from the low, and `>` when the merchant no
   * longer sold it.
   */
  readSeries(index?: number): Promise<Readonly<Record<string, readonly string[]>>>
  /** Read the deals of a grid with `evidence=observed`, as `product merchant price<reference`. */
  readFalls(over?: Partial<DealQuery>): Promise<string[]>
}>

/** Open a copy for tests of observed prices. */
export async function openHistory(
  fixture: CopyFixture,
  rules: HistoryRules = RULES,
): Promise<HistoryFixture> {
  const copy = await fixture.open('https://one.example', rules)
  const setTime = (day: number, hour?: number): void =>
    fixture.clock.step(toMs(day, hour) - fixture.clock.nowMs())
  const walk: HistoryFixture['walk'] = async (products, day, hour) => {
    setTime(day, hour)
    await walkAll(copy, products, toMs(day, hour))
  }
  return {
    copy,
    setTime,
    walk,
    async walkDays(products, from, until) {
      for (let day = from; day <= until; day += 1) await walk(products, day)
    },
    async begin(day, hour) {
      setTime(day, hour)
      return begin(copy, toMs(day, hour))
    },
    async apply(number, products, { day, hour, after, until }) {
      setTime(day, hour)
      const afterGtin = after === undefined ? '' : toGtin(after)
      const page = { asOfMs: toMs(day, hour), afterGtin, nextCursor: until === undefined ? null : 'c' }
      await copy.applyPage(CHANNEL, makePage(number, products, page))
    },
    complete: (number, day) =>
      copy.completeWalk(CHANNEL, number, { nowMs: toMs(day, 23), isMalformed: false }),
    async lookUp(index, product, day, hour) {
      setTime(day, hour)
      const entry = { product, asOfMs: toMs(day, hour) }
      await copy.putLookups([{ channelId: CHANNEL, gtin: toGtin(index), entry }])
    },
    reopen: (over) => openHistory(fixture, { ...RULES, ...over }),
    async readSeries(index = 1) {
      const series = await copy.findPriceSeries(CHANNEL, toGtin(index))
      return Object.fromEntries(
        series.map(({ merchantKey, currency, days }) => [
          `${currency} ${merchantKey}`,
          days.map(({ day, low, last, isImported }) => {
            const end = last === low ? '' : `>${last === null ? '' : last / 10_000}`
            return `${day - DAY_0} ${low / 10_000}${end}${isImported ? ' imported' : ''}`
          }),
        ]),
      )
    },
    async readFalls(over = {}) {
      const deals = await copy.findDeals(makeQuery({ evidence: 'observed', ...over }))
      return deals.map(
        ({ gtin, offer }) => `${toIndex(gtin)} ${offer.merchant} ${offer.price}<${offer.oldPrice}`,
      )
    },
  }
}

/** Return the number of a product. */
export function toIndex(gtin: string): number {
  return Number(gtin.slice(0, 13)) - Number(toGtin(0).slice(0, 13))
}

/** List `day price` for each day of a range. */
export function listDays(from: number, until: number, price: number): string[] {
  return Array.from({ length: until - from + 1 }, (_, index) => `${from + index} ${price}`)
}

/** Build product 1 with a price that was checked on a day at noon. */
export function makeChecked(day: number): Product {
  return makeLamp(1, makeClaim('80', { checkedAtMs: toMs(day) }))
}

/** Enough products that a page needs several transactions. */
export const MANY = 700
export function makeMany(price: string): Product[] {
  return Array.from({ length: MANY }, (_, index) => makeLamp(index, price))
}

/** Hold a walk. */
export async function hold({ copy }: HistoryFixture, walk: number, day: number): Promise<void> {
  const [sinceMs, startedAtMs] = [toMs(day), toMs(day)]
  await copy.holdWalk(CHANNEL, walk, { reason: 'few_products', sinceMs, startedAtMs, productCount: 0 })
}
