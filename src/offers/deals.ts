import { toPriceKey, toRatioKey, toSavingKey } from './money.ts'
import { type RankableOffer, compareTexts, isInStock, pickOnePerMerchant } from './ranking.ts'
import { computeDiscountPercent, isOnSale } from './sale.ts'

/** `drop`: by the fall of the price that our own observation confirms. */
export const DEAL_SORTS = ['discount', 'saving', 'price', 'newest', 'drop'] as const
export type DealSort = (typeof DEAL_SORTS)[number]

/** Whose former price makes an offer a deal: the shop's, or the reference price that our own observation confirms. */
export const EVIDENCES = ['shop', 'observed'] as const
export type Evidence = (typeof EVIDENCES)[number]

/**
 * Return the offers of one product that are on sale, highest discount first, with the sort keys of grids. Only the best offer per
 * merchant and currency counts: a more expensive offer is no deal while the same merchant sells for less.
 *
 * `isBest`: the best deal in its currency, by discount, then price. `isBestInStock`: the same among the offers in stock.
 */
export function collectDeals<T extends RankableOffer>(offers: readonly T[]) {
  // Fast path: most products have no offer on sale.
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

/** Return a key that identifies the same offer over time. */
export function toOfferKey(offer: Readonly<{ network: string; merchant: string; currency: string }>): string {
  return JSON.stringify([offer.network, offer.merchant, offer.currency])
}
