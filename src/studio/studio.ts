import type { Channel, Product } from '../catalog/contract.ts'
import type { CopyState, DealCounts } from '../storage/store.ts'
import { cleanText } from '../offers/text.ts'
import type { BoxSize, GridSize } from '../widgets/heights.ts'
import { findSpeech } from '../widgets/locales/index.ts'
import { type JudgedOptions, type StudioChoice, STUDIO_TABS, judgeOptions } from './choice.ts'
import { formatDeals, toDealsPanel } from './deals-panel.ts'
import { type Choosable, listFields } from './fields.ts'
import { type HealthData, toHealth } from './health.ts'
import type { ExplanationView } from './explain.ts'
import type { FieldGroupView, StudioTab, StudioView } from './views.ts'
import { type EmbeddedWidget, type EmbeddingPlace, toStudioWidget, toSuffix } from './widget.ts'

/** Longest address of a channel that the studio prints; it comes as the catalog has it. */
const MAX_SHOWN_URL_CHARACTERS = 100

/** Names of the tabs. */
const TAB_TEXTS: Readonly<Record<StudioTab, string>> = {
  'where-to-buy': 'Where to buy',
  deals: 'Deals',
  health: 'Health',
}

/** What the widget of a choice shows now, as far as its height depends on it; or why it is hidden. */
export type Shown =
  | Readonly<{ kind: 'where-to-buy'; size: BoxSize }>
  | Readonly<{ kind: 'deals'; size: GridSize }>
  | Readonly<{ kind: 'hidden'; reason: string }>

/** What the studio shows, as data. */
export type StudioData = EmbeddingPlace &
  Readonly<{
    /** Where whoever looks at the studio has opened it, without a query. */
    studioUrl: string
    styles: readonly string[]
    studioScript: string
    loaderScript: string
    isSample: boolean
    languages: readonly string[]
    channels: readonly Channel[]
    channel: Channel | null
    choice: StudioChoice
    matches: readonly Product[]
    /** The product of a box. */
    product: Product | null
    state: CopyState | null
    /** `null`: nothing was asked for, as there is no channel or no product. */
    shown: Shown | null
    counts: DealCounts | null
    /** Of the product of a box, or of the GTIN that was typed. */
    why: ExplanationView | null
    health: HealthData | null
  }>

/** The view of the studio. */
export function toStudioView(data: StudioData): StudioView {
  const { choice, channel, publicUrl } = data
  const judged = judge(data)
  const chosen = { ...choice, gtin: data.product?.gtin ?? choice.gtin }
  const toHref = (typed: URLSearchParams): string => toAddress(data, { ...chosen, typed })
  return {
    publicUrl,
    styles: data.styles,
    studioScript: data.studioScript,
    loaderScript: data.loaderScript,
    isSample: data.isSample,
    tab: choice.tab,
    tabs: STUDIO_TABS.map((tab) => ({
      text: TAB_TEXTS[tab],
      href: toAddress(data, { ...chosen, tab, typed: keepCommon(choice, tab) }),
      isChosen: tab === choice.tab,
    })),
    channels: data.channels.map(({ id, name, url }) => ({
      id,
      name,
      url: url === null ? null : cleanText(url, MAX_SHOWN_URL_CHARACTERS),
      isChosen: id === channel?.id,
    })),
    find: choice.find,
    gtin: data.product?.gtin ?? '',
    matches: data.matches.map((product) => ({
      gtin: product.gtin,
      title: product.title,
      brand: product.brand,
      imageUrl: product.images[0] ?? null,
      href: toAddress(data, { ...choice, gtin: product.gtin }),
      isChosen: product.gtin === data.product?.gtin,
    })),
    fields: choice.tab === 'health' ? [] : toFields(data, judged),
    widget: toWidget(data, judged),
    notice: findNotice(data),
    address: `${data.studioUrl}${toSuffix(toChoiceQuery(data, { ...chosen, typed: judged.query }))}`,
    deals: data.counts === null ? null : toDealsPanel(data.counts, choice.typed, toHref),
    why: data.why,
    health: data.health === null ? null : toHealth(data.health),
  }
}

function judge({ choice, defaults }: StudioData): JudgedOptions {
  return choice.tab === 'health'
    ? { query: new URLSearchParams(), errors: new Map() }
    : judgeOptions(choice.tab, choice.typed, defaults)
}

/** The way to a choice from the page itself, wherever it was opened. */
function toAddress(data: StudioData, choice: StudioChoice): string {
  return `studio${toSuffix(toChoiceQuery(data, choice))}`
}

/** The query of a choice, without what is as by default. */
function toChoiceQuery({ channel }: StudioData, choice: StudioChoice): URLSearchParams {
  const query = new URLSearchParams()
  if (choice.tab !== 'where-to-buy') query.set('tab', choice.tab)
  if (channel !== null) query.set('channel', channel.id)
  if (choice.gtin !== null) query.set('gtin', choice.gtin)
  if (choice.tab === 'where-to-buy' && choice.find !== '') query.set('find', choice.find)
  for (const [name, value] of choice.typed) query.append(name, value)
  return query
}

/** Looks that both widgets have go along to the other tab. */
function keepCommon(choice: StudioChoice, tab: StudioTab): URLSearchParams {
  if (tab === choice.tab) return choice.typed
  const names = tab === 'health' ? [] : ['theme', 'accent', 'locale', 'currency']
  return new URLSearchParams([...choice.typed].filter(([name]) => names.includes(name)))
}

function toFields(data: StudioData, { errors }: JudgedOptions): readonly FieldGroupView[] {
  const { choice, product, counts } = data
  if (choice.tab === 'health') return []
  const offers = product?.offers ?? []
  const ofProduct = [...new Set(offers.map(({ merchant }) => merchant))].sort((a, b) => a.localeCompare(b))
  return listFields({
    kind: choice.tab,
    typed: choice.typed,
    errors,
    defaults: data.defaults,
    shops: choice.tab === 'deals' ? listShops(counts) : ofProduct.map((name) => ({ name, count: null })),
    currencies: [...new Set(offers.map(({ currency }) => currency))].sort(),
    brands: (counts?.brands ?? []).map(({ name }) => name),
    languages: data.languages,
  })
}

function listShops(counts: DealCounts | null): readonly Choosable[] {
  return (counts?.merchants ?? []).map(({ name, count }) => ({
    name,
    count: formatDeals(count, { isBounded: counts?.isBounded ?? false }),
  }))
}

function toWidget(data: StudioData, { query }: JudgedOptions): StudioView['widget'] {
  const widget = toEmbedded(data, query)
  return widget === null ? null : toStudioWidget(widget, data)
}

/** A hidden widget can be embedded as well: it may have something to show tomorrow. */
function toEmbedded(data: StudioData, query: URLSearchParams): EmbeddedWidget | null {
  const { channel, choice, product, shown } = data
  if (channel === null || shown === null) return null
  const common = { channelId: channel.id, query }
  // Frames are named in the language of what they show.
  const { messages, words } = findSpeech(query.get('locale') ?? data.defaults.locale)
  if (choice.tab === 'deals') {
    const size = shown.kind === 'deals' ? shown.size : NO_CARDS
    return { ...common, kind: 'deals', title: words.gridHeading, size }
  }
  if (product === null) return null
  const size = shown.kind === 'where-to-buy' ? shown.size : NO_SHOPS
  return {
    ...common,
    kind: 'where-to-buy',
    gtin: product.gtin,
    title: messages.nameBox({ title: product.title }),
    size,
  }
}

const NO_CARDS: GridSize = { layout: 'grid', cardCount: 0 }
const NO_SHOPS: BoxSize = { layout: 'list', shownCount: 0, saleCount: 0, isFolded: false }

function findNotice(data: StudioData): string | null {
  const { channel, choice } = data
  if (channel === null)
    return 'No channel is known: the catalog lists none for this key, or has not answered yet. "vitrine check" says why.'
  if (choice.tab === 'health') return null
  if (choice.channelId !== null && choice.channelId !== channel.id)
    return 'This server serves no channel of the id in this address. Choose one of its channels.'
  return findWidgetNotice(data)
}

function findWidgetNotice({ state, product, choice, shown }: StudioData): string | null {
  if (state === null || state.currentWalk === 0)
    return 'The catalog has not been walked yet. This page shows products and deals as soon as it has.'
  if (choice.tab === 'where-to-buy' && product === null) return describeNoProduct(choice)
  return shown?.kind === 'hidden'
    ? `Nothing is shown now, and it takes no room in a page. ${shown.reason}`
    : null
}

function describeNoProduct({ find, gtin }: StudioChoice): string {
  const wanted = find === '' ? (gtin ?? '') : find
  return wanted === ''
    ? 'The catalog has no product for this channel.'
    : `No product of this channel matches "${wanted}".`
}
