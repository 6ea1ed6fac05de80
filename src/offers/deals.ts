import { toPriceKey, toRatioKey, toSavingKey } from './money.ts'
import { type RankableOffer, compareTexts, isInStock, pickOnePerMerchant } from './ranking.ts'
import { computeDiscountPercent, isOnSale } from './sale.ts'

/** How grids are sorted. */
export const DEAL_SORTS = ['discount', 'saving', 'price', 'newest'] as const
export type DealSort = (typeof DEAL_SORTS)[number]

/**
 * Return the offers on sale of one product with the keys that grids sort by, highest discount first. One offer is picked for each
 * merchant and currency before: a shop's dearer offer is no deal while the same shop sells for less.
 *
 * `isBest`: the product's best deal in its currency: highest discount, then lowest price. `isBestInStock`: the same among offers in
 * stock.
 */
export function collectDeals<T extends RankableOffer>(offers: readonly T[]) {
  // Most products have none, and need no ranking.
  if (!offers.some((offer) => isOnSale(offer))) return []
  const seen = new Set<string>()
  const isFirst = (key: string): boolean => !seen.has(key) && seen.add(key) !== undefined
  return pickOnePerMerchant(offers)
    .filter((offer) => isOnSale(offer))
    .map((offer) => ({
      offer,
      ratioKey: toRatioKey(offer.price, offer.oldPrice),
      priceKey: toPriceKey(offer.price),
    }))
    .sort(
      (a, b) =>
        compareTexts(a.ratioKey, b.ratioKey) ||
        compareTexts(a.priceKey, b.priceKey) ||
        compareTexts(a.offer.merchant, b.offer.merchant) ||
        compareTexts(a.offer.network, b.offer.network),
    )
    .map(({ offer, ratioKey, priceKey }) => ({
      offer,
      isInStock: isInStock(offer),
      isBest: isFirst(`any ${offer.currency}`),
      isBestInStock: isInStock(offer) && isFirst(`in ${offer.currency}`),
      discountPercent: computeDiscountPercent(offer.price, offer.oldPrice),
      ratioKey,
      priceKey,
      savingKey: toSavingKey(offer.price, offer.oldPrice),
    }))
}

/** What names the same offer over time: network, merchant and currency. */
export function toOfferKey(offer: Readonly<{ network: string; merchant: string; currency: string }>): string {
  return JSON.stringify([offer.network, offer.merchant, offer.currency])
}
