import { toPriceKey, toRatioKey, toSavingKey } from './money.ts'
import { type Rankable, compareTexts, isInStock, pickOnePerMerchant } from './ranking.ts'
import { computeDiscountPercent, isOnSale } from './sale.ts'

/** How grids are sorted. */
export const DEAL_SORTS = ['discount', 'saving', 'price', 'newest'] as const
export type DealSort = (typeof DEAL_SORTS)[number]

/** An offer with its former price. */
type Priced = Rankable & Readonly<{ oldPrice: string | null }>

/** An offer on sale with the keys that grids sort by. */
export type Deal<T> = Readonly<{
  offer: T
  isInStock: boolean
  /** The product's best deal in its currency: highest discount, then lowest price. */
  isBest: boolean
  /** The same among offers in stock. */
  isBestInStock: boolean
  discountPercent: number
  ratioKey: string
  priceKey: string
  savingKey: string
}>

/**
 * The offers on sale of one product, after one offer was picked for each merchant and currency: a shop's dearer offer
 * is no deal while the same shop sells for less.
 */
export function collectDeals<T extends Priced>(offers: readonly T[]): readonly Deal<T>[] {
  // Most products have none, and need no ranking.
  if (!offers.some((offer) => isOnSale(offer))) return []
  const deals = pickOnePerMerchant(offers)
    .filter((offer) => isOnSale(offer))
    .map((offer) => toDeal(offer, offer.oldPrice ?? offer.price))
    .sort(compareDeals)
  const seen = new Set<string>()
  const isFirst = (key: string): boolean => !seen.has(key) && seen.add(key) !== undefined
  return deals.map((deal) => ({
    ...deal,
    isBest: isFirst(`any ${deal.offer.currency}`),
    isBestInStock: deal.isInStock && isFirst(`in ${deal.offer.currency}`),
  }))
}

/** What names the same offer over time: network, merchant and currency. */
export function toOfferKey(offer: Readonly<{ network: string; merchant: string; currency: string }>): string {
  return JSON.stringify([offer.network, offer.merchant, offer.currency])
}

function toDeal<T extends Priced>(offer: T, oldPrice: string): Deal<T> {
  return {
    offer,
    isInStock: isInStock(offer),
    isBest: false,
    isBestInStock: false,
    discountPercent: computeDiscountPercent(offer.price, oldPrice),
    ratioKey: toRatioKey(offer.price, oldPrice),
    priceKey: toPriceKey(offer.price),
    savingKey: toSavingKey(offer.price, oldPrice),
  }
}

function compareDeals<T extends Priced>(a: Deal<T>, b: Deal<T>): number {
  return (
    compareTexts(a.ratioKey, b.ratioKey) ||
    compareTexts(a.priceKey, b.priceKey) ||
    compareTexts(a.offer.merchant, b.offer.merchant) ||
    compareTexts(a.offer.network, b.offer.network)
  )
}
