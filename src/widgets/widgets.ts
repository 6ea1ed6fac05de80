import type { Channel, Offer } from '../catalog/contract.ts'
import { type Clock, SECOND_MS, isFuture } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { InvalidGtinError } from '../errors.ts'
import { type CacheStatus, type Cached, type Hold, narrowHold } from '../freshness/cached.ts'
import type { ChannelSource, ServedChannel } from '../freshness/channels.ts'
import type { DealPage, DealSource } from '../freshness/deals.ts'
import type { ProductSource } from '../freshness/products.ts'
import { findGtin } from '../offers/gtin.ts'
import { compareForBox } from '../offers/ranking.ts'
import { toDealQuery, toGridView } from './deals.ts'
import { GONE_REASON, explainHiddenBox, explainHiddenGrid } from './hidden-reasons.ts'
import { type Identify, createIdentify, toIdentity } from './identity.ts'
import { computeOfferId } from './offer-id.ts'
import {
  type CommonOptions,
  type OptionDefaults,
  type Surface,
  parseBoxOptions,
  parseGridOptions,
  toOptionsKey,
  toQuery,
  withQuery,
} from './options.ts'
import { type Presentation, isPriceShown } from './presentation.ts'
import type { BoxView, GridView } from './view-models.ts'
import { toBoxView } from './where-to-buy.ts'

/** A widget that was asked for. */
export type Widget<View> = Readonly<{
  kind: 'where-to-buy' | 'deals'
  /** Equal for equal questions, however they are spelled: surface, channel, GTIN, and the options in their normal form. */
  identity: string
  /** Of one identity, equal for equal views and for those alone: what an answer was made of. */
  stamp: string
  /** Why there may be nothing to show, for whoever builds the page. */
  hiddenReason: string
  /** The view, made when it is first asked for; `undefined` when there is nothing to show and the widget hides. */
  getView(): View | undefined
  /** Its one address below `/embeds/`: channel, kind, GTIN and the options that are not as by default. */
  getEmbedPath(): string
  options: CommonOptions
  channel: Channel
  /** Of a box, 14 digits; `null`: a grid. */
  gtin: string | null
  /** When the catalog gave the data, Unix milliseconds. */
  asOfMs: number
  /** The same of the oldest price that is shown; `null` where none is. */
  oldestPriceMs: number | null
  status: CacheStatus
  /** How long the same question has this very answer without being asked again; `null`: not at all. */
  hold: Hold | null
}>

/** An address of a widget, as it was asked. */
export type WidgetRequest = Readonly<{ channelId: string; query: URLSearchParams; surface: Surface }>

/** `visitor`: the address of who asks, so that one visitor cannot keep others from reading grids. */
export type GridRequest = WidgetRequest & Readonly<{ visitor?: string }>

/** Both widgets as data to views. They throw `BadOptionError`, `UnknownChannelError`, `UnavailableError`. */
export type Widgets = Readonly<{
  /** @throws InvalidGtinError when `gtin` is not 1 to 14 digits. */
  getBox(request: WidgetRequest & Readonly<{ gtin: string }>): Promise<Widget<BoxView>>
  getGrid(request: GridRequest): Promise<Widget<GridView>>
  /** The `identity` that the widget of a request will have. */
  identify: Identify
  /** An offer by its id, the best where several have it; `undefined` when it is gone. */
  findOffer(
    wanted: Readonly<{ channelId: string; gtin: string; offerId: string }>,
  ): Promise<Offer | undefined>
  /** What the options are where nothing is named. */
  defaults: OptionDefaults
}>

/** What the widgets are made of. */
export type WidgetDetails = Readonly<{
  channels: ChannelSource
  products: ProductSource
  deals: DealSource
  clock: Clock
  config: Config
  publicUrl: string
  stylePath: string
}>

/** Makes the widgets. */
export function createWidgets(details: WidgetDetails): Widgets {
  const defaults = toDefaults(details.config)
  return {
    defaults,
    getBox: (request) => getBox(details, defaults, request),
    getGrid: (request) => getGrid(details, defaults, request),
    identify: createIdentify(defaults),
    findOffer: (wanted) => findOffer(details, wanted),
  }
}

/** A widget stands as long as its data, its channel, and the oldest price in it, which then goes. */
function toHold(
  { config }: WidgetDetails,
  data: Hold | null,
  { served, oldestPriceMs }: Readonly<{ served: ServedChannel; oldestPriceMs: number | null }>,
): Hold | null {
  const shownUntilMs =
    oldestPriceMs === null ? Infinity : oldestPriceMs + config.priceMaxAgeSeconds * SECOND_MS + 1
  return narrowHold(data, { untilMs: shownUntilMs, isServed: served.isCurrent })
}

function present(details: WidgetDetails, surface: Surface): Presentation {
  return {
    publicUrl: details.publicUrl,
    stylePath: details.stylePath,
    disclosure: details.config.disclosure,
    priceMaxAgeSeconds: details.config.priceMaxAgeSeconds,
    nowMs: details.clock.nowMs(),
    surface,
  }
}

async function getBox(
  details: WidgetDetails,
  defaults: OptionDefaults,
  { channelId, gtin, query, surface }: WidgetRequest & Readonly<{ gtin: string }>,
): Promise<Widget<BoxView>> {
  const options = parseBoxOptions(query, defaults, surface)
  const padded = findGtin(gtin)
  if (padded === undefined) throw new InvalidGtinError('the address holds no GTIN')
  // One patience for both: the list of channels may have taken its part of it.
  const patientUntilMs = details.clock.nowMs() + details.config.freshness.visitorTimeoutMs
  const served = await details.channels.getChannel(channelId.toLowerCase())
  const { channel, isGone } = served
  const {
    value: product,
    asOfMs,
    status,
    hold,
  } = isGone ? toHidden(details, null) : await details.products.getProduct(channel.id, padded, patientUntilMs)
  const presentation = present(details, surface)
  const isShown = isPriceShown(asOfMs, presentation)
  const oldestPriceMs = isShown && product !== null ? asOfMs : null
  return {
    kind: 'where-to-buy',
    get hiddenReason() {
      return isGone ? GONE_REASON : explainHiddenBox(padded, product, { options, defaults })
    },
    identity: toIdentity({ surface, channelId: channel.id, gtin: padded }, toOptionsKey(options)),
    stamp: [isGone ? 'gone' : asOfMs, isShown, product === null, isFuture(asOfMs, presentation.nowMs)].join(
      ' ',
    ),
    getEmbedPath: () => withQuery(`${channel.id}/where-to-buy/${padded}`, toQuery(options, defaults)),
    getView: once(() =>
      product === null ? undefined : toBoxView({ product, asOfMs }, options, presentation),
    ),
    options,
    channel,
    gtin: padded,
    asOfMs,
    oldestPriceMs,
    status,
    hold: toHold(details, hold, { served, oldestPriceMs }),
  }
}

async function findOffer(
  { channels, products, clock, config }: WidgetDetails,
  { channelId, gtin, offerId }: Readonly<{ channelId: string; gtin: string; offerId: string }>,
): Promise<Offer | undefined> {
  const padded = findGtin(gtin)
  if (padded === undefined) return undefined
  // One patience for both, as for a box.
  const patientUntilMs = clock.nowMs() + config.freshness.visitorTimeoutMs
  const { channel, isGone } = await channels.getChannel(channelId.toLowerCase())
  if (isGone) return undefined
  const { value: product } = await products.getProduct(channel.id, padded, patientUntilMs)
  const same = product?.offers.filter((offer) => computeOfferId(offer) === offerId) ?? []
  return same.sort(compareForBox)[0]
}

async function getGrid(
  details: WidgetDetails,
  defaults: OptionDefaults,
  { channelId, query, surface, visitor = '' }: GridRequest,
): Promise<Widget<GridView>> {
  const options = parseGridOptions(query, defaults, surface)
  const optionsKey = toOptionsKey(options)
  const served = await details.channels.getChannel(channelId.toLowerCase())
  const { channel, isGone } = served
  const { value, asOfMs, status, hold } = isGone
    ? toHidden(details, NO_DEALS)
    : await details.deals.getDeals({
        visitor,
        channelId: channel.id,
        // Options of the look make no other page of deals.
        key: JSON.stringify(toDealQuery(channel.id, options.currency ?? '', options)),
        currency: options.currency,
        toQuery: (currency) => toDealQuery(channel.id, currency, options),
      })
  const presentation = present(details, surface)
  const priced = value.deals.filter((deal) => isPriceShown(deal.asOfMs, presentation))
  const oldestPriceMs = priced.length === 0 ? null : Math.min(...priced.map((deal) => deal.asOfMs))
  const checkedAtMs = oldestPriceMs ?? asOfMs
  const pages =
    surface === 'embed' ? { path: `${details.publicUrl}/embeds/${channel.id}/deals`, defaults } : null
  return {
    kind: 'deals',
    get hiddenReason() {
      return isGone ? GONE_REASON : explainHiddenGrid(options, defaults)
    },
    identity: toIdentity({ surface, channelId: channel.id, gtin: null }, optionsKey),
    stamp: [
      value.readAtMs,
      value.deals.length,
      priced.length,
      isGone,
      isFuture(checkedAtMs, presentation.nowMs),
    ].join(' '),
    getEmbedPath: () => withQuery(`${channel.id}/deals`, toQuery(options, defaults)),
    getView: once(() => toGridView({ ...value, asOfMs: checkedAtMs }, options, { presentation, pages })),
    options,
    channel,
    gtin: null,
    asOfMs,
    oldestPriceMs,
    status,
    hold: toHold(details, hold, { served, oldestPriceMs }),
  }
}

function once<T>(make: () => T): () => T {
  let made: Readonly<{ value: T }> | undefined
  return () => (made ??= { value: make() }).value
}

/** A channel that has gone is asked about nothing: its copy is older than it may be shown. */
function toHidden<T>({ clock }: WidgetDetails, value: T): Cached<T> {
  return { value, asOfMs: clock.nowMs(), status: 'hit', hold: null }
}

const NO_DEALS: DealPage = { deals: [], hasNext: false, readAtMs: 0 }

/** The defaults in the same form as parsed options. */
function toDefaults(config: Config): OptionDefaults {
  const { language, script, region } = new Intl.Locale(config.locale)
  return {
    locale: [language, script, region].filter((part) => part !== undefined).join('-'),
    currency: config.currency,
  }
}
