import type { Channel, Product } from '../catalog/contract.ts'
import type { Context } from '../context.ts'
import type { CopyState, DealCounts } from '../storage/store.ts'
import { computePeriodMs } from '../sync/walk-schedule.ts'
import { UnavailableError, VitrineError } from '../errors.ts'
import { findGtin } from '../offers/gtin.ts'
import { type StudioChoice, judgeOptions, parseStudioChoice } from '../studio/choice.ts'
import { explainBox } from '../studio/explain.ts'
import { type HealthData, MAX_HEALTH_CHANNELS } from '../studio/health.ts'
import { readKnown } from '../studio/known.ts'
import type { Shown, StudioData } from '../studio/studio.ts'
import { toDealQuery } from '../widgets/deals.ts'
import { toBoxSize, toGridSize } from '../widgets/heights.ts'
import { LANGUAGE_TAGS } from '../widgets/locales/index.ts'
import { parseBoxOptions, parseGridOptions } from '../widgets/options.ts'
import { readServerState } from '../server-status.ts'

/** Products that a search of the studio shows. */
const MAX_MATCHES = 8

/** What the studio shows of a channel. */
type ChannelData = Pick<StudioData, 'matches' | 'product' | 'state' | 'shown' | 'counts' | 'why'>

const NOTHING: ChannelData = { matches: [], product: null, state: null, shown: null, counts: null, why: null }

/** Everything that the studio shows for a query. Nothing is called that a visit of the widget would not call. */
export async function readStudioData(
  context: Context,
  query: URLSearchParams,
  studioUrl: string,
): Promise<StudioData> {
  const { assets, publicUrl, widgets } = context
  const choice = parseStudioChoice(query)
  const channels = await context.channels.listChannels()
  const wanted = choice.channelId ?? context.demo?.showcase.channelId
  const channel = channels.find(({ id }) => id === wanted) ?? channels[0] ?? null
  const loader = assets.get('embed.js')
  return {
    publicUrl,
    defaults: widgets.defaults,
    pinnedScript: { url: `${publicUrl}${loader.path}`, integrity: loader.integrity },
    studioUrl,
    // Relative: the page may be opened at another address than the public one.
    styles: [assets.get('studio.css').path.slice(1)],
    studioScript: assets.get('studio.js').path.slice(1),
    loaderScript: 'embed.js',
    isSample: (await context.demo?.readContent()) === 'sample',
    languages: LANGUAGE_TAGS,
    channels,
    channel,
    choice,
    ...(channel === null ? NOTHING : await readChannelData(context, channel, choice)),
    health: choice.tab === 'health' ? await readHealth(context, channels) : null,
  }
}

async function readChannelData(
  context: Context,
  channel: Channel,
  choice: StudioChoice,
): Promise<ChannelData> {
  const state = await context.store.getCopyState(channel.id)
  if (choice.tab === 'health') return { ...NOTHING, state }
  if (choice.tab === 'deals') return readDeals(context, channel, { choice, state })
  const matches = await findMatches(context, channel, choice)
  const product = await findProduct(context, channel, { choice, matches })
  const shown =
    product === null ? null : await findShownOffers(context, channel, { choice, gtin: product.gtin })
  const gtin = product?.gtin ?? findGtin(choice.find === '' ? (choice.gtin ?? '') : choice.find.trim())
  const why = gtin === undefined ? null : await explain(context, channel, { choice, gtin })
  return { matches, product, state, shown, counts: null, why }
}

async function findMatches(
  context: Context,
  channel: Channel,
  choice: StudioChoice,
): Promise<readonly Product[]> {
  const found = await context.store.searchProducts(channel.id, choice.find, MAX_MATCHES)
  return found.flatMap(({ product }) => (product === null ? [] : [product]))
}

/** What was searched for, the chosen match of it first; else the chosen product, or what the demonstration puts first. */
async function findProduct(
  context: Context,
  channel: Channel,
  { choice, matches }: Readonly<{ choice: StudioChoice; matches: readonly Product[] }>,
): Promise<Product | null> {
  const gtin = choice.gtin ?? context.demo?.showcase.gtin
  const wanted = gtin === undefined ? undefined : findGtin(gtin)
  const match = matches.find((product) => product.gtin === wanted) ?? matches[0] ?? null
  if (choice.find !== '') return match
  return (await findStored(context, channel, wanted)) ?? (choice.gtin === null ? match : null)
}

async function findStored(
  { store }: Context,
  channel: Channel,
  gtin: string | undefined,
): Promise<Product | undefined> {
  const entry = gtin === undefined ? undefined : await store.findProduct(channel.id, gtin)
  return entry?.product ?? undefined
}

async function findShownOffers(
  { widgets }: Context,
  channel: Channel,
  { choice, gtin }: Readonly<{ choice: StudioChoice; gtin: string }>,
): Promise<Shown> {
  const { query } = judgeOptions('where-to-buy', choice.typed, widgets.defaults)
  return describe(async () => {
    const parts = { surface: 'fragment', channelId: channel.id, query: query.toString() } as const
    const widget = await widgets.getBox(widgets.parseBoxAddress({ ...parts, gtin }))
    const view = widget.getView()
    return view === undefined
      ? { kind: 'hidden', reason: widget.hiddenReason }
      : { kind: 'where-to-buy', size: toBoxSize(view) }
  })
}

/** After the preview, which has made the calls that a visit makes. */
async function explain(
  context: Context,
  channel: Channel,
  { choice, gtin }: Readonly<{ choice: StudioChoice; gtin: string }>,
): Promise<StudioData['why']> {
  const { config, clock, widgets } = context
  const { defaults } = widgets
  const { query } = judgeOptions('where-to-buy', choice.typed, defaults)
  const options = parseBoxOptions(query, defaults, 'fragment')
  const why = 'this page makes no call but those of its preview; "vitrine explain" makes one'
  const known = await readKnown(context, { channelId: channel.id, gtin }, { kind: 'not-asked', why })
  return explainBox(known, { options, defaults, ignored: [], config, nowMs: clock.nowMs() })
}

async function readDeals(
  { store, widgets }: Context,
  channel: Channel,
  { choice, state }: Readonly<{ choice: StudioChoice; state: CopyState }>,
): Promise<ChannelData> {
  const { query } = judgeOptions('deals', choice.typed, widgets.defaults)
  const shown = await describe(async () => {
    const parts = { surface: 'fragment', channelId: channel.id, query: query.toString() } as const
    const widget = await widgets.getGrid(widgets.parseGridAddress(parts), 'studio')
    const view = widget.getView()
    return view === undefined
      ? { kind: 'hidden', reason: widget.hiddenReason }
      : { kind: 'deals', size: toGridSize(view) }
  })
  const options = parseGridOptions(query, widgets.defaults, 'fragment')
  const currency = options.currency ?? (await store.findDealCurrency(channel.id))
  const counts: DealCounts | null =
    currency === undefined ? null : await store.countDeals(toDealQuery(channel.id, currency, options))
  return { ...NOTHING, state, shown, counts }
}

/** A widget that cannot be made now is hidden, in the words of its error. */
async function describe(look: () => Promise<Shown>): Promise<Shown> {
  try {
    return await look()
  } catch (error) {
    if (!(error instanceof VitrineError)) throw error
    const reason = error instanceof UnavailableError ? 'Nothing is known of it yet.' : error.publicMessage
    return { kind: 'hidden', reason }
  }
}

async function readHealth(context: Context, channels: readonly Channel[]): Promise<HealthData> {
  const { store, clock, config } = context
  const state = await readServerState(context)
  const listed = channels.slice(0, MAX_HEALTH_CHANNELS)
  return {
    nowMs: clock.nowMs(),
    gate: state.gate,
    isCatalogEmpty: (await context.demo?.readContent()) === 'empty',
    storeFailure: state.isStoreUp ? null : (context.findStoreFailure()?.reason ?? 'it cannot be read'),
    isStoreReadOnly: state.isStoreUp && !state.isStoreWritable,
    channels: await Promise.all(
      listed.map(async (channel) => ({ channel, state: await store.getCopyState(channel.id) })),
    ),
    channelCount: channels.length,
    channelsHeldSinceMs: state.channelsHeldSinceMs,
    walkPeriodMs: computePeriodMs(config.syncCron, clock.nowMs()),
  }
}
