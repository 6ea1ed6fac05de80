import { hash } from 'node:crypto'
import type { Product, Channel } from '../catalog/contract.ts'
import { isFuture, type Clock, SECOND_MS } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { StoreError, UnavailableError } from '../errors.ts'
import type { CacheStatus, Cached } from '../freshness/age.ts'
import type { ChannelSource } from '../freshness/channels.ts'
import type { CopyChanges } from '../freshness/copy-changes.ts'
import type { DealSource } from '../freshness/deals.ts'
import type { HistorySource } from '../freshness/histories.ts'
import type { ProductSource } from '../freshness/products.ts'
import { createPriceCheck } from '../offers/price-age.ts'
import type { ShopBook } from '../offers/shop-book.ts'
import type { SubRules } from '../offers/sub-ids.ts'
import { foldCase } from '../offers/text.ts'
import type { Pictures } from '../pictures/pictures.ts'
import type { WidgetAddress } from './address.ts'
import {
  type BoxFilters,
  type FoundProduct,
  type ShownProduct,
  findProductTimes,
  isHiddenByNetworks,
} from './offer-selection.ts'
import type { ViewContext } from './view-parts.ts'

/** `other-network`: not in a newsletter, because only shops of networks that are not allowed there sell it. */
export type ProductState = Readonly<{
  gtin: string
  state: 'shown' | 'hidden' | 'unavailable' | 'other-network'
}>

/** A widget with the data of one moment. */
export type Widget<View> = Readonly<{
  address: WidgetAddress
  /** Return a key that is equal only for equal views of one address. `scope`: everything else that the response depends on. */
  computeDigest(scope: string): string
  /** Explain to the author of the page why the widget is hidden. */
  explainHidden(): string
  /** Explain which products of a shown widget are not shown; `null`: none. */
  explainMissing(): string | null
  /** GTINs of all products that the widget depends on, for cache tags; empty for a grid. */
  gtins: readonly string[]
  /**
   * What readers got, by GTIN of the address, for the counts: a round-up may lack some of its products; a box is shown or not,
   * also with a variant or a stand-in. Empty for a grid.
   */
  productStates: readonly ProductState[]
  isShown: boolean
  /** Build the view; `undefined` when the widget is hidden. */
  getView(): View | undefined
  channel: Channel
  /** When the catalog returned the data, Unix milliseconds. */
  asOfMs: number
  /** Time of the oldest visible price; `null` without prices. */
  oldestPriceMs: number | null
  /** When the first sale of the visible prices and deals ends; `null` when none does. */
  saleEndMs: number | null
  status: CacheStatus
  /** Until when this widget may be reused, Unix milliseconds; 0: not at all. */
  validUntilMs: number
  /** Whether another walk may have newer data by now, at most a second late. */
  isOutdated(): boolean
  /** Whether products or observed prices are missing because they could not be read. */
  isPartial: boolean
}>

/** Dependencies of the widgets. */
export type WidgetsOptions = Readonly<{
  channels: ChannelSource
  copyChanges: CopyChanges
  products: ProductSource
  deals: DealSource
  histories: HistorySource
  clock: Clock
  config: Config
  publicUrl: string
  stylePath: string
  shops: ShopBook
  subRules: SubRules
  /** Absent or `null`: pictures load from the shops. */
  pictures?: Pick<Pictures, 'publish'> | null
}>

export function createViewContext(
  { publicUrl, stylePath, config, shops, subRules, clock, pictures }: WidgetsOptions,
  { surface, channelId }: Pick<WidgetAddress, 'surface' | 'channelId'>,
): ViewContext {
  return {
    publicUrl,
    stylePath,
    disclosure: config.disclosure,
    timeZone: config.timeZone,
    shops,
    subRules,
    countedBaseUrl: config.links === 'counted' ? `${publicUrl}/go/${channelId}/` : null,
    priceMaxAgeSeconds: config.priceMaxAgeSeconds,
    nowMs: clock.nowMs(),
    surface,
    publishPicture: pictures?.publish,
  }
}

/** Return the networks whose offers a surface may show, case-folded; `null`: all. */
export function findAllowedNetworks(
  { config }: Pick<WidgetsOptions, 'config'>,
  surface: WidgetAddress['surface'],
): readonly string[] | null {
  return surface === 'mail' ? (config.mailNetworks ?? []) : null
}

/** Return until when a widget is the same: its oldest price becomes too old to be shown, or a sale ends. */
export function computeValidUntilMs(
  { config }: WidgetsOptions,
  untilMs: number,
  { oldestPriceMs, saleEndMs }: Pick<Widget<unknown>, 'oldestPriceMs' | 'saleEndMs'>,
): number {
  const tooOldAtMs = (oldestPriceMs ?? Infinity) + config.priceMaxAgeSeconds * SECOND_MS + 1
  return Math.min(untilMs, tooOldAtMs, saleEndMs ?? Infinity)
}

/** Length of a digest. */
const DIGEST_CHARACTERS = 27

/** `state`: what the view depends on besides its data, such as the age of its prices. `data` must never change. */
export function createDigestFunction(
  state: readonly (string | number | boolean)[],
  data: readonly (object | null | undefined)[],
): Widget<unknown>['computeDigest'] {
  return (scope) =>
    computeDigest([scope, ...state, ...data.map((one) => (one ? getDigest(one) : 'none'))].join(' '))
}

/** Digests of products and pages of deals in memory: many requests share one. */
const digests = new WeakMap<object, string>()

function getDigest(data: object): string {
  const known = digests.get(data)
  if (known !== undefined) return known
  const digest = computeDigest(JSON.stringify(data))
  digests.set(data, digest)
  return digest
}

function computeDigest(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, DIGEST_CHARACTERS)
}

/** Hidden, because the channel was removed and its copy is too old. */
export function toEmptyResult<T>({ clock }: WidgetsOptions, value: T): Cached<T> {
  return { value, asOfMs: clock.nowMs(), status: 'hit', validUntilMs: 0 }
}

/** Reuse time of a widget with missing data. */
export const PARTIAL_VALID_MS: number = 5 * SECOND_MS

/** The channel of an address, and a function that finds its products until one deadline. A removed channel has none. */
export type OpenChannel = Readonly<{
  channel: Channel
  isGone: boolean
  /** Whether a newer walk may have completed since the channel was read. */
  isOutdated(): boolean
  /** For the list of channels, the products and their observed prices, Unix milliseconds. */
  deadlineMs: number
  findProduct(gtin: string): Promise<FoundProduct>
}>

/** @throws UnknownChannelError, UnavailableError */
export async function openChannel(
  dependencies: WidgetsOptions,
  { channelId, surface }: Pick<WidgetAddress, 'channelId' | 'surface'>,
): Promise<OpenChannel> {
  const { channels, copyChanges, products, clock, config } = dependencies
  const networks = findAllowedNetworks(dependencies, surface)
  const deadlineMs = clock.nowMs() + config.freshness.visitorTimeoutMs
  const { channel, isGone } = await channels.getChannel(channelId)
  const isOutdated = copyChanges.watch(channel.id)
  const findProduct = async (gtin: string): Promise<FoundProduct> => {
    if (isGone) return { gtin, unfiltered: null, found: toEmptyResult(dependencies, null), failure: null }
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
  const failure = products.find((one) => one.failure !== null)?.failure ?? null
  if (failure !== null && shown.length === 0) throw failure
  const found = products.flatMap((one) => one.found ?? [])
  const asOfMs = Math.min(...found.map((one) => one.asOfMs))
  const { checkedAtMs, ...times } = findProductTimes(shown, viewContext)
  const shownByGtin = new Map(shown.map((one) => [one.product.gtin, one]))
  return {
    asOfMs,
    oldestPriceMs: times.oldestPriceMs,
    saleEndMs: times.saleEndMs,
    status: STATUSES.findLast((status) => found.some((one) => one.status === status)) ?? 'hit',
    validUntilMs: Math.min(
      ...found.map(({ validUntilMs }) => validUntilMs),
      failure === null ? Infinity : viewContext.nowMs + PARTIAL_VALID_MS,
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
      isFuture(checkedAtMs ?? asOfMs, viewContext.nowMs),
      ...products.flatMap(({ gtin, found: one }): readonly (string | boolean)[] => {
        if (one === null) return ['unavailable']
        const offers = shownByGtin.get(gtin)?.offers ?? one.value?.offers ?? []
        return offers.map(createPriceCheck(one.asOfMs, viewContext))
      }),
      // Of a shown product, what is listed.
      ...shown.map((one) => JSON.stringify(toDigestData(one))),
    ],
    /** Of another one, all that can be the reason. */
    digestData: products.flatMap(({ gtin, unfiltered }) => (shownByGtin.has(gtin) ? [] : [unfiltered])),
  }
}
