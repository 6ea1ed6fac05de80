import { computeNextMidnightUtcMs } from '../clock.ts'
import type { PriceSeries } from '../offers/price-history.ts'
import type { BoxAddress } from './address.ts'
import {
  type FoundProduct,
  type OpenChannel,
  combineProducts,
  isHiddenByNetworks,
  openChannel,
  selectProducts,
} from './found-products.ts'
import { CHANNEL_GONE_REASON, explainHiddenProducts, explainMissingProducts } from './hidden-reasons.ts'
import { expandShops } from './offer-selection.ts'
import type { BoxOptions, OptionDefaults } from './options.ts'
import type { ShownProduct } from './picks.ts'
import { limitBoxRows } from './row-limits.ts'
import type { ViewContext } from './view-parts.ts'
import type { BoxView } from './view-models.ts'
import { toBoxHistory, toBoxView } from './where-to-buy.ts'
import {
  PARTIAL_VALID_MS,
  type Widget,
  type WidgetDetails,
  createDigestFunction,
  createViewContext,
  limitToPrices,
} from './widget.ts'

/** Read the data of a box. @throws UnknownChannelError, UnavailableError */
export async function getBox(
  details: WidgetDetails,
  defaults: OptionDefaults,
  address: BoxAddress,
): Promise<Widget<BoxView>> {
  const options = expandShops(address.options, details.shops)
  const { channel, isGone, isOutdated, deadlineMs, findProduct } = await openChannel(details, address)
  const viewContext = createViewContext(details, address)
  const { products, shown, isStandIn } = await findBoxProducts(findProduct, address.gtins, {
    options,
    viewContext,
  })
  const combined = combineProducts({ products, shown, isGone, options }, viewContext)
  const [main, ...variants] = shown
  const observed = await findBoxHistory(details, options, { channelId: channel.id, deadlineMs, main })
  const history =
    main === undefined ? null : toBoxHistory({ ...main, series: observed.series }, options, viewContext)
  const validUntilMs = Math.min(combined.validUntilMs, observed.validUntilMs)
  const hiddenState = combined.productStates.some(({ state }) => state === 'other-network')
    ? 'other-network'
    : 'hidden'
  const explainDetails = { options, defaults, shops: details.shops }
  return {
    address,
    computeDigest: createDigestFunction(
      [...combined.digestState, ...(history === null ? [] : [JSON.stringify(history)])],
      combined.digestData,
    ),
    get hiddenReason() {
      return isGone
        ? CHANNEL_GONE_REASON
        : explainHiddenProducts(products, combined.productStates, explainDetails)
    },
    get missingReason() {
      return explainMissingProducts(products, combined.productStates, explainDetails)
    },
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
    validUntilMs: limitToPrices(details, validUntilMs, combined),
    isOutdated,
    isPartial: combined.isPartial || observed.isPartial,
  }
}

/** `products`: all that were looked up; `shown`: those with offers, first the one that the box is about. */
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
  // A sentence has no fold for other variants.
  const ofLayout = options.layout === 'inline' ? selected.slice(0, 1) : selected
  const shown = limitBoxRows(ofLayout, options, viewContext)
  if (shown.length > 0) return { products, shown, isStandIn: false }
  // A product that is unavailable may be sold, and one of other networks is: nothing stands in for it.
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
  { histories, clock }: WidgetDetails,
  { history: shownHistory }: Pick<BoxOptions, 'history'>,
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
