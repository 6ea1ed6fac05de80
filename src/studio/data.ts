import type { Product } from '../catalog/contract.ts'
import type { Context } from '../context.ts'
import { UnavailableError, VitrineError } from '../errors.ts'
import { findGtin } from '../offers/gtin.ts'
import type { CopyState, DealCounts } from '../storage/store.ts'
import { toDealQuery } from '../widgets/deals.ts'
import { type WidgetSize, toSize } from '../widgets/heights.ts'
import { parseBoxOptions, parseGridOptions } from '../widgets/options.ts'
import type { BoxView, GridView } from '../widgets/view-models.ts'
import type { Widget } from '../widgets/widgets.ts'
import { type StudioChoice, judgeOptions, parseStudioChoice } from './choice.ts'
import { type ExplanationView, explainBox } from './explain.ts'
import { readHealth } from './health.ts'
import { readKnown } from './known.ts'

/** Products that a search of the studio shows. */
const MAX_MATCHES = 8

/** What the widget of a choice shows now, as far as its height depends on it; or why it is hidden. */
export type Shown =
  Readonly<{ kind: 'shown'; size: WidgetSize }> | Readonly<{ kind: 'hidden'; reason: string }>

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
  switch (chosen.choice.tab) {
    case 'where-to-buy':
      return { ...NOTHING, state, ...(await readBox(context, channelId, chosen)) }
    case 'deals':
      return { ...NOTHING, state, ...(await readDeals(context, channelId, chosen.judged.query)) }
    default:
      return { ...NOTHING, state }
  }
}

async function readBox(
  context: Context,
  channelId: string,
  { choice, judged: { query } }: Chosen,
): Promise<Partial<ChannelData>> {
  const { store, widgets } = context
  const found = await store.searchProducts(channelId, choice.find, MAX_MATCHES)
  const matches = found.flatMap(({ product }) => product ?? [])
  const product = (await findProduct(context, channelId, { choice, matches })) ?? null
  const parts = { surface: 'fragment', channelId, query: query.toString() } as const
  const shown =
    product === null
      ? null
      : await describe(() => widgets.getBox(widgets.parseBoxAddress({ ...parts, gtin: product.gtin })))
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
): Promise<Product | undefined> {
  const wanted = findGtin(choice.gtin ?? demo?.showcase.gtin ?? '')
  const match = matches.find(({ gtin }) => gtin === wanted) ?? matches[0]
  if (choice.find !== '') return match
  const stored = wanted === undefined ? undefined : await store.findProduct(channelId, wanted)
  return stored?.product ?? (choice.gtin === null ? match : undefined)
}

async function explain(
  context: Context,
  { query, ...product }: Readonly<{ channelId: string; gtin: string; query: URLSearchParams }>,
): Promise<ExplanationView> {
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
  const parts = { surface: 'fragment', channelId, query: query.toString() } as const
  const shown = await describe(() => widgets.getGrid(widgets.parseGridAddress(parts), 'studio'))
  const options = parseGridOptions(query, widgets.defaults, 'fragment')
  const currency = options.currency ?? (await store.findDealCurrency(channelId))
  const counts =
    currency === undefined ? null : await store.countDeals(toDealQuery(channelId, currency, options))
  return { shown, counts }
}

/** A widget that cannot be made now is hidden, in the words of its error. */
async function describe(getWidget: () => Promise<Widget<BoxView | GridView>>): Promise<Shown> {
  try {
    const widget = await getWidget()
    const view = widget.getView()
    return view === undefined
      ? { kind: 'hidden', reason: widget.hiddenReason }
      : { kind: 'shown', size: toSize(view) }
  } catch (error) {
    if (!(error instanceof VitrineError)) throw error
    const reason = error instanceof UnavailableError ? 'Nothing is known of it yet.' : error.publicMessage
    return { kind: 'hidden', reason }
  }
}
