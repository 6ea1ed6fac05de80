import { cleanText } from '../offers/text.ts'
import type { WidgetSize } from '../widgets/heights.ts'
import { findSpeech } from '../widgets/locales/index.ts'
import { withQuery } from '../widgets/options.ts'
import { STUDIO_TABS, type StudioChoice, type StudioTab } from './choice.ts'
import type { StudioData } from './data.ts'
import { formatDeals, listFields, toDealsPanel } from './fields.ts'
import { toHealth } from './health.ts'
import { type StudioWidgetView, toStudioWidget } from './widget.ts'

/** Longest address of a channel that the studio prints; it comes as the catalog has it. */
const MAX_SHOWN_URL_CHARACTERS = 100

/** Names of the tabs. */
const TAB_TEXTS: Readonly<Record<StudioTab, string>> = {
  'where-to-buy': 'Where to buy',
  deals: 'Deals',
  health: 'Health',
}

/** What the template of the studio takes. */
export type StudioView = ReturnType<typeof toStudioView>

/** Build the view of the studio. */
export function toStudioView(data: StudioData) {
  const { choice, channel, judged, publicUrl, styles, studioScript, loaderScript, isSample, why } = data
  const chosen = { ...choice, gtin: data.product?.gtin ?? choice.gtin }
  const toHref = (typed: URLSearchParams): string => toAddress(data, { ...chosen, typed })
  return {
    publicUrl,
    styles,
    studioScript,
    loaderScript,
    isSample,
    why,
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
    fields: toFields(data),
    /** `null` while there is nothing to embed, with `notice` saying why. */
    widget: toWidget(data),
    notice: findNotice(data),
    /** This choice without what is as by default: an address to share. */
    address: withQuery(data.studioUrl, toChoiceQuery(data, { ...chosen, typed: judged.query })),
    deals: data.counts === null ? null : toDealsPanel(data.counts, choice.typed, toHref),
    health: data.health === null ? null : toHealth(data.health),
  }
}

/** The way to a choice from the page itself, wherever it was opened. */
function toAddress(data: StudioData, choice: StudioChoice): string {
  return withQuery('studio', toChoiceQuery(data, choice))
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

function toFields({ choice, judged, defaults, product, counts }: StudioData) {
  if (choice.tab === 'health') return []
  const offers = product?.offers ?? []
  const ofProduct = [...new Set(offers.map(({ merchant }) => merchant))].sort((a, b) => a.localeCompare(b))
  const ofDeals = (counts?.merchants ?? []).map(({ name, count }) => ({
    name,
    count: formatDeals(count, { isBounded: counts?.isBounded ?? false }),
  }))
  return listFields({
    kind: choice.tab,
    typed: choice.typed,
    errors: judged.errors,
    defaults,
    shops: choice.tab === 'deals' ? ofDeals : ofProduct.map((name) => ({ name, count: null })),
    currencies: [...new Set(offers.map(({ currency }) => currency))].sort(),
    brands: (counts?.brands ?? []).map(({ name }) => name),
  })
}

/** A hidden widget can be embedded as well: it may have something to show tomorrow. */
function toWidget(data: StudioData): StudioWidgetView | null {
  const { channel, choice, product, shown } = data
  const { query } = data.judged
  if (channel === null || shown === null) return null
  const common = { channelId: channel.id, query }
  const size = shown.kind === 'shown' ? shown.size : null
  // Frames are named in the language of what they show.
  const { messages, words } = findSpeech(query.get('locale') ?? data.defaults.locale)
  if (choice.tab === 'deals') {
    const grid = { kind: choice.tab, gtin: null, title: words.gridHeading, size: size ?? NO_CARDS }
    return toStudioWidget({ ...common, ...grid }, data)
  }
  if (choice.tab === 'health' || product === null) return null
  const { gtin, title } = product
  const box = { kind: choice.tab, gtin, title: messages.nameBox({ title }), size: size ?? NO_SHOPS }
  return toStudioWidget({ ...common, ...box }, data)
}

const NO_CARDS: WidgetSize = { layout: 'grid', cardCount: 0 }
const NO_SHOPS: WidgetSize = { layout: 'list', shownCount: 0, saleCount: 0, isFolded: false }

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
