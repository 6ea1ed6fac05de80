import type { Product } from '../catalog/contract.ts'
import type { Context } from '../context.ts'
import { UnavailableError, VitrineError } from '../errors.ts'
import { type BoxInputs, type CatalogLookupResult, readProductInputs } from '../explain/inputs.ts'
import { type ObservedPricesData, readObservedPrices } from '../explain/observed-prices.ts'
import type { ExplainRules } from '../explain/offers.ts'
import {
  type BoxProductInputs,
  type ExplanationView,
  explainBoxProducts,
  explainPicks,
} from '../explain/widgets.ts'
import { normalizeGtin } from '../offers/gtin.ts'
import { PICKS_COUNT } from '../widgets/address.ts'
import type { BoxView } from '../widgets/box.ts'
import type { GridView } from '../widgets/grid.ts'
import { type WidgetSize, toWidgetSize } from '../widgets/heights.ts'
import { type BoxOptions, type PicksOptions, parseBoxOptions, parsePicksOptions } from '../widgets/options.ts'
import type { PicksView } from '../widgets/picks.ts'
import type { Widget } from '../widgets/widget.ts'
import { type BoxProducts, listLabels } from './product-lists.ts'
import { type StudioSelection, withListOptions } from './selection.ts'

/** Products that a search lists, and that the smaller search for variants and stand-ins lists. */
const MAX_MATCHES = 8
const MAX_BOX_MATCHES = 5

const NOT_CALLED: CatalogLookupResult = {
  kind: 'skipped',
  reason: 'this page makes only the calls of its preview; "vitrine explain" calls the catalog',
}

/** A product of a list. `product` is `null` when the stored copy does not have it. */
export type ListedProduct = Readonly<{ gtin: string; product: Product | null }>

/** The products of a box besides the chosen one, and those that can be added. */
export type BoxListData = Readonly<{
  variants: readonly ListedProduct[]
  standIns: readonly ListedProduct[]
  matches: readonly ListedProduct[]
}>

/** `query`: the valid options, without those of the lists. */
type ProductRequest = Readonly<{
  channelId: string
  selection: StudioSelection
  query: URLSearchParams
}>

/** Read what the tab of a box shows. */
export async function readBox(context: Context, request: ProductRequest) {
  const { channelId, selection } = request
  const matches = await searchProducts(context, request)
  const product = (await findProduct(context, channelId, { selection, matches })) ?? null
  const gtin = product?.gtin ?? findTypedGtin(selection) ?? null
  const box = findOwnProducts(selection, gtin)
  const found = { matches, product, gtin }
  if (gtin === null) return found
  const query = withListOptions(request.query, { standIns: box.standIns, labels: [] })
  const gtins = [gtin, ...box.variants]
  const isEmpty = product === null && gtins.length + box.standIns.length === 1
  const widgetStatus = isEmpty ? null : await readBoxStatus(context, { channelId, gtins, query })
  // After the preview, whose calls may have filled the caches.
  const inputs = {
    variants: await readProductInputs(context, { channelId, gtins }, NOT_CALLED),
    standIns: await readProductInputs(context, { channelId, gtins: box.standIns }, NOT_CALLED),
  }
  const candidates = await searchBoxProducts(context, channelId, selection.boxSearchText)
  return {
    ...found,
    widgetStatus,
    boxList: {
      variants: inputs.variants.slice(1).map(toListed),
      standIns: inputs.standIns.map(toListed),
      matches: candidates.filter((match) => match.gtin !== gtin),
    },
    ...(await explainProducts(context, inputs, query)),
  }
}

function toListed({ gtin, entry }: BoxInputs): ListedProduct {
  return { gtin, product: entry?.product ?? null }
}

/** Read what the tab of a round-up shows. */
export async function readPicks(context: Context, request: ProductRequest) {
  const { channelId, selection } = request
  const { widgets } = context
  const gtins = selection.picks.map(({ gtin }) => gtin)
  const labels = listLabels(selection.picks)
  const query = withListOptions(request.query, { standIns: [], labels })
  const getPicks = () =>
    widgets.getPicks(
      widgets.parsePicksAddress({
        surface: 'fragment',
        channelId,
        gtin: gtins.join(','),
        query: query.toString(),
      }),
    )
  const widgetStatus = gtins.length < PICKS_COUNT.min ? null : await readWidgetStatus(getPicks)
  const options = parsePicksOptions(request.query, widgets.defaults, 'fragment')
  const inputs = await readProductInputs(context, { channelId, gtins }, NOT_CALLED)
  return {
    matches: await searchProducts(context, request),
    widgetStatus,
    picksList: inputs.map(toListed),
    explanation: gtins.length === 0 ? null : explainPicks(inputs, toRules(context, options)),
  }
}

type BoxRequest = Readonly<{ channelId: string; gtins: readonly string[]; query: URLSearchParams }>

function readBoxStatus({ widgets }: Context, { channelId, gtins, query }: BoxRequest): Promise<WidgetStatus> {
  return readWidgetStatus(() =>
    widgets.getBox(
      widgets.parseBoxAddress({
        surface: 'fragment',
        channelId,
        gtin: gtins.join('~'),
        query: query.toString(),
      }),
    ),
  )
}

/** Read why a box shows what it shows, and the observed prices of the chosen product. */
async function explainProducts(
  context: Context,
  inputs: BoxProductInputs,
  query: URLSearchParams,
): Promise<Readonly<{ explanation: ExplanationView; observedPrices: ObservedPricesData | null }>> {
  const options = parseBoxOptions(query, context.widgets.defaults, 'fragment')
  const [main] = inputs.variants
  const observedPrices = main === undefined ? null : await readObservedPrices(context, main)
  return {
    explanation: explainBoxProducts(inputs, { ...toRules(context, options), observedPrices }),
    observedPrices,
  }
}

function toRules(
  { config, clock, shopFile, widgets }: Context,
  options: BoxOptions | PicksOptions,
): ExplainRules {
  return {
    options,
    defaults: widgets.defaults,
    ignoredParameters: [],
    config,
    shops: shopFile.book,
    observedPrices: null,
    nowMs: clock.nowMs(),
  }
}

async function searchProducts(
  { store }: Context,
  { channelId, selection }: ProductRequest,
): Promise<readonly Product[]> {
  const entries = await store.searchProducts(channelId, selection.searchText, MAX_MATCHES)
  return entries.flatMap(({ product }) => product ?? [])
}

/** A GTIN that no shop sells can be added too: a shop may sell it later. */
async function searchBoxProducts(
  { store }: Context,
  channelId: string,
  text: string,
): Promise<readonly ListedProduct[]> {
  if (text === '') return []
  const entries = await store.searchProducts(channelId, text, MAX_BOX_MATCHES)
  const matches = entries.flatMap(({ product }) =>
    product === null ? [] : [{ gtin: product.gtin, product }],
  )
  const gtin = normalizeGtin(text)
  return matches.length === 0 && gtin !== undefined ? [{ gtin, product: null }] : matches
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

function findTypedGtin({ searchText, gtin }: StudioSelection): string | undefined {
  return normalizeGtin(searchText === '' ? (gtin ?? '') : searchText)
}

/** Variants and stand-ins belong to a product: a search that finds another one removes them. */
function findOwnProducts({ gtin: chosen, box }: StudioSelection, gtin: string | null): BoxProducts {
  const isOther = chosen !== null && gtin !== null && normalizeGtin(chosen) !== gtin
  return isOther ? { variants: [], standIns: [] } : box
}

/** `isComplete`: whether no product of the widget's address is missing. */
export type WidgetStatus =
  | Readonly<{ kind: 'shown'; size: WidgetSize; isComplete: boolean }>
  | Readonly<{ kind: 'hidden'; reason: string }>

/** A widget that cannot be built now counts as hidden, with the message of its error as the reason. */
export async function readWidgetStatus(
  getWidget: () => Promise<Widget<BoxView | PicksView | GridView>>,
): Promise<WidgetStatus> {
  try {
    const widget = await getWidget()
    const view = widget.getView()
    return view === undefined
      ? { kind: 'hidden', reason: widget.explainHidden() }
      : { kind: 'shown', size: toWidgetSize(view), isComplete: widget.explainMissing() === null }
  } catch (error) {
    if (!(error instanceof VitrineError)) throw error
    const reason =
      error instanceof UnavailableError
        ? 'The server has no usable data for it yet. Run "vitrine check" to find out why.'
        : error.publicMessage
    return { kind: 'hidden', reason }
  }
}
