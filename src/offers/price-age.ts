import { SECOND_MS, isFuture } from '../clock.ts'

/** When an offer's price was checked and when its sale ends, Unix milliseconds; `null`: the catalog gives no time. */
export type OfferTimes = Readonly<{ checkedAtMs: number | null; saleEndsAtMs: number | null }>

/** `asOfMs`: when the catalog returned the offer, Unix milliseconds. */
type DatedOffer = Readonly<{ offer: OfferTimes; asOfMs: number }>

export type PriceRules = Readonly<{ nowMs: number; priceMaxAgeSeconds: number }>

/** Why a price is not shown. `unknown-age`: its time is in the future, because some clock was wrong. */
export type PriceProblem = 'sale-ended' | 'too-old' | 'unknown-age'

/** Return when the price was checked. Without a time from the catalog, it is as old as the response. */
export function toPriceTimeMs({ offer, asOfMs }: DatedOffer): number {
  return offer.checkedAtMs ?? asOfMs
}

/** Whether the sale is over. The price after it is unknown. */
export function isSaleEnded({ saleEndsAtMs }: OfferTimes, nowMs: number): boolean {
  return saleEndsAtMs !== null && saleEndsAtMs <= nowMs
}

/** Find the reason why a price is not shown; `undefined` when it is. */
export function findPriceProblem(
  dated: DatedOffer,
  { nowMs, priceMaxAgeSeconds }: PriceRules,
): PriceProblem | undefined {
  if (isSaleEnded(dated.offer, nowMs)) return 'sale-ended'
  const priceTimeMs = toPriceTimeMs(dated)
  if (isFuture(priceTimeMs, nowMs)) return 'unknown-age'
  return nowMs - priceTimeMs > priceMaxAgeSeconds * SECOND_MS ? 'too-old' : undefined
}

/** Return the time from which a price is no longer shown. */
export function findPriceEndMs(dated: DatedOffer, priceMaxAgeSeconds: number): number {
  return Math.min(toPriceTimeMs(dated) + priceMaxAgeSeconds * SECOND_MS, dated.offer.saleEndsAtMs ?? Infinity)
}

export function isPriceShown(dated: DatedOffer, rules: PriceRules): boolean {
  return findPriceProblem(dated, rules) === undefined
}

/** Create the check whether the price of an offer of one response is shown. */
export function createPriceCheck(asOfMs: number, rules: PriceRules): (offer: OfferTimes) => boolean {
  return (offer) => isPriceShown({ offer, asOfMs }, rules)
}

/** Order otherwise equal offers by the end of the sale, then by the time of the check, latest first. */
export function compareTimes(a: OfferTimes, b: OfferTimes): number {
  return toLastMs(b) - toLastMs(a) || (b.checkedAtMs ?? 0) - (a.checkedAtMs ?? 0)
}

function toLastMs({ saleEndsAtMs }: OfferTimes): number {
  return saleEndsAtMs ?? Number.MAX_VALUE
}

/** Find the earliest end of a sale, Unix milliseconds; `null` without any. */
export function findSaleEndMs(offers: readonly OfferTimes[]): number | null {
  return findEarliestMs(offers.flatMap(({ saleEndsAtMs }) => saleEndsAtMs ?? []))
}

/** Find the times of the offers of a widget, Unix milliseconds. Each is `null` without such an offer. */
export function findPriceTimes(offers: readonly DatedOffer[], rules: PriceRules) {
  const priced = offers.filter((dated) => isPriceShown(dated, rules))
  const oldestPriceMs = findEarliestMs(priced.map(toPriceTimeMs))
  return {
    /** When the oldest shown price was checked. */
    oldestPriceMs,
    /** The same, or when the oldest offer was checked if no price is shown. */
    checkedAtMs: oldestPriceMs ?? findEarliestMs(offers.map(toPriceTimeMs)),
    /** When the first sale with a shown price ends. */
    saleEndMs: findSaleEndMs(priced.map(({ offer }) => offer)),
  }
}

function findEarliestMs(timesMs: readonly number[]): number | null {
  return timesMs.length === 0 ? null : Math.min(...timesMs)
}
