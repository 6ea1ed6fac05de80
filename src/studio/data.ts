import type { Channel, Product } from '../catalog/contract.ts'
import type { Context } from '../context.ts'
import { UnavailableError, VitrineError } from '../errors.ts'
import { normalizeGtin } from '../offers/gtin.ts'
import type { CopyState, DealCounts } from '../storage/store.ts'
import { toDealQuery } from '../widgets/deals.ts'
import { type WidgetSize, toWidgetSize } from '../widgets/heights.ts'
import { expandShops } from '../widgets/offer-selection.ts'
import { parseBoxOptions, parseGridOptions } from '../widgets/options.ts'
import type { BoxView, GridView } from '../widgets/view-models.ts'
import type { Widget } from '../widgets/widget.ts'
import { type StudioSelection, type StudioTab, validateOptions, parseStudioSelection } from './selection.ts'
import { readCoverageData } from './coverage.ts'
import { type EvidenceData, readEvidence } from './evidence.ts'
import { type ExplanationView, explainBox } from './explain.ts'
import { readFeedsData } from './feeds.ts'
import { readHealth } from './health.ts'
import { readBoxInputs } from './box-inputs.ts'
import { type ObservedPricesData, readObservedPrices } from './observed-prices.ts'

const MAX_MATCHES = 8

export type WidgetStatus =
  Readonly<{ kind: 'shown'; size: WidgetSize }> | Readonly<{ kind: 'hidden'; reason: string }>

type ChannelData = Readonly<{
  matches: readonly Product[]
  product: Product | null
  state: CopyState | null
  /** `null` without a channel or a product. */
  widgetStatus: WidgetStatus | null
  counts: DealCounts | null
  /** `null` unless the options of a grid ask for observed falls. */
  evidence: EvidenceData | null
  explanation: ExplanationView | null
  /** `null` without a product, and in an update, which does not change them. */
  observedPrices: ObservedPricesData | null
}>

const NO_CHANNEL_DATA: ChannelData = {
  matches: [],
  product: null,
  state: null,
  widgetStatus: null,
  counts: null,
  evidence: null,
  explanation: null,
  observedPrices: null,
}

export type StudioData = Awaited<ReturnType<typeof readStudioData>>

/** `studioUrl` has no query. `isUpdate`: whether only the parts that depend on the options are needed (ADR 0015). */
type StudioRequest = Readonly<{ studioUrl: string; isUpdate: boolean }>

/** Read the data of the page. Makes only the catalog calls that a request for the widget makes. */
export async function readStudioData(
  context: Context,
  query: URLSearchParams,
  { studioUrl, isUpdate }: StudioRequest,
) {
  const { assets, publicUrl, demo } = context
  const { defaults } = context.widgets
  const selection = parseStudioSelection(query)
  const channels = await context.channels.listChannels()
  const preferredId = selection.channelId ?? demo?.showcase.channelId
  const channel = channels.find(({ id }) => id === preferredId) ?? channels[0] ?? null
  const selected = { selection, validated: validateOptions(selection.tab, selection.rawOptions, defaults) }
  const loader = assets.get('embed.js')
  return {
    publicUrl,
    pictures: context.pictures,
    shops: context.shopFile.book,
    defaults,
    pinnedScript: { url: `${publicUrl}${loader.path}`, integrity: loader.integrity },
    studioUrl,
    // Relative: the page may be opened at another address than the public one.
    styles: [assets.get('studio.css').path.slice(1)],
    studioScript: assets.get('studio.js').path.slice(1),
    loaderScript: 'embed.js',
    isSample: (await demo?.readCatalogContent()) === 'sample',
    channels,
    channel,
    ...selected,
    ...(channel === null
      ? NO_CHANNEL_DATA
      : await readChannelData(context, channel.id, { ...selected, isUpdate })),
    /** Whether this server has the catalog, so that it knows its feeds. */
    hasFeeds: demo !== null,
    ...(await readReports(context, selection.tab, { channels, channel })),
  }
}

/** Read the data of a status tab; `null` for the others. */
async function readReports(
  context: Context,
  tab: StudioTab,
  { channels, channel }: Readonly<{ channels: readonly Channel[]; channel: Channel | null }>,
) {
  return {
    coverage: tab === 'coverage' && channel !== null ? await readCoverageData(context, channel.id) : null,
    feeds: tab === 'feeds' && context.demo !== null ? await readFeedsData(context) : null,
    health: tab === 'health' ? await readHealth(context, channels) : null,
  }
}

type ValidatedSelection = Readonly<{
  selection: StudioSelection
  validated: ReturnType<typeof validateOptions>
}>

type ChannelRequest = ValidatedSelection & Pick<StudioRequest, 'isUpdate'>

async function readChannelData(
  context: Context,
  channelId: string,
  selected: ChannelRequest,
): Promise<ChannelData> {
  const state = await context.store.getCopyState(channelId)
  switch (selected.selection.tab) {
    case 'where-to-buy':
      return { ...NO_CHANNEL_DATA, state, ...(await readBox(context, channelId, selected)) }
    case 'deals':
      return {
        ...NO_CHANNEL_DATA,
        state,
        ...(await readGrid(context, channelId, selected.validated.widgetQuery)),
      }
    default:
      return { ...NO_CHANNEL_DATA, state }
  }
}

async function readBox(
  context: Context,
  channelId: string,
  { selection, validated: { widgetQuery: query }, isUpdate }: ChannelRequest,
): Promise<Partial<ChannelData>> {
  const { store, widgets } = context
  const entries = await store.searchProducts(channelId, selection.searchText, MAX_MATCHES)
  const matches = entries.flatMap(({ product }) => product ?? [])
  const product = (await findProduct(context, channelId, { selection, matches })) ?? null
  const addressParts = { surface: 'fragment', channelId, query: query.toString() } as const
  const widgetStatus =
    product === null
      ? null
      : await readWidgetStatus(() =>
          widgets.getBox(widgets.parseBoxAddress({ ...addressParts, gtin: product.gtin })),
        )
  const gtin =
    product?.gtin ??
    normalizeGtin(selection.searchText === '' ? (selection.gtin ?? '') : selection.searchText.trim())
  const found = { matches, product, widgetStatus }
  if (gtin === undefined) return found
  // After the preview, whose calls may have filled the caches.
  return { ...found, ...(await readDetails(context, { channelId, gtin, query, isUpdate })) }
}

/** Read why the box of a product shows what it shows, and its observed prices. */
async function readDetails(
  context: Context,
  {
    channelId,
    gtin,
    query,
    isUpdate,
  }: Readonly<{ channelId: string; gtin: string; query: URLSearchParams }> & Pick<StudioRequest, 'isUpdate'>,
): Promise<Pick<ChannelData, 'explanation' | 'observedPrices'>> {
  const { defaults } = context.widgets
  const shops = context.shopFile.book
  const skipReason = 'this page makes only the calls of its preview; "vitrine explain" calls the catalog'
  const inputs = await readBoxInputs(context, { channelId, gtin }, { kind: 'skipped', reason: skipReason })
  const options = expandShops(parseBoxOptions(query, defaults, 'fragment'), shops)
  const areNeeded = !isUpdate || options.history !== 'none'
  const observedPrices = areNeeded ? await readObservedPrices(context, inputs) : null
  return {
    explanation: explainBox(inputs, {
      options,
      defaults,
      ignoredParameters: [],
      config: context.config,
      shops,
      observedPrices,
      nowMs: context.clock.nowMs(),
    }),
    observedPrices: isUpdate ? null : observedPrices,
  }
}

/** Return the selected or first match of a search; without a search, the selected product or that of the demo. */
async function findProduct(
  { store, demo }: Context,
  channelId: string,
  { selection, matches }: Readonly<{ selection: StudioSelection; matches: readonly Product[] }>,
): Promise<Product | undefined> {
  const wantedGtin = normalizeGtin(selection.gtin ?? demo?.showcase.gtin ?? '')
  const match = matches.find(({ gtin }) => gtin === wantedGtin) ?? matches[0]
  if (selection.searchText !== '') return match
  const stored = wantedGtin === undefined ? undefined : await store.findProduct(channelId, wantedGtin)
  return stored?.product ?? (selection.gtin === null ? match : undefined)
}

async function readGrid(
  context: Context,
  channelId: string,
  query: URLSearchParams,
): Promise<Partial<ChannelData>> {
  const { store, widgets, shopFile } = context
  const addressParts = { surface: 'fragment', channelId, query: query.toString() } as const
  const widgetStatus = await readWidgetStatus(() =>
    widgets.getGrid(widgets.parseGridAddress(addressParts), 'studio'),
  )
  const options = expandShops(parseGridOptions(query, widgets.defaults, 'fragment'), shopFile.book)
  const currency = options.currency ?? (await store.findDealCurrency(channelId))
  if (currency === undefined) return { widgetStatus }
  const dealQuery = toDealQuery(channelId, currency, options)
  const counts = await store.countDeals(dealQuery, shopFile.book.keys)
  const isAsked = options.evidence === 'observed' || options.sort === 'drop'
  return { widgetStatus, counts, evidence: await readEvidence(context, dealQuery, { counts, isAsked }) }
}

/** A widget that cannot be built now counts as hidden, with the message of its error as the reason. */
async function readWidgetStatus(getWidget: () => Promise<Widget<BoxView | GridView>>): Promise<WidgetStatus> {
  try {
    const widget = await getWidget()
    const view = widget.getView()
    return view === undefined
      ? { kind: 'hidden', reason: widget.hiddenReason }
      : { kind: 'shown', size: toWidgetSize(view) }
  } catch (error) {
    if (!(error instanceof VitrineError)) throw error
    const reason =
      error instanceof UnavailableError
        ? 'The server has no usable data for it yet. Run "vitrine check" to find out why.'
        : error.publicMessage
    return { kind: 'hidden', reason }
  }
}
