import type { Offer, Product } from '../catalog/contract.ts'
import { type PriceRules, createPriceCheck, findPriceTimes } from '../offers/price-age.ts'
import { type PriceSeries, addPresentPrices, collectPrices, toDay } from '../offers/price-history.ts'
import { isInStock } from '../offers/ranking.ts'
import type { ShopBook } from '../offers/shop-book.ts'
import { formatCount } from './format.ts'
import { type HistoryView, toHistoryView } from './history.ts'
import { type Localization, getLocalization } from './locales/index.ts'
import { isMerchantSelected, selectOffers } from './offer-selection.ts'
import type { BoxOptions } from './options.ts'
import { toBoxPictureView } from './picture.ts'
import {
  type ViewContext,
  findShownBrand,
  toHeaderView,
  toNoticesView,
  toOfferView,
  toWrapperView,
} from './view-parts.ts'
import { toSchemaOrgProduct } from './schema-org.ts'

/** `asOfMs`: when the catalog returned the product, Unix milliseconds. `history`: `null` or absent when nothing is shown. */
type BoxData = Readonly<{ product: Product; asOfMs: number; history?: HistoryView | null }>

/** Build the view of a where-to-buy box; `undefined` when it is hidden. */
export function toBoxView(
  { product, asOfMs, history = null }: BoxData,
  options: BoxOptions,
  viewContext: ViewContext,
) {
  const isPriced = createPriceCheck(asOfMs, viewContext)
  const offers = selectOffers(product.offers, options, { isPriced, shops: viewContext.shops })
  if (offers.length === 0) return undefined
  const priced = offers.filter(isPriced)
  const { checkedAtMs } = findPriceTimes(
    offers.map((offer) => ({ offer, asOfMs })),
    viewContext,
  )
  const { title, images, gtin } = product
  const localization = getLocalization(options.locale)
  const { messages, texts } = localization
  const inStockCount = priced.filter((offer) => isInStock(offer)).length
  const rows = offers.map((offer, index) => ({
    isBest: index === 0 && inStockCount > 1,
    linkText: texts.toShop,
    ...toOfferView(offer, { gtin, isPriced: isPriced(offer), localization, viewContext }),
  }))
  const more = rows.slice(options.limit)
  const header = toHeaderView(options, texts.boxHeading, viewContext)
  return {
    wrapper: toWrapperView(options, localization, viewContext),
    layout: options.layout,
    /** Accessible name of the box: `Where to buy Lumen Arc`. */
    label: options.heading === null ? messages.formatBoxLabel({ title }) : `${options.heading}: ${title}`,
    header,
    title,
    brand: findShownBrand(product),
    picture: toBoxPictureView(images[0] ?? null, options.layout, viewContext),
    lowestLabel: texts.lowestPrice,
    columns: texts.columns,
    /** Whether any shop has a logo: then the others have their initial in its place. */
    hasLogos: rows.some(({ logo }) => logo.url !== null),
    offers: rows.slice(0, options.limit),
    /** Folded offers; empty when all are shown. */
    more,
    moreLabel: messages.formatMoreShops({
      count: more.length,
      shown: formatCount(more.length, localization.locale),
    }),
    /** The text of the layout `inline`: `from EUR 199.00 at Novabruck`. */
    sentence: formatSentence(rows, localization),
    /** `null` without the option, without data, and before 30 observed days. */
    history,
    disclosureMark: header.disclosure === null ? null : texts.disclosureMark,
    notices: toNoticesView(
      { checkedAtMs: checkedAtMs ?? asOfMs, order: listOrder(offers, localization), offers: rows },
      localization,
      viewContext,
    ),
    /** JSON-LD; `null` without `markup=schema`. */
    schema:
      options.markup === 'schema' && priced.length > 0
        ? toSchemaOrgProduct(product, listSchemaOffers(priced, options))
        : null,
  }
}

/**
 * Build the view of the observed prices of all merchants that the options select, in the currency of the box: also of those that no
 * longer sell the product. `null` when nothing is shown.
 */
export function toBoxHistory(
  { product, asOfMs, series }: BoxData & Readonly<{ series: readonly PriceSeries[] | null }>,
  options: BoxOptions,
  viewContext: PriceRules & Readonly<{ shops: ShopBook }>,
): HistoryView | null {
  if (series === null || options.history === 'none') return null
  const isPriced = createPriceCheck(asOfMs, viewContext)
  const [first] = selectOffers(product.offers, options, { isPriced, shops: viewContext.shops })
  if (first === undefined) return null
  const { currency } = first
  const present = collectPrices(product.offers, isPriced)
  const selected = addPresentPrices(series, present, toDay(asOfMs)).filter(
    (one) => one.currency === currency && isMerchantSelected(one.merchantKey, options),
  )
  return toHistoryView(
    { series: selected, currency, today: toDay(viewContext.nowMs) },
    options,
    getLocalization(options.locale),
  )
}

/** Search engines want markup of what readers can see: folded offers can be opened, those of a sentence cannot. */
function listSchemaOffers(priced: readonly Offer[], { layout }: BoxOptions): readonly Offer[] {
  return layout === 'inline' ? priced.slice(0, 1) : priced
}

/** Say how the offers are ordered. When all are in stock, this is said once and not at each offer. */
function listOrder(offers: readonly Offer[], { texts }: Localization): readonly string[] {
  return offers.length > 1 && offers.every((offer) => isInStock(offer))
    ? [texts.allInStock, texts.gridOrder.price]
    : [texts.boxOrder]
}

function formatSentence(
  rows: readonly Pick<ReturnType<typeof toOfferView>, 'merchant' | 'price'>[],
  { messages }: Localization,
): string {
  const [first] = rows
  if (first?.price === undefined || first.price === null) return ''
  const format = rows.length > 1 ? messages.formatInlineFrom : messages.formatInlineOffer
  return format({ merchant: first.merchant, price: first.price.price })
}

/** Find the times of the offers that a box shows. */
export function findBoxTimes(
  { product, asOfMs }: BoxData,
  options: BoxOptions,
  rules: PriceRules & Readonly<{ shops: ShopBook }>,
): ReturnType<typeof findPriceTimes> {
  const isPriced = createPriceCheck(asOfMs, rules)
  const offers = selectOffers(product.offers, options, { isPriced, shops: rules.shops })
  return findPriceTimes(
    offers.map((offer) => ({ offer, asOfMs })),
    rules,
  )
}
