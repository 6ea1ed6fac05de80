import { comparePrices } from './money.ts'
import { isOnSale } from './sale.ts'
import { foldCase } from './text.ts'

/** What ranking looks at; commission is no part of it. */
export type RankableOffer = Readonly<{
  merchant: string
  network: string
  price: string
  oldPrice: string | null
  currency: string
  availability: string
  affiliateUrl: string
}>

/** The one `availability` that clients filter by (contract, section 2). */
const IN_STOCK = 'in_stock'

/** May the offer be bought now? */
export function isInStock(offer: Readonly<{ availability: string }>): boolean {
  return offer.availability === IN_STOCK
}

/**
 * One offer for each merchant and currency: the cheapest in stock, or the cheapest when none is; at equal price the one on
 * sale. Merchants are equal without case.
 */
export function pickOnePerMerchant<T extends RankableOffer>(offers: readonly T[]): T[] {
  const bestOffers = new Map<string, T>()
  for (const offer of offers) {
    const key = `${offer.currency} ${foldCase(offer.merchant)}`
    const current = bestOffers.get(key)
    if (current === undefined || compareForBox(offer, current) < 0) bestOffers.set(key, offer)
  }
  return [...bestOffers.values()]
}

/**
 * In stock first, then by price and merchant; of one merchant the offer on sale first, then by network and link. The rest
 * only tells apart what a reader cannot.
 */
export function compareForBox(a: RankableOffer, b: RankableOffer): number {
  return (
    Number(isInStock(b)) - Number(isInStock(a)) ||
    comparePrices(a.price, b.price) ||
    compareTexts(foldCase(a.merchant), foldCase(b.merchant)) ||
    Number(isOnSale(b)) - Number(isOnSale(a)) ||
    compareTexts(a.network, b.network) ||
    compareTexts(a.affiliateUrl, b.affiliateUrl) ||
    // The smaller claim of a discount, then the wording: no order ever depends on that of the answer.
    comparePrices(a.oldPrice ?? '0', b.oldPrice ?? '0') ||
    compareTexts(toTieBreaker(a), toTieBreaker(b))
  )
}

function toTieBreaker({ availability, merchant, price, oldPrice }: RankableOffer): string {
  return JSON.stringify([availability, merchant, price, oldPrice])
}

/** The currency that most of the offers have, the first by alphabet at a tie; `undefined` without offers. */
export function findMainCurrency(offers: readonly Readonly<{ currency: string }>[]): string | undefined {
  const counts = new Map<string, number>()
  for (const { currency } of offers) counts.set(currency, (counts.get(currency) ?? 0) + 1)
  return [...counts].sort(([a, countA], [b, countB]) => countB - countA || compareTexts(a, b))[0]?.[0]
}

/** By code units: the same on every machine and in every database with a byte-wise collation. */
export function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
