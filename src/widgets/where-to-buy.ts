import type { Product } from '../catalog/contract.ts'
import { type PriceRules, createPriceCheck, findPriceTimes } from '../offers/price-age.ts'
import { isInStock } from '../offers/ranking.ts'
import { formatCount } from './format.ts'
import { getLocalization } from './locales/index.ts'
import { selectOffers } from './offer-selection.ts'
import type { BoxOptions } from './options.ts'
import { toPictureView } from './picture.ts'
import { type ViewContext, toWrapperView, toNoticesView, toOfferView } from './view-parts.ts'
import { toSchemaOrgProduct } from './schema-org.ts'

/**
 * Build the view of a where-to-buy box; `undefined` when it is hidden. `asOfMs`: when the catalog returned the product, Unix
 * milliseconds.
 */
export function toBoxView(
  { product, asOfMs }: Readonly<{ product: Product; asOfMs: number }>,
  options: BoxOptions,
  viewContext: ViewContext,
) {
  const isPriced = createPriceCheck(asOfMs, viewContext)
  const offers = selectOffers(product.offers, options, isPriced)
  if (offers.length === 0) return undefined
  const priced = offers.filter(isPriced)
  const { checkedAtMs } = findPriceTimes(
    offers.map((offer) => ({ offer, asOfMs })),
    viewContext,
  )
  const { title, brand, images, gtin } = product
  const localization = getLocalization(options.locale)
  const { messages, texts } = localization
  const inStockCount = priced.filter((offer) => isInStock(offer)).length
  const rows = offers.map((offer, index) => ({
    isBest: index === 0 && inStockCount > 1,
    linkText: texts.toShop,
    ...toOfferView(offer, { gtin, isPriced: isPriced(offer), localization, surface: viewContext.surface }),
  }))
  const more = rows.slice(options.limit)
  return {
    wrapper: toWrapperView(options, localization, viewContext),
    layout: options.layout,
    /** Accessible name of the box: `Where to buy Lumen Arc`. */
    label: messages.formatBoxLabel({ title }),
    heading: texts.boxHeading,
    title,
    brand,
    picture: toPictureView(images[0] ?? null, options.layout === 'card' ? 320 : 96, viewContext),
    bestLabel: texts.bestPrice,
    columns: texts.columns,
    offers: rows.slice(0, options.limit),
    /** Folded offers; empty when all are shown. */
    more,
    moreLabel: messages.formatMoreShops({
      count: more.length,
      shown: formatCount(more.length, localization.locale),
    }),
    notices: toNoticesView(checkedAtMs ?? asOfMs, texts.boxOrder, localization, viewContext),
    /** JSON-LD; `null` without `markup=schema`. */
    schema: options.markup === 'schema' && priced.length > 0 ? toSchemaOrgProduct(product, priced) : null,
  }
}

/** Find the times of the offers that a box shows. */
export function findBoxTimes(
  { product, asOfMs }: Readonly<{ product: Product; asOfMs: number }>,
  options: BoxOptions,
  rules: PriceRules,
): ReturnType<typeof findPriceTimes> {
  const offers = selectOffers(product.offers, options, createPriceCheck(asOfMs, rules))
  return findPriceTimes(
    offers.map((offer) => ({ offer, asOfMs })),
    rules,
  )
}
