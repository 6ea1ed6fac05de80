import type { Offer } from '../catalog/contract.ts'
import { type PriceRules, createPriceCheck } from '../offers/price-age.ts'
import { type PriceSeries, addPresentPrices, collectPrices, toDay } from '../offers/price-history.ts'
import { isInStock } from '../offers/ranking.ts'
import { formatCount } from './format.ts'
import { type HistoryView, toHistoryView } from './history.ts'
import { type Localization, type TextPart, getLocalization } from './locales/index.ts'
import { isMerchantSelected } from './offer-selection.ts'
import type { BoxOptions } from './options.ts'
import {
  type SelectedProduct,
  type ShownProduct,
  findProductTimes,
  toOfferRows,
  toOmittedView,
  toProductRow,
} from './picks.ts'
import { findMainImage, toBoxPictureView } from './picture.ts'
import {
  type ViewContext,
  findShownBrand,
  toHeaderView,
  toNoticesView,
  type toOfferView,
  toWrapperView,
} from './view-parts.ts'
import { toSchemaOrgProduct } from './schema-org.ts'

/** `history`: `null` or absent when nothing is shown. */
type BoxData = ShownProduct &
  Readonly<{
    history?: HistoryView | null
    /** Other variants of the product, in the order of the address. */
    variants?: readonly ShownProduct[]
    /** Whether the product stands in for one that no shop sells. */
    isStandIn?: boolean
  }>

/** Width of the picture of a variant, CSS pixels. */
const VARIANT_PICTURE_PX = 72

/** Build the view of a where-to-buy box. */
export function toBoxView(boxData: BoxData, options: BoxOptions, viewContext: ViewContext) {
  const { product, asOfMs, offers, history = null, variants = [], isStandIn = false } = boxData
  const priced = offers.filter(createPriceCheck(asOfMs, viewContext))
  const { checkedAtMs } = findProductTimes([boxData, ...variants], viewContext)
  const { title, images } = product
  const localization = getLocalization(options.locale)
  const { messages, texts } = localization
  const rows = toOfferRows(boxData, { localization, viewContext })
  const { visible, more, omittedCount } = splitRows(rows, boxData.offerCount, options)
  const header = toHeaderView(options, texts.boxHeading, viewContext)
  const variantsView = toVariantsView(variants, { localization, viewContext })
  const allRows = [...rows, ...listFirstOffers(variantsView)]
  return {
    wrapper: toWrapperView(options, localization, viewContext),
    layout: options.layout,
    /** Accessible name of the box: `Where to buy Lumen Arc`. */
    label: formatLabel(title, options, localization),
    header,
    gtin: product.gtin,
    title,
    /** `Not available. Instead: Lumen Arc`; `null` for the product itself. */
    standIn: isStandIn ? messages.formatStandIn({ title }) : null,
    brand: findShownBrand(product),
    picture: toBoxPictureView(findMainImage(images, viewContext), options.layout, viewContext),
    lowestLabel: texts.lowestPrice,
    columns: texts.columns,
    /** Whether any shop has a logo: then the others have their initial in its place. */
    hasLogos: allRows.some(({ logo }) => logo.url !== null),
    offers: visible,
    /** Folded offers; empty when all are shown. */
    more,
    moreLabel: messages.formatMoreShops({
      count: more.length + omittedCount,
      shown: formatCount(more.length + omittedCount, localization.locale),
    }),
    /** Offers that are not even folded; `null`: none. */
    omitted: toOmittedView(omittedCount, localization),
    /** Folded variants; `null` without any. */
    variants: variantsView,
    /** The text of the layout `inline`: `from EUR 199.00 at Novabruck`; of a stand-in, with its title. Empty without a price. */
    sentence: toSentence(rows, boxData.offerCount, {
      standInTitle: isStandIn ? title : null,
      localization,
    }),
    /** `null` without the option, without data, and before 30 observed days. */
    history,
    disclosureMark: header.disclosure === null ? null : texts.disclosureMark,
    notices: toNoticesView(
      {
        checkedAtMs: checkedAtMs ?? asOfMs,
        order: listOrder(offers, localization),
        offers: allRows,
      },
      localization,
      viewContext,
    ),
    /** JSON-LD; `null` without `markup=schema`, and for a stand-in, which is not the product of the page. */
    schema: toSchema(boxData, priced, options),
  }
}

/** A sentence shows the first offer, and has no fold. `offerCount`: also of those without a row. */
function splitRows<Row>(
  rows: readonly Row[],
  offerCount: number,
  { layout, limit }: Pick<BoxOptions, 'layout' | 'limit'>,
) {
  return layout === 'inline'
    ? { visible: rows.slice(0, 1), more: [], omittedCount: 0 }
    : { visible: rows.slice(0, limit), more: rows.slice(limit), omittedCount: offerCount - rows.length }
}

function toVariantsView(
  variants: readonly ShownProduct[],
  details: Readonly<{ localization: Localization; viewContext: ViewContext }>,
) {
  const rows = variants.flatMap(
    (variant) => toProductRow(variant, { ...details, widthPx: VARIANT_PICTURE_PX }) ?? [],
  )
  const { messages, locale } = details.localization
  const shown = formatCount(rows.length, locale)
  return rows.length === 0
    ? null
    : { label: messages.formatMoreVariants({ count: rows.length, shown }), rows }
}

const listFirstOffers = (view: ReturnType<typeof toVariantsView>): ReturnType<typeof toOfferRows> =>
  view === null ? [] : view.rows.map(({ offer }) => offer)

/**
 * Build the view of the observed prices of all merchants that the options select, in the currency of the box: also of those that no
 * longer sell the product. `null` when nothing is shown.
 */
export function toBoxHistory(
  { product, asOfMs, offers, series }: SelectedProduct & Readonly<{ series: readonly PriceSeries[] | null }>,
  options: BoxOptions,
  rules: PriceRules,
): HistoryView | null {
  const [first] = offers
  if (series === null || first === undefined || options.history === 'none') return null
  const { currency } = first
  const isPriced = createPriceCheck(asOfMs, rules)
  const present = collectPrices(product.offers, isPriced)
  const selected = addPresentPrices(series, present, toDay(asOfMs)).filter(
    (one) => one.currency === currency && isMerchantSelected(one.merchantKey, options),
  )
  return toHistoryView(
    { series: selected, currency, today: toDay(rules.nowMs) },
    options,
    getLocalization(options.locale),
  )
}

function formatLabel(
  title: string,
  { heading }: Pick<BoxOptions, 'heading'>,
  { messages }: Localization,
): string {
  return heading === null ? messages.formatBoxLabel({ title }) : `${heading}: ${title}`
}

/** Search engines want markup of what readers can see: folded offers can be opened, those of a sentence cannot. */
function toSchema(
  { product, isStandIn = false }: BoxData,
  priced: readonly Offer[],
  { markup, layout }: BoxOptions,
): object | null {
  if (markup === 'none' || priced.length === 0 || isStandIn) return null
  return toSchemaOrgProduct(product, layout === 'inline' ? priced.slice(0, 1) : priced)
}

/** Say how several offers are ordered. When all are in stock, this is said once and not at each offer. */
function listOrder(offers: readonly Offer[], { texts }: Localization): readonly string[] {
  if (offers.length < 2) return []
  const inStock = offers.filter((offer) => isInStock(offer)).length
  if (inStock === 0) return [texts.gridOrder.price]
  return inStock === offers.length ? [texts.allInStock, texts.gridOrder.price] : [texts.boxOrder]
}

/** `standInTitle`: the title of a stand-in; `null` for the product itself. */
function toSentence(
  rows: readonly Pick<ReturnType<typeof toOfferView>, 'merchant' | 'price'>[],
  offerCount: number,
  {
    standInTitle,
    localization: { messages },
  }: Readonly<{ standInTitle: string | null; localization: Localization }>,
): readonly TextPart[] {
  const [first] = rows
  if (first?.price === undefined || first.price === null) return []
  const split = offerCount > 1 ? messages.splitInlineFrom : messages.splitInlineOffer
  const sentence = split({ merchant: first.merchant, price: first.price.price })
  if (standInTitle === null) return sentence
  return messages
    .splitStandIn({ title: standInTitle })
    .flatMap((part) =>
      part.placeholder === null ? [part] : [part, { text: ', ', placeholder: null }, ...sentence],
    )
}
