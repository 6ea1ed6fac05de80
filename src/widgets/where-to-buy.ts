import type { Product } from '../catalog/contract.ts'
import { isInStock } from '../offers/ranking.ts'
import { formatCount } from './format.ts'
import { findSpeech } from './locales/index.ts'
import { selectOffers } from './offer-choice.ts'
import type { BoxOptions } from './options.ts'
import { type Presentation, isPriceShown, toFrame, toHonesty, toOfferView } from './presentation.ts'
import { toSchema } from './schema.ts'

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
