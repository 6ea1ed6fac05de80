import type { Channel, Product } from '../catalog/contract.ts'
import { isFuture } from '../clock.ts'
import { StoreError, UnavailableError } from '../errors.ts'
import type { CacheStatus, Cached } from '../freshness/age.ts'
import { type PriceRules, createPriceCheck } from '../offers/price-age.ts'
import { foldCase } from '../offers/text.ts'
import type { WidgetAddress } from './address.ts'
import {
  type BoxFilters,
  type SelectedProduct,
  type ShownProduct,
  findProductTimes,
  findShownProduct,
} from './offer-selection.ts'
import type { ViewContext } from './view-parts.ts'
import {
  PARTIAL_VALID_MS,
  type ProductState,
  type WidgetDetails,
  findAllowedNetworks,
  toEmptyResult,
} from './widget.ts'

/**
 * The result for a product of an address. `found` is `null` when it is unavailable; its value is `null` when no shop sells it, and has
 * only the offers of allowed networks. `unfiltered` has the offers of all networks.
 */
export type FoundProduct = Readonly<{ gtin: string; unfiltered: Product | null }> &
  (Readonly<{ found: Cached<Product | null>; failure: null }> | Readonly<{ found: null; failure: Error }>)

/** The channel of an address, and a function that finds its products until one deadline. A removed channel has none. */
export type OpenChannel = Readonly<{
  channel: Channel
  isGone: boolean
  /** Whether another walk may be current than when the channel was opened. */
  isOutdated(): boolean
  /** For the list of channels, the products and their observed prices, Unix milliseconds. */
  deadlineMs: number
  findProduct(gtin: string): Promise<FoundProduct>
}>

/** @throws UnknownChannelError, UnavailableError */
export async function openChannel(
  details: WidgetDetails,
  { channelId, surface }: Pick<WidgetAddress, 'channelId' | 'surface'>,
): Promise<OpenChannel> {
  const { channels, copyChanges, products, clock, config } = details
  const networks = findAllowedNetworks(details, surface)
  const deadlineMs = clock.nowMs() + config.freshness.visitorTimeoutMs
  const { channel, isGone } = await channels.getChannel(channelId)
  const isOutdated = copyChanges.watch(channel.id)
  const findProduct = async (gtin: string): Promise<FoundProduct> => {
    if (isGone) return { gtin, unfiltered: null, found: toEmptyResult(details, null), failure: null }
    try {
      const found = await products.getProduct(channel.id, gtin, deadlineMs)
      const allowed = networks === null ? found : keepNetworks(found, networks)
      return { gtin, unfiltered: found.value, found: allowed, failure: null }
    } catch (error) {
      if (error instanceof UnavailableError || error instanceof StoreError)
        return { gtin, unfiltered: null, found: null, failure: error }
      throw error
    }
  }
  return { channel, isGone, isOutdated, deadlineMs, findProduct }
}

/** Remove the offers of other networks. `networks`: case-folded. */
function keepNetworks(found: Cached<Product | null>, networks: readonly string[]): Cached<Product | null> {
  const { value: product } = found
  if (product === null) return found
  const offers = product.offers.filter(({ network }) => networks.includes(foldCase(network)))
  return { ...found, value: { ...product, offers } }
}

/** Return the products with offers to show, in the same order. */
export function selectProducts(
  products: readonly FoundProduct[],
  options: BoxFilters,
  viewContext: ViewContext,
): readonly SelectedProduct[] {
  return products.flatMap(({ found }) => {
    const product = found?.value ?? null
    if (found === null || product === null) return []
    return findShownProduct({ product, asOfMs: found.asOfMs }, options, viewContext) ?? []
  })
}

/** Whether a product that is not shown would be, if the offers of all networks were allowed. */
export function isHiddenByNetworks(
  { found, unfiltered: product }: FoundProduct,
  options: BoxFilters,
  viewContext: ViewContext,
): boolean {
  if (found === null || product === null || found.value === product) return false
  return findShownProduct({ product, asOfMs: found.asOfMs }, options, viewContext) !== undefined
}

function toDigestData({ product, offers, offerCount, isLowestOfSeveral }: ShownProduct): readonly unknown[] {
  const { gtin, title, brand, images } = product
  return [gtin, title, brand, images, offers, offerCount, isLowestOfSeveral]
}

/** From the best to the worst. */
const STATUSES: readonly CacheStatus[] = ['hit', 'miss', 'stale', 'rescued']

/** `shown`: those with offers to show, as they are listed. `isGone`: whether the channel was removed. */
type CombinedProducts = Readonly<{
  products: readonly FoundProduct[]
  shown: readonly ShownProduct[]
  isGone: boolean
  options: BoxFilters
}>

/**
 * Combine what several products say about their widget: the age and validity of the data, and the state of each product. The first
 * failure counts when nothing is shown, because the product could be sold.
 * @throws UnavailableError, StoreError
 */
export function combineProducts(
  { products, shown, isGone, options }: CombinedProducts,
  viewContext: ViewContext,
) {
  const rules: PriceRules = viewContext
  const failure = products.find((one) => one.failure !== null)?.failure ?? null
  if (failure !== null && shown.length === 0) throw failure
  const found = products.flatMap((one) => one.found ?? [])
  const asOfMs = Math.min(...found.map((one) => one.asOfMs))
  const { checkedAtMs, ...times } = findProductTimes(shown, rules)
  const shownByGtin = new Map(shown.map((one) => [one.product.gtin, one]))
  return {
    asOfMs,
    oldestPriceMs: times.oldestPriceMs,
    saleEndMs: times.saleEndMs,
    status: STATUSES.findLast((status) => found.some((one) => one.status === status)) ?? 'hit',
    validUntilMs: Math.min(
      ...found.map(({ validUntilMs }) => validUntilMs),
      failure === null ? Infinity : rules.nowMs + PARTIAL_VALID_MS,
    ),
    isPartial: failure !== null,
    productStates: products.map((product): ProductState => {
      const { gtin, failure: own } = product
      if (shownByGtin.has(gtin)) return { gtin, state: 'shown' }
      if (isHiddenByNetworks(product, options, viewContext)) return { gtin, state: 'other-network' }
      return { gtin, state: own === null ? 'hidden' : 'unavailable' }
    }),
    /** What the view depends on besides the data of the products. */
    digestState: [
      isGone ? 'gone' : (checkedAtMs ?? asOfMs),
      isFuture(checkedAtMs ?? asOfMs, rules.nowMs),
      ...products.flatMap(({ gtin, found: one }): readonly (string | boolean)[] => {
        if (one === null) return ['unavailable']
        const offers = shownByGtin.get(gtin)?.offers ?? one.value?.offers ?? []
        return offers.map(createPriceCheck(one.asOfMs, rules))
      }),
    ],
    /** Of a shown product, what is listed; of another one, all that can be the reason. */
    digestData: products.map(({ gtin, unfiltered }) => {
      const one = shownByGtin.get(gtin)
      return one === undefined ? unfiltered : toDigestData(one)
    }),
  }
}
