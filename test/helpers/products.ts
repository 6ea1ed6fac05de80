import type { Offer, Product } from '../../src/catalog/contract.ts'
import { computeCheckDigit } from '../../src/offers/gtin.ts'

/** Return the `index`-th GTIN in order, padded to 14 digits, with a valid check digit. */
export function toGtin(index: number): string {
  const first13 = String(952_123_400_000 + index).padStart(13, '0')
  return `${first13}${computeCheckDigit(first13)}`
}

/** Create an offer in stock at 49.90 EUR without a former price; `over` replaces properties. */
export function makeParsedOffer(over: Partial<Offer> = {}): Offer {
  const merchant = over.merchant ?? 'Kopje'
  return {
    merchant,
    network: 'brightlink',
    price: '49.90',
    oldPrice: null,
    currency: 'EUR',
    availability: 'in_stock',
    affiliateUrl: `https://links.example/c?shop=${encodeURIComponent(merchant)}`,
    checkedAtMs: null,
    saleEndsAtMs: null,
    ...over,
  }
}

/** Create a product of the catalog client with one offer; `over` replaces properties. */
export function makeProduct(over: Partial<Product> = {}): Product {
  return {
    gtin: toGtin(1),
    title: 'Lumen Arc desk lamp',
    brand: 'Lumen',
    images: ['https://pictures.example/lamp.jpg'],
    offers: [makeParsedOffer()],
    ...over,
  }
}
