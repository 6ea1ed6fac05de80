import type { Channel, Product } from '../catalog/contract.ts'
import type { Context } from '../context.ts'
import type { ObservedPricesData } from '../explain/observed-prices.ts'
import type { ExplanationView } from '../explain/widgets.ts'
import type { Visitor } from '../lib/fair-queue.ts'
import type { CopyState, DealCounts, DealQuery, ObservedDayCounts } from '../storage/store.ts'
import { toDealQuery } from '../widgets/grid.ts'
import { expandShops } from '../widgets/offer-selection.ts'
import { parseGridOptions } from '../widgets/options.ts'
import { readCoverageData } from './coverage.ts'
import { readFeedsData } from './feeds.ts'
import { readHealth } from './health.ts'
import {
  type BoxListData,
  type ListedProduct,
  readBox,
  readPicks,
  type WidgetStatus,
  readWidgetStatus,
} from './product-data.ts'
import { type StudioSelection, type StudioTab, parseStudioSelection, validateOptions } from './selection.ts'

/** Deals of a grid by evidence, and the observed days of its channel; `null` when no history is kept. */
export type EvidenceData = Readonly<{
  claimed: DealCounts
  confirmed: DealCounts
  observedDays: ObservedDayCounts | null
}>

type ChannelData = Readonly<{
  matches: readonly Product[]
  /** The chosen product of a box. */
  product: Product | null
  /** Its GTIN, also of a product that the stored copy does not have. */
  gtin: string | null
  /** `null` without a GTIN. */
  boxList: BoxListData | null
  /** The products of a round-up; empty on other tabs. */
  picksList: readonly ListedProduct[]
  state: CopyState | null
  /** `null` without a channel or without enough products. */
  widgetStatus: WidgetStatus | null
  counts: DealCounts | null
  /** `null` unless the options of a grid ask for observed falls. */
  evidence: EvidenceData | null
  explanation: ExplanationView | null
  /** `null` without a product. */
  observedPrices: ObservedPricesData | null
}>

const NO_CHANNEL_DATA: ChannelData = {
  matches: [],
  product: null,
  gtin: null,
  boxList: null,
  picksList: [],
  state: null,
  widgetStatus: null,
  counts: null,
  evidence: null,
  explanation: null,
  observedPrices: null,
}

export type StudioData = Awaited<ReturnType<typeof readStudioData>>

/** Read the data of the page. Makes only the catalog calls that a request for the widget makes. `studioUrl` has no query. */
export async function readStudioData(context: Context, query: URLSearchParams, studioUrl: string) {
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
    openForms: { data: context.config.isJsonOpen, mail: context.config.mailNetworks !== null },
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
    ...(channel === null ? NO_CHANNEL_DATA : await readChannelData(context, channel.id, selected)),
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

async function readChannelData(
  context: Context,
  channelId: string,
  selected: ValidatedSelection,
): Promise<ChannelData> {
  const state = await context.store.getCopyState(channelId)
  const { tab } = selected.selection
  const query = selected.validated.widgetQuery
  const request = { channelId, query, selection: selected.selection }
  switch (tab) {
    case 'where-to-buy':
      return { ...NO_CHANNEL_DATA, state, ...(await readBox(context, request)) }
    case 'picks':
      return { ...NO_CHANNEL_DATA, state, ...(await readPicks(context, request)) }
    case 'deals':
      return { ...NO_CHANNEL_DATA, state, ...(await readGrid(context, channelId, query)) }
    default:
      return { ...NO_CHANNEL_DATA, state }
  }
}

/** The studio takes turns with the visitors of grids. */
const STUDIO_VISITOR: Visitor = { visitor: 'studio' }

async function readGrid(
  context: Context,
  channelId: string,
  query: URLSearchParams,
): Promise<Partial<ChannelData>> {
  const { store, widgets, shopFile } = context
  const addressParts = { surface: 'fragment', channelId, query: query.toString() } as const
  const widgetStatus = await readWidgetStatus(() =>
    widgets.getGrid(widgets.parseGridAddress(addressParts), STUDIO_VISITOR),
  )
  const options = expandShops(parseGridOptions(query, widgets.defaults, 'fragment'), shopFile.book)
  const currency = options.currency ?? (await store.findDealCurrency(channelId))
  if (currency === undefined) return { widgetStatus }
  const dealQuery = toDealQuery(channelId, currency, options)
  const counts = await store.countDeals(dealQuery, shopFile.book.keys)
  const isAsked = options.evidence === 'observed' || options.sort === 'drop'
  return { widgetStatus, counts, evidence: await readEvidence(context, dealQuery, { counts, isAsked }) }
}

/** Count the deals by evidence; `null` for a grid whose options do not ask for observed falls. `counts`: of the query. */
async function readEvidence(
  { store, shopFile }: Context,
  query: DealQuery,
  { counts, isAsked }: Readonly<{ counts: DealCounts; isAsked: boolean }>,
): Promise<EvidenceData | null> {
  if (!isAsked) return null
  const isObserved = query.evidence === 'observed'
  const other = { ...query, evidence: isObserved ? 'shop' : 'observed' } as const
  const otherCounts = await store.countDeals(other, shopFile.book.keys)
  return {
    claimed: isObserved ? otherCounts : counts,
    confirmed: isObserved ? counts : otherCounts,
    observedDays: await store.countObservedDays(query.channelId),
  }
}
