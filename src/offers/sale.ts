import { comparePrices, toPriceSteps } from './money.ts'

/** The prices of an offer that a sale depends on. */
type Priced = Readonly<{ price: string; oldPrice: string | null }>

/** Is the offer on sale: a former price is given and above the price (contract, section 2, rule 1)? */
export function isOnSale<T extends Priced>(offer: T): offer is T & Readonly<{ oldPrice: string }> {
  return offer.oldPrice !== null && comparePrices(offer.oldPrice, offer.price) > 0
}

/** round((1 - price / oldPrice) x 100), half up, without floats (contract, section 2, rule 2). 0 to 100. */
export function computeDiscountPercent(price: string, oldPrice: string): number {
  const oldSteps = toPriceSteps(oldPrice)
  const savedSteps = oldSteps - toPriceSteps(price)
  return Number((savedSteps * 200n + oldSteps) / (oldSteps * 2n))
}
