import { comparePrices } from './money.ts'
import { type OfferTimes, compareTimes } from './price-age.ts'
import { isOnSale } from './sale.ts'
import { foldCase } from './text.ts'

/** The inputs of ranking. Commission never is one of them. */
export type RankableOffer = Readonly<{
  merchant: string
  network: string
  price: string
  oldPrice: string | null
  currency: string
  availability: string
  affiliateUrl: string
}>

/** The only `availability` value that clients filter by (contract, section 2). */
const IN_STOCK = 'in_stock'

export function isInStock(offer: Readonly<{ availability: string }>): boolean {
  return offer.availability === IN_STOCK
}

/**
 * Pick the best offer per merchant and currency: by default in stock, then cheapest, then on sale. `toMerchantKey` is equal for
 * the names of one merchant; by default it ignores case.
 */
export function pickOnePerMerchant<T extends RankableOffer>(
  offers: readonly T[],
  compare: (a: T, b: T) => number = compareForBox,
  toMerchantKey: (merchant: string) => string = foldCase,
): T[] {
  const bestOffers = new Map<string, T>()
  for (const offer of offers) {
    const key = `${offer.currency} ${toMerchantKey(offer.merchant)}`
    const current = bestOffers.get(key)
    if (current === undefined || compare(offer, current) < 0) bestOffers.set(key, offer)
  }
  return [...bestOffers.values()]
}

/** Order by stock, price and merchant; within a merchant by sale, network and link. The rest makes the order deterministic. */
export function compareForBox(a: RankableOffer, b: RankableOffer): number {
  return (
    Number(isInStock(b)) - Number(isInStock(a)) ||
    comparePrices(a.price, b.price) ||
    compareTexts(foldCase(a.merchant), foldCase(b.merchant)) ||
    Number(isOnSale(b)) - Number(isOnSale(a)) ||
    compareTexts(a.network, b.network) ||
    compareTexts(a.affiliateUrl, b.affiliateUrl) ||
    // Smaller claimed discount, then currency and spelling: the order must not depend on the order in the response.
    comparePrices(a.oldPrice ?? '0', b.oldPrice ?? '0') ||
    compareTexts(toTieBreaker(a), toTieBreaker(b))
  )
}

/** Create the order of a box at one time: of offers with the same stock, those without a shown price come last. */
export function createBoxOrder<T extends RankableOffer & OfferTimes>(
  isPriced: (offer: T) => boolean,
): (a: T, b: T) => number {
  return (a, b) =>
    Number(isInStock(b)) - Number(isInStock(a)) ||
    Number(isPriced(b)) - Number(isPriced(a)) ||
    compareForBox(a, b) ||
    compareTimes(a, b)
}

function toTieBreaker({ currency, availability, merchant, price, oldPrice }: RankableOffer): string {
  return JSON.stringify([currency, availability, merchant, price, oldPrice])
}

/** Find the currency of most offers, alphabetically first at a tie; `undefined` without offers. */
export function findMainCurrency(offers: readonly Readonly<{ currency: string }>[]): string | undefined {
  const counts = new Map<string, number>()
  for (const { currency } of offers) counts.set(currency, (counts.get(currency) ?? 0) + 1)
  return [...counts].sort(([a, countA], [b, countB]) => countB - countA || compareTexts(a, b))[0]?.[0]
}

/** Compare by code units, as every database with a byte-wise collation does. */
export function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
