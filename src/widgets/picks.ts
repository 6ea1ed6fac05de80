import type { PicksAddress } from './address.ts'
import { formatCount } from './format.ts'
import { createExplanations } from './hidden-reasons.ts'
import { getLocalization } from './locales/index.ts'
import {
  selectProducts,
  expandShops,
  limitPicksRows,
  type ShownProduct,
  findProductTimes,
} from './offer-selection.ts'
import type { PicksLayout } from './option-list.ts'
import type { OptionDefaults, PicksOptions } from './options.ts'
import { toProductRow, type ViewContext, toHeaderView, toNoticesView, toWrapperView } from './view-parts.ts'
import {
  combineProducts,
  openChannel,
  type Widget,
  type WidgetsOptions,
  createDigestFunction,
  createViewContext,
  computeValidUntilMs,
} from './widget.ts'

/** Read the data of a round-up. @throws UnknownChannelError, UnavailableError */
export async function getPicks(
  dependencies: WidgetsOptions,
  defaults: OptionDefaults,
  address: PicksAddress,
): Promise<Widget<PicksView>> {
  const { gtins } = address
  const options = expandShops(address.options, dependencies.shops)
  const { channel, isGone, isOutdated, findProduct } = await openChannel(dependencies, address)
  const products = await Promise.all(gtins.map(findProduct))
  const viewContext = createViewContext(dependencies, address)
  const shown = limitPicksRows(selectProducts(products, options, viewContext), viewContext)
  const combined = combineProducts({ products, shown, isGone, options }, viewContext)
  const labelled = shown.map((one) => ({
    ...one,
    label: options.labels[gtins.indexOf(one.product.gtin)] || null,
  }))
  return {
    address,
    computeDigest: createDigestFunction(combined.digestState, combined.digestData),
    ...createExplanations(products, combined.productStates, {
      options: address.options,
      defaults,
      shops: dependencies.shops,
      isGone,
    }),
    gtins,
    productStates: combined.productStates,
    isShown: shown.length > 0,
    getView: () => toPicksView(labelled, options, viewContext),
    channel,
    asOfMs: combined.asOfMs,
    oldestPriceMs: combined.oldestPriceMs,
    saleEndMs: combined.saleEndMs,
    status: combined.status,
    validUntilMs: computeValidUntilMs(dependencies, combined.validUntilMs, combined),
    isOutdated,
    isPartial: combined.isPartial,
  }
}

/** Widths of the pictures, CSS pixels. */
const PICTURE_WIDTHS_PX: Readonly<Record<PicksLayout, number>> = { rank: 144, table: 72, row: 72 }

/** `label`: `null` for none. */
type LabelledProduct = ShownProduct & Readonly<{ label: string | null }>

export type PicksView = NonNullable<ReturnType<typeof toPicksView>>

/** Build the view of a round-up; `undefined` without products. */
export function toPicksView(
  shown: readonly LabelledProduct[],
  options: PicksOptions,
  viewContext: ViewContext,
) {
  const localization = getLocalization(options.locale)
  const { texts } = localization
  const header = toHeaderView(options, texts.picksHeading, viewContext)
  const rowOptions = { localization, viewContext, widthPx: PICTURE_WIDTHS_PX[options.layout] }
  const rows = shown.flatMap((one) => {
    const row = toProductRow(one, rowOptions)
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
    kind: 'picks' as const,
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
