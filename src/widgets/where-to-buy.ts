import type { Offer, Product } from '../catalog/contract.ts'
import { comparePrices } from '../offers/money.ts'
import { isInStock } from '../offers/ranking.ts'
import { formatCount } from './format.ts'
import { selectOffers } from './offer-choice.ts'
import type { BoxOptions, Surface } from './options.ts'
import { type Speech, findSpeech } from './locales/index.ts'
import {
  type Presentation,
  isPriceShown,
  toAvailabilityView,
  toFrame,
  toGo,
  toHonesty,
  toLinkLabel,
  toPriceView,
} from './presentation.ts'
import type { BoxView, OfferView } from './view-models.ts'

/** A product and when the catalog gave it, Unix milliseconds. */
export type BoxData = Readonly<{ product: Product; asOfMs: number }>

/** The view of a where-to-buy box; `undefined` when there is nothing to show and the box hides. */
export function toBoxView(
  data: BoxData,
  options: BoxOptions,
  presentation: Presentation,
): BoxView | undefined {
  const offers = selectOffers(data.product.offers, options)
  if (offers.length === 0) return undefined
  const speech = findSpeech(options.locale)
  const isShown = isPriceShown(data.asOfMs, presentation)
  const rows = toRows(offers, speech, {
    isShown,
    gtin: data.product.gtin,
    surface: presentation.surface,
  })
  const { title, brand, images } = data.product
  const { messages, words, locale } = speech
  const more = rows.slice(options.limit)
  return {
    frame: toFrame(options, speech, presentation),
    layout: options.layout,
    label: messages.nameBox({ title }),
    heading: words.boxHeading,
    title,
    brand,
    imageUrl: images[0] ?? null,
    bestLabel: words.bestPrice,
    columns: words.columns,
    offers: rows.slice(0, options.limit),
    more,
    moreLabel: messages.countMoreShops({ count: more.length, shown: formatCount(more.length, locale) }),
    honesty: toHonesty(data.asOfMs, words.boxOrder, { speech, presentation }),
    schema: options.markup === 'schema' && isShown ? toSchemaText(data.product, offers) : null,
  }
}

function toRows(
  offers: readonly Offer[],
  speech: Speech,
  { isShown, ...place }: Readonly<{ isShown: boolean; gtin: string; surface: Surface }>,
): OfferView[] {
  const inStockCount = offers.filter((offer) => isInStock(offer)).length
  return offers.map((offer, index) => {
    const price = isShown ? toPriceView(offer, speech) : null
    return {
      merchant: offer.merchant,
      href: offer.affiliateUrl,
      price,
      seePrice: speech.words.seePrice,
      availability: toAvailabilityView(offer, speech),
      isBest: index === 0 && isShown && inStockCount > 1,
      linkLabel: toLinkLabel(offer, price, speech),
      linkText: speech.words.toShop,
      go: toGo(offer, place),
    }
  })
}

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
