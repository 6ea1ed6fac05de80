import type { Offer, Product } from '../catalog/contract.ts'
import { comparePrices } from '../offers/money.ts'
import { findSaleEndMs } from '../offers/price-age.ts'

/**
 * Build schema.org `Product` with `AggregateOffer` from the offers of the box whose prices are shown. The id is relative to the
 * page, whose address a fragment does not know: nodes of the page with the same id are one product with this one.
 */
export function toSchemaOrgProduct(product: Product, offers: readonly Offer[]): object {
  const saleEndMs = findSaleEndMs(offers)
  const prices = offers.map((offer) => offer.price).sort(comparePrices)
  return {
    '@context': 'https://schema.org',
    '@type': 'Product',
    '@id': `#product-${product.gtin}`,
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
      ...(saleEndMs !== null && { priceValidUntil: new Date(saleEndMs).toISOString() }),
    },
  }
}
