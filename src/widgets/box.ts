import type { Offer, Product } from '../catalog/contract.ts'
import { computeNextMidnightUtcMs } from '../clock.ts'
import { comparePrices } from '../offers/money.ts'
import { type PriceRules, createPriceCheck, findSaleEndMs } from '../offers/price-age.ts'
import { type PriceSeries, addPresentPrices, collectPrices, toDay } from '../offers/price-history.ts'
import { isInStock } from '../offers/ranking.ts'
import type { BoxAddress } from './address.ts'
import { formatCount } from './format.ts'
import { createExplanations } from './hidden-reasons.ts'
import { type HistoryView, toHistoryView } from './history.ts'
import { type Localization, type TextPart, getLocalization } from './locales/index.ts'
import {
  type FoundProduct,
  isHiddenByNetworks,
  selectProducts,
  expandShops,
  type ShownProduct,
  limitBoxRows,
  isMerchantSelected,
  type SelectedProduct,
  findProductTimes,
} from './offer-selection.ts'
import type { BoxOptions, OptionDefaults } from './options.ts'
import { findMainImage, toBoxPictureView } from './picture.ts'
import {
  type ViewContext,
  toOfferRows,
  toOmittedView,
  toProductRow,
  findShownBrand,
  toHeaderView,
  toNoticesView,
  type toOfferView,
  toWrapperView,
} from './view-parts.ts'
import {
  type OpenChannel,
  combineProducts,
  openChannel,
  PARTIAL_VALID_MS,
  type Widget,
  type WidgetsOptions,
  createDigestFunction,
  createViewContext,
  computeValidUntilMs,
} from './widget.ts'

/** Read the data of a box. @throws UnknownChannelError, UnavailableError */
export async function getBox(
  dependencies: WidgetsOptions,
  defaults: OptionDefaults,
  address: BoxAddress,
): Promise<Widget<BoxView>> {
  const { channel, isGone, isOutdated, deadlineMs, findProduct } = await openChannel(dependencies, address)
  const viewContext = createViewContext(dependencies, address)
  const options = expandShops(address.options, dependencies.shops)
  const { products, shown, isStandIn } = await findBoxProducts(findProduct, address.gtins, {
    options,
    viewContext,
  })
  const [main, ...variants] = shown
  const observed = await findBoxHistory(
    dependencies,
    // A newsletter shows none.
    address.surface === 'mail' ? 'none' : options.history,
    { channelId: channel.id, deadlineMs, main },
  )
  const history =
    main === undefined ? null : toBoxHistory({ ...main, series: observed.series }, options, viewContext)
  const combined = combineProducts({ products, shown, isGone, options }, viewContext)
  const hiddenState = combined.productStates.some(({ state }) => state === 'other-network')
    ? 'other-network'
    : 'hidden'
  return {
    address,
    computeDigest: createDigestFunction(
      [...combined.digestState, ...(history === null ? [] : [JSON.stringify(history)])],
      combined.digestData,
    ),
    validUntilMs: computeValidUntilMs(
      dependencies,
      Math.min(combined.validUntilMs, observed.validUntilMs),
      combined,
    ),
    ...createExplanations(products, combined.productStates, {
      options: address.options,
      defaults,
      shops: dependencies.shops,
      isGone,
    }),
    gtins: products.map(({ gtin }) => gtin),
    productStates: address.gtins.map((gtin) => ({ gtin, state: main === undefined ? hiddenState : 'shown' })),
    isShown: main !== undefined,
    getView: () =>
      main === undefined
        ? undefined
        : toBoxView({ ...main, history, variants, isStandIn }, options, viewContext),
    channel,
    asOfMs: combined.asOfMs,
    oldestPriceMs: combined.oldestPriceMs,
    saleEndMs: combined.saleEndMs,
    status: combined.status,
    isOutdated,
    isPartial: combined.isPartial || observed.isPartial,
  }
}

/** `products`: all that decide what is shown; `shown`: those with offers, first the one that the box is about. */
type BoxProducts = Readonly<{
  products: readonly FoundProduct[]
  shown: readonly ShownProduct[]
  isStandIn: boolean
}>

/** Find the variants of a product; when no shop sells one of them, the first stand-in that a shop sells. */
async function findBoxProducts(
  findProduct: OpenChannel['findProduct'],
  gtins: readonly string[],
  { options, viewContext }: Readonly<{ options: BoxOptions; viewContext: ViewContext }>,
): Promise<BoxProducts> {
  const products = await Promise.all(gtins.map(findProduct))
  const selected = selectProducts(products, options, viewContext)
  const [first] = selected
  if (options.layout === 'inline' && first !== undefined) {
    // A sentence has no fold for later variants, so they cannot change it, and are not missing.
    const end = products.findIndex(({ gtin }) => gtin === first.product.gtin) + 1
    return {
      products: products.slice(0, end),
      shown: limitBoxRows([first], options, viewContext),
      isStandIn: false,
    }
  }
  const shown = limitBoxRows(selected, options, viewContext)
  if (shown.length > 0) return { products, shown, isStandIn: false }
  // No stand-in for a product that is unavailable, so perhaps sold, or that another network sells.
  const isSold = (product: FoundProduct): boolean => isHiddenByNetworks(product, options, viewContext)
  if (products.some((product) => product.failure !== null || isSold(product)))
    return { products, shown, isStandIn: false }
  for (const gtin of options.standIns.filter((one) => !gtins.includes(one))) {
    const product = await findProduct(gtin)
    products.push(product)
    const standIn = limitBoxRows(selectProducts([product], options, viewContext), options, viewContext)
    if (standIn.length > 0) return { products, shown: standIn, isStandIn: true }
  }
  return { products, shown: [], isStandIn: false }
}

/** `series`: `null` when they are not shown, or could not be read. */
type BoxHistory = Pick<Widget<unknown>, 'validUntilMs' | 'isPartial'> &
  Readonly<{ series: readonly PriceSeries[] | null }>

const NO_HISTORY: BoxHistory = { series: null, validUntilMs: Infinity, isPartial: false }

async function findBoxHistory(
  { histories, clock }: WidgetsOptions,
  shownHistory: BoxOptions['history'],
  { main, ...request }: Readonly<{ channelId: string; deadlineMs: number; main: ShownProduct | undefined }>,
): Promise<BoxHistory> {
  if (shownHistory === 'none' || main === undefined) return NO_HISTORY
  const { product, asOfMs } = main
  const history = await histories.findHistory({ ...request, gtin: product.gtin, asOfMs })
  const nowMs = clock.nowMs()
  if (history === undefined) return { series: null, validUntilMs: nowMs + PARTIAL_VALID_MS, isPartial: true }
  // The next day has another last day of the chart, and can have another year.
  const validUntilMs = Math.min(history.validUntilMs, computeNextMidnightUtcMs(nowMs))
  return { series: history.series, validUntilMs, isPartial: false }
}

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

export type BoxView = ReturnType<typeof toBoxView>
export type OfferView = BoxView['offers'][number]

/** Build the view of a where-to-buy box. */
export function toBoxView(boxData: BoxData, options: BoxOptions, viewContext: ViewContext) {
  const { product, asOfMs, offers, history = null, variants = [], isStandIn = false } = boxData
  const priced = offers.filter(createPriceCheck(asOfMs, viewContext))
  const { checkedAtMs } = findProductTimes([boxData, ...variants], viewContext)
  const { title, images } = product
  const localization = getLocalization(options.locale)
  const { messages, texts } = localization
  const order = listOrder(offers, variants, localization)
  const rows = toOfferRows(boxData, { localization, viewContext })
  const variantsView = toVariantsView(variants, { localization, viewContext })
  const allRows = [...rows, ...listFirstOffers(variantsView)]
  const { visible, more, omittedCount } = splitRows(rows, boxData.offerCount, options)
  const header = toHeaderView(options, texts.boxHeading, viewContext)
  return {
    kind: 'where-to-buy' as const,
    wrapper: toWrapperView(options, localization, viewContext),
    header,
    notices: toNoticesView(
      { checkedAtMs: checkedAtMs ?? asOfMs, order, offers: allRows },
      localization,
      viewContext,
    ),
    /** Offers that are not even folded; `null`: none. */
    omitted: toOmittedView(omittedCount, localization),
    picture: toBoxPictureView(findMainImage(images, viewContext), options.layout, viewContext),
    layout: options.layout,
    /** Accessible name of the box: `Where to buy Lumen Arc`. */
    label: formatLabel(title, options, localization),
    gtin: product.gtin,
    title,
    /** `Not available. Instead: Lumen Arc`; `null` for the product itself. */
    standIn: isStandIn ? messages.formatStandIn({ title }) : null,
    brand: findShownBrand(product),
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
    /** Folded variants; `null` without any. */
    variants: variantsView,
    /** The text of the layout `inline`: `from EUR 199.00 at Novabruck`; of a stand-in, with its title. Empty without a price. */
    sentence: toSentence(rows, boxData.isLowestOfSeveral, {
      standInTitle: isStandIn ? title : null,
      localization,
    }),
    /** `null` without the option, without data, and before 30 observed days. */
    history,
    disclosureMark: header.disclosure === null ? null : texts.disclosureMark,
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
  options: Readonly<{ localization: Localization; viewContext: ViewContext }>,
) {
  const rows = variants.flatMap(
    (variant) => toProductRow(variant, { ...options, widthPx: VARIANT_PICTURE_PX }) ?? [],
  )
  const { messages, locale } = options.localization
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

/** Say how several offers are ordered. When all are in stock, also those of variants, this is said once and not at each offer. */
function listOrder(
  offers: readonly Offer[],
  variants: readonly ShownProduct[],
  { texts }: Localization,
): readonly string[] {
  if (offers.length < 2) return []
  if (!offers.some(isInStock)) return [texts.gridOrder.price]
  const all = [...offers, ...variants.flatMap((variant) => variant.offers)]
  return all.every(isInStock) ? [texts.allInStock, texts.gridOrder.price] : [texts.boxOrder]
}

/** Return the lowest price in stock; empty without any. `standInTitle`: the title of a stand-in; `null` for the product itself. */
function toSentence(
  rows: readonly Pick<ReturnType<typeof toOfferView>, 'merchant' | 'price' | 'availability'>[],
  isLowestOfSeveral: boolean,
  {
    standInTitle,
    localization: { messages },
  }: Readonly<{ standInTitle: string | null; localization: Localization }>,
): readonly TextPart[] {
  const [first] = rows
  if (first === undefined || first.price === null || first.availability.kind !== 'in') return []
  const split = isLowestOfSeveral ? messages.splitInlineFrom : messages.splitInlineOffer
  const sentence = split({ merchant: first.merchant, price: first.price.price })
  if (standInTitle === null) return sentence
  return messages
    .splitStandIn({ title: standInTitle })
    .flatMap((part) =>
      part.placeholder === null ? [part] : [part, { text: ', ', placeholder: null }, ...sentence],
    )
}

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
