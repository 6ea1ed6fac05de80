import { comparePrices, toScaledPrice } from './money.ts'

type PricedOffer = Readonly<{ price: string; oldPrice: string | null }>

/** `true` when the offer has an old price above its price (contract, section 2, rule 1). */
export function isOnSale<T extends PricedOffer>(offer: T): offer is T & Readonly<{ oldPrice: string }> {
  return offer.oldPrice !== null && comparePrices(offer.oldPrice, offer.price) > 0
}

/** Compute round((1 - price / oldPrice) x 100), half up, without floats (contract, section 2, rule 2). 0 to 100. */
export function computeDiscountPercent(price: string, oldPrice: string): number {
  const scaledOldPrice = toScaledPrice(oldPrice)
  const scaledSaving = scaledOldPrice - toScaledPrice(price)
  return Number((scaledSaving * 200n + scaledOldPrice) / (scaledOldPrice * 2n))
}
