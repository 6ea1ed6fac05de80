import { comparePrices, toScaledPrice } from './money.ts'

/** The prices of an offer that a sale depends on. */
type PricedOffer = Readonly<{ price: string; oldPrice: string | null }>

/** Is the offer on sale: a former price is given and above the price (contract, section 2, rule 1)? */
export function isOnSale<T extends PricedOffer>(offer: T): offer is T & Readonly<{ oldPrice: string }> {
  return offer.oldPrice !== null && comparePrices(offer.oldPrice, offer.price) > 0
}

/** round((1 - price / oldPrice) x 100), half up, without floats (contract, section 2, rule 2). 0 to 100. */
export function computeDiscountPercent(price: string, oldPrice: string): number {
  const scaledOldPrice = toScaledPrice(oldPrice)
  const scaledSaving = scaledOldPrice - toScaledPrice(price)
  return Number((scaledSaving * 200n + scaledOldPrice) / (scaledOldPrice * 2n))
}
