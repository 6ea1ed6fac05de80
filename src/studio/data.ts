import type { Product } from '../catalog/contract.ts'
import type { Context } from '../context.ts'
import { UnavailableError, VitrineError } from '../errors.ts'
import { findGtin } from '../offers/gtin.ts'
import type { CopyState, DealCounts } from '../storage/store.ts'
import { toDealQuery } from '../widgets/deals.ts'
import { type BoxSize, type GridSize, toBoxSize, toGridSize } from '../widgets/heights.ts'
import { parseBoxOptions, parseGridOptions } from '../widgets/options.ts'
import { type StudioChoice, judgeOptions, parseStudioChoice } from './choice.ts'
import { type ExplanationView, explainBox } from './explain.ts'
import { readHealth } from './health.ts'
import { readKnown } from './known.ts'

/** Products that a search of the studio shows. */
const MAX_MATCHES = 8

/** What the widget of a choice shows now, as far as its height depends on it; or why it is hidden. */
export type Shown =
  | Readonly<{ kind: 'where-to-buy'; size: BoxSize }>
  | Readonly<{ kind: 'deals'; size: GridSize }>
  | Readonly<{ kind: 'hidden'; reason: string }>

/** What the studio shows of a channel. */
type ChannelData = Readonly<{
  matches: readonly Product[]
  /** The product of a box. */
  product: Product | null
  state: CopyState | null
  /** `null`: nothing was asked for, as there is no channel or no product. */
  shown: Shown | null
  counts: DealCounts | null
  /** Of the product of a box, or of the GTIN that was typed. */
  why: ExplanationView | null
}>

const NOTHING: ChannelData = { matches: [], product: null, state: null, shown: null, counts: null, why: null }

/** What the studio shows, as data. */
export type StudioData = Awaited<ReturnType<typeof readStudioData>>

/**
 * Read everything that the studio shows for a query. Nothing is called that a visit of the widget would not call. `studioUrl`: the
 * address at which the studio was opened, without a query.
 */
export async function readStudioData(context: Context, query: URLSearchParams, studioUrl: string) {
  const { assets, publicUrl, demo } = context
  const { defaults } = context.widgets
  const choice = parseStudioChoice(query)
  const channels = await context.channels.listChannels()
  const wanted = choice.channelId ?? demo?.showcase.channelId
  const channel = channels.find(({ id }) => id === wanted) ?? channels[0] ?? null
  const chosen = { choice, judged: judgeOptions(choice.tab, choice.typed, defaults) }
  const loader = assets.get('embed.js')
  return {
    publicUrl,
    defaults,
    pinnedScript: { url: `${publicUrl}${loader.path}`, integrity: loader.integrity },
    studioUrl,
    // Relative: the page may be opened at another address than the public one.
    styles: [assets.get('studio.css').path.slice(1)],
    studioScript: assets.get('studio.js').path.slice(1),
    loaderScript: 'embed.js',
    isSample: (await demo?.readContent()) === 'sample',
    channels,
    channel,
    ...chosen,
    ...(channel === null ? NOTHING : await readChannelData(context, channel.id, chosen)),
    health: choice.tab === 'health' ? await readHealth(context, channels) : null,
  }
}

type Chosen = Readonly<{ choice: StudioChoice; judged: ReturnType<typeof judgeOptions> }>

async function readChannelData(context: Context, channelId: string, chosen: Chosen): Promise<ChannelData> {
  const state = await context.store.getCopyState(channelId)
  const { tab } = chosen.choice
  if (tab === 'health') return { ...NOTHING, state }
  const query = chosen.judged.query
  const data = tab === 'deals' ? readDeals(context, channelId, query) : readBox(context, channelId, chosen)
  return { ...NOTHING, state, ...(await data) }
}

async function readBox(
  context: Context,
  channelId: string,
  { choice, judged: { query } }: Chosen,
): Promise<Partial<ChannelData>> {
  const found = await context.store.searchProducts(channelId, choice.find, MAX_MATCHES)
  const matches = found.flatMap(({ product }) => product ?? [])
  const product = await findProduct(context, channelId, { choice, matches })
  const shown = product === null ? null : await describeBox(context, { channelId, gtin: product.gtin, query })
  const gtin = product?.gtin ?? findGtin(choice.find === '' ? (choice.gtin ?? '') : choice.find.trim())
  // After the preview, which has made the calls that a visit makes.
  const why = gtin === undefined ? null : await explain(context, { channelId, gtin, query })
  return { matches, product, shown, why }
}

/** What was searched for, the chosen match of it first; else the chosen product, or what the demonstration puts first. */
async function findProduct(
  { store, demo }: Context,
  channelId: string,
  { choice, matches }: Readonly<{ choice: StudioChoice; matches: readonly Product[] }>,
): Promise<Product | null> {
  const wanted = findGtin(choice.gtin ?? demo?.showcase.gtin ?? '')
  const match = matches.find(({ gtin }) => gtin === wanted) ?? matches[0] ?? null
  if (choice.find !== '') return match
  return (await findStored(store, channelId, wanted)) ?? (choice.gtin === null ? match : null)
}

async function findStored(
  store: Context['store'],
  channelId: string,
  gtin: string | undefined,
): Promise<Product | null> {
  const entry = gtin === undefined ? undefined : await store.findProduct(channelId, gtin)
  return entry?.product ?? null
}

type BoxRequest = Readonly<{ channelId: string; gtin: string; query: URLSearchParams }>

function describeBox({ widgets }: Context, { channelId, gtin, query }: BoxRequest): Promise<Shown> {
  return describe(async () => {
    const address = { surface: 'fragment', channelId, gtin, query: query.toString() } as const
    const box = await widgets.getBox(widgets.parseBoxAddress(address))
    const view = box.getView()
    return view === undefined
      ? { kind: 'hidden', reason: box.hiddenReason }
      : { kind: 'where-to-buy', size: toBoxSize(view) }
  })
}

async function explain(context: Context, { query, ...product }: BoxRequest): Promise<ExplanationView> {
  const { config, clock } = context
  const { defaults } = context.widgets
  const options = parseBoxOptions(query, defaults, 'fragment')
  const why = 'this page makes no call but those of its preview; "vitrine explain" makes one'
  const known = await readKnown(context, product, { kind: 'not-asked', why })
  return explainBox(known, { options, defaults, ignored: [], config, nowMs: clock.nowMs() })
}

async function readDeals(
  { store, widgets }: Context,
  channelId: string,
  query: URLSearchParams,
): Promise<Partial<ChannelData>> {
  const shown = await describe(async () => {
    const address = { surface: 'fragment', channelId, query: query.toString() } as const
    const grid = await widgets.getGrid(widgets.parseGridAddress(address), 'studio')
    const view = grid.getView()
    return view === undefined
      ? { kind: 'hidden', reason: grid.hiddenReason }
      : { kind: 'deals', size: toGridSize(view) }
  })
  const options = parseGridOptions(query, widgets.defaults, 'fragment')
  const currency = options.currency ?? (await store.findDealCurrency(channelId))
  const counts =
    currency === undefined ? null : await store.countDeals(toDealQuery(channelId, currency, options))
  return { shown, counts }
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
