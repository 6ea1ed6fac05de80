import { hash } from 'node:crypto'
import type { Channel, Offer, Product } from '../catalog/contract.ts'
import { type Clock, SECOND_MS, computeNextMidnightUtcMs, isFuture } from '../clock.ts'
import type { Config } from '../config/config.ts'
import type { CacheStatus, Cached } from '../freshness/age.ts'
import type { ChannelSource } from '../freshness/channels.ts'
import type { DealPage, DealSource } from '../freshness/deals.ts'
import type { HistorySource } from '../freshness/histories.ts'
import type { ProductSource } from '../freshness/products.ts'
import { normalizeGtin } from '../offers/gtin.ts'
import { createPriceCheck, findPriceTimes, findSaleEndMs, isPriceShown } from '../offers/price-age.ts'
import type { PriceSeries } from '../offers/price-history.ts'
import type { ShopBook } from '../offers/shop-book.ts'
import { createBoxOrder } from '../offers/ranking.ts'
import type { Pictures } from '../pictures/pictures.ts'
import { type AddressParsers, type BoxAddress, type GridAddress, createAddressParsers } from './address.ts'
import { toDealQuery, toGridView } from './deals.ts'
import { CHANNEL_GONE_REASON, explainHiddenBox, explainHiddenGrid } from './hidden-reasons.ts'
import { expandShops } from './offer-selection.ts'
import type { BoxOptions, OptionDefaults, Surface } from './options.ts'
import { parseLocale } from './parameters.ts'
import { type ViewContext, computeOfferId } from './view-parts.ts'
import type { BoxView, GridView } from './view-models.ts'
import { findBoxTimes, toBoxHistory, toBoxView } from './where-to-buy.ts'

export type Widget<View> = Readonly<{
  kind: 'where-to-buy' | 'deals'
  address: BoxAddress | GridAddress
  /** Return a key that is equal only for equal views of one address. `scope`: everything else that the response depends on. */
  computeDigest(scope: string): string
  /** Explain to the author of the page why the widget is hidden. */
  hiddenReason: string
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
  /** Whether observed prices are missing because they could not be read. */
  isPartial: boolean
}>

/** Reads the data of both widgets. */
export type Widgets = AddressParsers &
  Readonly<{
    /** @throws UnknownChannelError, UnavailableError */
    getBox(address: BoxAddress): Promise<Widget<BoxView>>
    /** `visitor`: who waits, such as an IP address, so that one visitor cannot block the others. */
    getGrid(address: GridAddress, visitor: string): Promise<Widget<GridView>>
    /** Find an offer by its id, the best of several; `undefined` when it no longer exists. */
    findOffer(key: Readonly<{ channelId: string; gtin: string; offerId: string }>): Promise<Offer | undefined>
    defaults: OptionDefaults
  }>

/** Dependencies of the widgets. */
export type WidgetDetails = Readonly<{
  channels: ChannelSource
  products: ProductSource
  deals: DealSource
  histories: HistorySource
  clock: Clock
  config: Config
  publicUrl: string
  stylePath: string
  shops: ShopBook
  /** Absent or `null`: pictures load from the shops. */
  pictures?: Pick<Pictures, 'publish'> | null
}>

export function createWidgets(details: WidgetDetails): Widgets {
  const { locale, currency } = details.config
  const defaults = { locale: parseLocale(locale) ?? locale, currency }
  return {
    ...createAddressParsers(defaults),
    defaults,
    getBox: (address) => getBox(details, defaults, address),
    getGrid: (address, visitor) => getGrid(details, defaults, { address, visitor }),
    findOffer: (key) => findOffer(details, key),
  }
}

function createViewContext(details: WidgetDetails, surface: Surface): ViewContext {
  return {
    publicUrl: details.publicUrl,
    stylePath: details.stylePath,
    disclosure: details.config.disclosure,
    timeZone: details.config.timeZone,
    shops: details.shops,
    priceMaxAgeSeconds: details.config.priceMaxAgeSeconds,
    nowMs: details.clock.nowMs(),
    surface,
    publishPicture: details.pictures?.publish,
  }
}

type PriceTimes = Pick<Widget<unknown>, 'oldestPriceMs' | 'saleEndMs'>

/** A widget changes when its oldest price becomes too old to be shown, and when a sale ends. */
function limitToPrices(
  { config }: WidgetDetails,
  untilMs: number,
  { oldestPriceMs, saleEndMs }: PriceTimes,
): number {
  const tooOldAtMs = (oldestPriceMs ?? Infinity) + config.priceMaxAgeSeconds * SECOND_MS + 1
  return Math.min(untilMs, tooOldAtMs, saleEndMs ?? Infinity)
}

/** Length of a digest. */
const DIGEST_CHARACTERS = 27

/** `state`: what the view depends on besides its data, such as the age of its prices. */
function createDigestFunction(
  state: readonly (string | number | boolean)[],
  data: unknown,
): Widget<unknown>['computeDigest'] {
  return (scope) =>
    hash('sha256', `${scope} ${state.join(' ')} ${JSON.stringify(data)}`, 'base64url').slice(
      0,
      DIGEST_CHARACTERS,
    )
}

async function getBox(
  details: WidgetDetails,
  defaults: OptionDefaults,
  address: BoxAddress,
): Promise<Widget<BoxView>> {
  const { gtin } = address
  const options = expandShops(address.options, details.shops)
  // One deadline for the list of channels, the product and its observed prices.
  const deadlineMs = details.clock.nowMs() + details.config.freshness.visitorTimeoutMs
  const { channel, isGone } = await details.channels.getChannel(address.channelId)
  const found = isGone
    ? toEmptyResult(details, null)
    : await details.products.getProduct(channel.id, gtin, deadlineMs)
  const { value: product, asOfMs, status } = found
  const observed = await findBoxHistory(details, options, { channelId: channel.id, gtin, found, deadlineMs })
  const viewContext = createViewContext(details, address.surface)
  const data = product === null ? null : { product, asOfMs }
  const times = data === null ? NO_TIMES : findBoxTimes(data, options, viewContext)
  const history = data && toBoxHistory({ ...data, series: observed.series }, options, viewContext)
  const checkedAtMs = times.checkedAtMs ?? asOfMs
  const isPriced = createPriceCheck(asOfMs, viewContext)
  return {
    kind: 'where-to-buy',
    address,
    computeDigest: createDigestFunction(
      [
        isGone ? 'gone' : checkedAtMs,
        isFuture(checkedAtMs, viewContext.nowMs),
        ...(product?.offers.map(isPriced) ?? []),
        ...(history === null ? [] : [JSON.stringify(history)]),
      ],
      product,
    ),
    get hiddenReason() {
      return isGone
        ? CHANNEL_GONE_REASON
        : explainHiddenBox(gtin, product, { options, defaults, shops: details.shops })
    },
    getView: () => (data === null ? undefined : toBoxView({ ...data, history }, options, viewContext)),
    channel,
    asOfMs,
    oldestPriceMs: times.oldestPriceMs,
    saleEndMs: times.saleEndMs,
    status,
    validUntilMs: limitToPrices(details, Math.min(found.validUntilMs, observed.validUntilMs), times),
    isPartial: observed.isPartial,
  }
}

/** How long a box without its observed prices is reused before they are read again. */
const PARTIAL_VALID_MS: number = 5 * SECOND_MS

/** `series`: `null` when they are not shown, or could not be read. */
type BoxHistory = Pick<Widget<unknown>, 'validUntilMs' | 'isPartial'> &
  Readonly<{ series: readonly PriceSeries[] | null }>

const NO_HISTORY: BoxHistory = { series: null, validUntilMs: Infinity, isPartial: false }

async function findBoxHistory(
  { histories, clock }: WidgetDetails,
  { history: shown }: Pick<BoxOptions, 'history'>,
  {
    found,
    ...request
  }: Readonly<{
    channelId: string
    gtin: string
    deadlineMs: number
    found: Cached<Product | null>
  }>,
): Promise<BoxHistory> {
  if (shown === 'none' || found.value === null) return NO_HISTORY
  const history = await histories.findHistory({ ...request, asOfMs: found.asOfMs })
  const nowMs = clock.nowMs()
  if (history === undefined) return { series: null, validUntilMs: nowMs + PARTIAL_VALID_MS, isPartial: true }
  // The next day has another last day of the chart, and can have another year.
  const validUntilMs = Math.min(history.validUntilMs, computeNextMidnightUtcMs(nowMs))
  return { series: history.series, validUntilMs, isPartial: false }
}

const NO_TIMES: ReturnType<typeof findPriceTimes> = {
  oldestPriceMs: null,
  checkedAtMs: null,
  saleEndMs: null,
}

async function findOffer(
  { channels, products, clock, config }: WidgetDetails,
  { channelId, gtin, offerId }: Readonly<{ channelId: string; gtin: string; offerId: string }>,
): Promise<Offer | undefined> {
  const paddedGtin = normalizeGtin(gtin)
  if (paddedGtin === undefined) return undefined
  const deadlineMs = clock.nowMs() + config.freshness.visitorTimeoutMs
  const { channel, isGone } = await channels.getChannel(channelId.toLowerCase())
  if (isGone) return undefined
  const { value: product, asOfMs } = await products.getProduct(channel.id, paddedGtin, deadlineMs)
  const matches = product?.offers.filter((offer) => computeOfferId(offer) === offerId) ?? []
  const rules = { nowMs: clock.nowMs(), priceMaxAgeSeconds: config.priceMaxAgeSeconds }
  return matches.sort(createBoxOrder(createPriceCheck(asOfMs, rules)))[0]
}

async function getGrid(
  details: WidgetDetails,
  defaults: OptionDefaults,
  { address, visitor }: Readonly<{ address: GridAddress; visitor: string }>,
): Promise<Widget<GridView>> {
  const { surface } = address
  const options = expandShops(address.options, details.shops)
  const { channel, isGone } = await details.channels.getChannel(address.channelId)
  const { value, asOfMs, status, validUntilMs } = isGone
    ? toEmptyResult(details, NO_DEALS)
    : await details.deals.getDeals({ visitor, query: toDealQuery(channel.id, options.currency, options) })
  const viewContext = createViewContext(details, surface)
  const { oldestPriceMs, ...times } = findPriceTimes(value.deals, viewContext)
  const checkedAtMs = times.checkedAtMs ?? asOfMs
  // A deal disappears at the end of its sale, even if its price is not shown.
  const saleEndMs = findSaleEndMs(value.deals.map(({ offer }) => offer))
  const pages =
    surface === 'embed' ? { path: `${details.publicUrl}/embeds/${channel.id}/deals`, defaults } : null
  return {
    kind: 'deals',
    address,
    computeDigest: createDigestFunction(
      [
        isGone ? 'gone' : checkedAtMs,
        isFuture(checkedAtMs, viewContext.nowMs),
        value.hasNext,
        ...value.deals.map((deal) => isPriceShown(deal, viewContext)),
      ],
      value.deals,
    ),
    get hiddenReason() {
      return isGone ? CHANNEL_GONE_REASON : explainHiddenGrid(address.options, defaults)
    },
    getView: () => toGridView({ ...value, asOfMs: checkedAtMs }, address.options, { viewContext, pages }),
    channel,
    asOfMs,
    oldestPriceMs,
    saleEndMs,
    status,
    validUntilMs: limitToPrices(details, validUntilMs, { oldestPriceMs, saleEndMs }),
    isPartial: false,
  }
}

/** Hidden, because the channel was removed and its copy is too old. */
function toEmptyResult<T>({ clock }: WidgetDetails, value: T): Cached<T> {
  return { value, asOfMs: clock.nowMs(), status: 'hit', validUntilMs: 0 }
}

const NO_DEALS: DealPage = { deals: [], hasNext: false }
