import type { Offer, Product } from '../catalog/contract.ts'
import { type PriceRules, createPriceCheck, findPriceTimes } from '../offers/price-age.ts'
import type { ShopBook } from '../offers/shop-book.ts'
import { formatCount } from './format.ts'
import { type Localization, getLocalization } from './locales/index.ts'
import { type BoxFilters, selectOffers } from './offer-selection.ts'
import type { PicksLayout } from './option-list.ts'
import type { PicksOptions } from './options.ts'
import { findMainImage, toPictureView } from './picture.ts'
import {
  type ViewContext,
  findShownBrand,
  toHeaderView,
  toNoticesView,
  toOfferView,
  toWrapperView,
} from './view-parts.ts'

/** `asOfMs`: when the catalog returned the product, Unix milliseconds. */
export type DatedProduct = Readonly<{ product: Product; asOfMs: number }>

/** A product with the offers that the options select, at least one, in their order. */
export type SelectedProduct = DatedProduct & Readonly<{ offers: readonly Offer[] }>

/** A product with the offers that are listed of it: the first of those that are selected (`row-limits.ts`). */
export type ShownProduct = SelectedProduct &
  Readonly<{
    /** Selected offers. */
    offerCount: number
    /** Whether the first offer has the lowest price of several in stock. */
    isLowestOfSeveral: boolean
  }>

/** Select the offers of a product by the rules of a box; `undefined` when none is left. */
export function findShownProduct(
  { product, asOfMs }: DatedProduct,
  options: BoxFilters,
  { shops, ...rules }: PriceRules & Readonly<{ shops: ShopBook }>,
): SelectedProduct | undefined {
  const isPriced = createPriceCheck(asOfMs, rules)
  const offers = selectOffers(product.offers, options, { isPriced, shops })
  return offers.length === 0 ? undefined : { product, asOfMs, offers }
}

/** Find the times of the offers of several products. */
export function findProductTimes(
  shown: readonly SelectedProduct[],
  rules: PriceRules,
): ReturnType<typeof findPriceTimes> {
  return findPriceTimes(
    shown.flatMap(({ offers, asOfMs }) => offers.map((offer) => ({ offer, asOfMs }))),
    rules,
  )
}

/** Widths of the pictures, CSS pixels. */
const PICTURE_WIDTHS_PX: Readonly<Record<PicksLayout, number>> = { rank: 144, table: 72, row: 72 }

type OfferRowDetails = Readonly<{ localization: Localization; viewContext: ViewContext }>

/** Build the views of the listed offers of a product in their order. `isBest` marks the lowest price of several in stock. */
export function toOfferRows(
  { product: { gtin }, asOfMs, offers, isLowestOfSeveral }: ShownProduct,
  { localization, viewContext }: OfferRowDetails,
) {
  const isPriced = createPriceCheck(asOfMs, viewContext)
  return offers.map((offer, index) => ({
    isBest: index === 0 && isLowestOfSeveral,
    linkText: localization.texts.toShop,
    ...toOfferView(offer, { gtin, isPriced: isPriced(offer), localization, viewContext }),
  }))
}

/** Build the view of offers that are left out of a list that is too long; `null`: none. */
export function toOmittedView(count: number, { messages, locale }: Localization) {
  if (count === 0) return null
  return { count, label: messages.formatOmittedShops({ count, shown: formatCount(count, locale) }) }
}

/** Build the view of a product in a row or card: its first offer, and its shops in a fold; `undefined` without offers. */
export function toProductRow(
  shown: ShownProduct,
  { widthPx, ...details }: OfferRowDetails & Readonly<{ widthPx: number }>,
) {
  const rows = toOfferRows(shown, details)
  const [offer] = rows
  if (offer === undefined) return undefined
  const { product, offerCount } = shown
  const { messages, locale } = details.localization
  const count = { count: offerCount, shown: formatCount(offerCount, locale) }
  return {
    title: product.title,
    brand: findShownBrand(product),
    picture: toPictureView(findMainImage(product.images, details.viewContext), widthPx, details.viewContext),
    offer,
    /** The first offers, folded below "25 shops"; `null` for a single one. */
    shops:
      offerCount < 2
        ? null
        : {
            label: messages.formatShopCount(count),
            // The first one is shown above the fold.
            offers: rows.length < 2 ? [] : rows,
            omitted: toOmittedView(offerCount - rows.length, details.localization),
          },
  }
}

/** `label`: `null` for none. */
type LabelledProduct = ShownProduct & Readonly<{ label: string | null }>

/** Build the view of a round-up; `undefined` without products. */
export function toPicksView(
  shown: readonly LabelledProduct[],
  options: PicksOptions,
  viewContext: ViewContext,
) {
  const localization = getLocalization(options.locale)
  const { texts } = localization
  const header = toHeaderView(options, texts.picksHeading, viewContext)
  const rowDetails = { localization, viewContext, widthPx: PICTURE_WIDTHS_PX[options.layout] }
  const rows = shown.flatMap((one) => {
    const row = toProductRow(one, rowDetails)
    return row === undefined ? [] : [{ ...row, label: one.label }]
  })
  if (rows.length === 0) return undefined
  const products = rows.map((row, index) => ({
    ...row,
    number: formatCount(index + 1, localization.locale),
  }))
  const offers = products.map(({ offer }) => offer)
  // The first offer of a product is in stock if any is.
  const isAnyInStock = offers.some(({ availability }) => availability.kind === 'in')
  const order = isAnyInStock ? texts.boxOrder : texts.gridOrder.price
  return {
    wrapper: toWrapperView(options, localization, viewContext),
    layout: options.layout,
    label: header.heading,
    header,
    products,
    hasPictures: header.head === 'full',
    /** Whether any first shop has a logo: then the others have their initial in its place. */
    hasLogos: offers.some(({ logo }) => logo.url !== null),
    lowestLabel: texts.lowestPrice,
    columns: texts.columns,
    notices: toNoticesView(
      {
        checkedAtMs: findProductTimes(shown, viewContext).checkedAtMs ?? viewContext.nowMs,
        order: shown.some(({ offerCount }) => offerCount > 1) ? [order] : [],
        offers,
      },
      localization,
      viewContext,
    ),
  }
}
