import type { Offer, Product } from '../catalog/contract.ts'
import { comparePrices } from '../offers/money.ts'

/**
 * schema.org `Product` with `AggregateOffer` as JSON-LD, equal to what the box shows: one currency, its shops, its
 * prices. Safe inside a script element: `<`, `>`, `&` and line separators are escaped.
 */
export function toSchemaText(product: Product, offers: readonly Offer[]): string {
  const prices = offers.map((offer) => offer.price).sort(comparePrices)
  const markup = {
    '@context': 'https://schema.org',
    '@type': 'Product',
    name: product.title,
    gtin: product.gtin,
    ...(product.brand !== null && { brand: { '@type': 'Brand', name: product.brand } }),
    ...(product.images[0] !== undefined && { image: product.images[0] }),
    offers: {
      '@type': 'AggregateOffer',
      priceCurrency: offers[0]?.currency,
      lowPrice: prices[0],
      highPrice: prices.at(-1),
      offerCount: offers.length,
    },
  }
  return JSON.stringify(markup).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
