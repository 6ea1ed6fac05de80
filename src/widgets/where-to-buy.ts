import type { Offer, Product } from '../catalog/contract.ts'
import { comparePrices } from '../offers/money.ts'
import { isInStock } from '../offers/ranking.ts'
import { formatCount } from './format.ts'
import { findSpeech } from './locales/index.ts'
import { selectOffers } from './offer-choice.ts'
import type { BoxOptions } from './options.ts'
import { type Presentation, isPriceShown, toFrame, toHonesty, toOfferView } from './presentation.ts'

/**
 * The view of a where-to-buy box; `undefined` when there is nothing to show and the box hides. `asOfMs`: when the catalog gave the
 * product, Unix milliseconds.
 */
export function toBoxView(
  { product, asOfMs }: Readonly<{ product: Product; asOfMs: number }>,
  options: BoxOptions,
  presentation: Presentation,
) {
  const offers = selectOffers(product.offers, options)
  if (offers.length === 0) return undefined
  const { title, brand, images, gtin } = product
  const speech = findSpeech(options.locale)
  const { messages, words } = speech
  const isPriced = isPriceShown(asOfMs, presentation)
  const inStockCount = offers.filter((offer) => isInStock(offer)).length
  const rows = offers.map((offer, index) => ({
    isBest: index === 0 && isPriced && inStockCount > 1,
    linkText: words.toShop,
    ...toOfferView(offer, { gtin, isPriced, speech, surface: presentation.surface }),
  }))
  const more = rows.slice(options.limit)
  return {
    frame: toFrame(options, speech, presentation),
    layout: options.layout,
    /** Accessible name of the whole: `Where to buy Lumen Arc`. */
    label: messages.nameBox({ title }),
    heading: words.boxHeading,
    title,
    brand,
    imageUrl: images[0] ?? null,
    bestLabel: words.bestPrice,
    columns: words.columns,
    offers: rows.slice(0, options.limit),
    /** Folded offers; empty when all are shown. */
    more,
    moreLabel: messages.countMoreShops({
      count: more.length,
      shown: formatCount(more.length, speech.locale),
    }),
    honesty: toHonesty(asOfMs, words.boxOrder, speech, presentation),
    /** JSON-LD; `null` without `markup=schema`. */
    schema: options.markup === 'schema' && isPriced ? toSchema(product, offers) : null,
  }
}

/** schema.org `Product` with `AggregateOffer`, equal to what the box shows: one currency, its shops, its prices. */
export function toSchema(product: Product, offers: readonly Offer[]): object {
  const prices = offers.map((offer) => offer.price).sort(comparePrices)
  return {
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
}
