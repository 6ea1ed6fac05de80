import type { Product } from '../catalog/contract.ts'
import { pluralize } from '../lib/format.ts'
import { cleanText } from '../offers/text.ts'
import { toExpectedSize } from '../widgets/heights.ts'
import { EVIDENCE_EXPLANATION } from '../widgets/hidden-reasons.ts'
import { type Localization, getLocalization } from '../widgets/locales/index.ts'
import type { WidgetKind } from '../widgets/option-list.ts'
import { OPTION_PARSERS, type OptionDefaults, withQuery } from '../widgets/options.ts'
import { toPictureView } from '../widgets/picture.ts'
import {
  STUDIO_TABS,
  type StudioSelection,
  type StudioTab,
  isSentence,
  isStatusTab,
  listHeldProducts,
  toSelectionQuery,
  withListOptions,
} from './selection.ts'
import { toCoverageView } from './coverage.ts'
import type { EvidenceData, StudioData } from './data.ts'
import { formatDealCount, listFields, toDealsPanel } from './fields.ts'
import { toFeedsView } from './feeds.ts'
import { toHealthView } from './health.ts'
import { toBoxListView, toPicksView } from './list-views.ts'
import { NOT_RECORDED, describeObservedDays, toObservedPricesView } from '../explain/observed-prices.ts'
import { describeNeed, listLabels } from './product-lists.ts'
import { type StudioWidgetView, toStudioWidget } from './widget.ts'

const MAX_SHOWN_URL_CHARACTERS = 100

const TAB_TEXTS: Readonly<Record<StudioTab, string>> = {
  'where-to-buy': 'Where to buy',
  picks: 'Round-up',
  deals: 'Deals',
  coverage: 'Coverage',
  feeds: 'Feeds',
  health: 'Health',
}

/** What to do on the tab of a widget. */
const LEADS: Readonly<Record<WidgetKind, string>> = {
  'where-to-buy': 'Choose a product and its look, then copy the code.',
  picks: 'Add products, put them in order, give them labels, then copy the code.',
  deals: 'Choose the deals and their look, then copy the code.',
}

/** List the tabs with their texts. A server without its catalog has no tab for feeds. */
export function listTabs(hasFeeds: boolean): readonly Readonly<{ tab: StudioTab; text: string }>[] {
  return STUDIO_TABS.filter((tab) => tab !== 'feeds' || hasFeeds).map((tab) => ({
    tab,
    text: TAB_TEXTS[tab],
  }))
}

export type StudioView = ReturnType<typeof toStudioView>

export function toStudioView(data: StudioData) {
  const {
    selection,
    channel,
    validated,
    publicUrl,
    styles,
    studioScript,
    loaderScript,
    isSample,
    explanation,
  } = data
  const selected = toSelected(data)
  const toHref = (rawOptions: URLSearchParams): string => toStudioHref(data, { ...selected, rawOptions })
  return {
    publicUrl,
    styles,
    studioScript,
    loaderScript,
    isSample,
    explanation,
    tab: selection.tab,
    /** `null` for a tab without a widget. */
    opening: isStatusTab(selection.tab)
      ? null
      : { title: TAB_TEXTS[selection.tab], lead: LEADS[selection.tab] },
    tabs: listTabs(data.hasFeeds).map(({ tab, text }) => ({
      text,
      href: toStudioHref(data, toTabSelection(selected, tab)),
      isSelected: tab === selection.tab,
    })),
    studioHref: 'studio',
    galleryHref: 'studio/gallery',
    channelId: channel?.id ?? null,
    channels: data.channels.map(({ id, name, url }) => ({
      id,
      name,
      /** Two channels can have the same name. */
      hasUrl: url !== null && data.channels.some((other) => other.id !== id && other.name === name),
      url: url === null ? null : cleanText(url, MAX_SHOWN_URL_CHARACTERS),
      isSelected: id === channel?.id,
    })),
    searchText: selection.searchText,
    hiddenFields: listHiddenFields(selected),
    matches: listMatches(data, selected),
    ...toListViews(data, selected),
    /** Whether parts of the page that do not suit a sentence are hidden. Hidden fields keep their values. */
    isSentence: isSentence(validated.query),
    fields: listStudioFields(data),
    /** `null` while there is nothing to embed; `notice` gives the reason. */
    widget: toStudioWidgetView(data, selected),
    notice: findNotice(data),
    /** Which products of a shown widget are missing; empty: none. */
    missing: describeMissing(data),
    /** An address to share, without options that equal their defaults. */
    address: withQuery(
      data.studioUrl,
      toSelectionQuery(toOwnSelection({ ...selected, rawOptions: validated.query }), channel?.id ?? null),
    ),
    deals:
      data.counts === null
        ? null
        : toDealsPanel(data.counts, { rawOptions: selection.rawOptions, shopBook: data.shops, toHref }),
    evidence: describeEvidence(data.evidence),
    ...toReports(data),
  }
}

/** Build the parts that do not depend on the options. `null`: not part of the page. */
function toReports({ coverage, feeds, health, observedPrices, shops }: StudioData) {
  return {
    coverage: coverage === null ? null : toCoverageView(coverage),
    feeds: feeds === null ? null : toFeedsView(feeds),
    health: health === null ? null : toHealthView(health),
    prices: observedPrices === null ? null : toObservedPricesView(observedPrices, shops),
  }
}

/** Say how many deals are confirmed, and what is needed; empty when no observed falls are asked for. */
function describeEvidence(data: EvidenceData | null): string {
  if (data === null) return ''
  const { claimed, confirmed, observedDays } = data
  const counts = `Deals with an observed price drop: ${formatDealCount(confirmed.total, confirmed)}. On sale according to the shops: ${formatDealCount(claimed.total, claimed)}.`
  const days =
    observedDays === null ? NOT_RECORDED : `This channel was ${describeObservedDays(observedDays)}.`
  return `${counts} ${EVIDENCE_EXPLANATION} ${days}`
}

function findPictureUrl({ publicUrl, pictures }: StudioData, { images }: Product): string | null {
  const picture = toPictureView(images[0] ?? null, 96, { publicUrl, publishPicture: pictures?.publish })
  return picture?.src ?? null
}

/** Return a relative link, because the page may be opened at another address than the public one. */
function toStudioHref({ channel }: StudioData, selection: StudioSelection): string {
  return withQuery('studio', toSelectionQuery(selection, channel?.id ?? null))
}

/** The selection with the product that a search or the default has chosen, and only its own variants and stand-ins. */
function toSelected({ selection, gtin, boxList }: StudioData): StudioSelection {
  if (gtin === null) return selection
  const box =
    boxList === null
      ? selection.box
      : { variants: listGtins(boxList.variants), standIns: listGtins(boxList.standIns) }
  return { ...selection, gtin, box }
}

function listGtins(products: readonly Readonly<{ gtin: string }>[]): readonly string[] {
  return products.map(({ gtin }) => gtin)
}

/** Remove the products of the widgets of other tabs. */
function toOwnSelection(selection: StudioSelection): StudioSelection {
  return selection.tab === 'picks'
    ? { ...selection, gtin: null, box: NO_BOX_PRODUCTS }
    : { ...selection, picks: [] }
}

const NO_BOX_PRODUCTS: StudioSelection['box'] = { variants: [], standIns: [] }

/** What the form holds without a visible field. */
function listHiddenFields(selected: StudioSelection) {
  const { tab } = selected
  const held = listHeldProducts(selected).filter(([name]) => tab !== 'picks' || name !== 'label')
  return [...(tab === 'where-to-buy' ? [] : [['tab', tab] as const]), ...held].map(([name, value]) => ({
    name,
    value,
  }))
}

/** List the products of the search for a box. Each link chooses one, without the variants and stand-ins of another. */
function listMatches(data: StudioData, selected: StudioSelection) {
  if (selected.tab !== 'where-to-buy') return []
  return data.matches.map((product) => {
    const { gtin, title, brand } = product
    const isSelected = gtin === data.gtin
    const box = isSelected ? selected.box : NO_BOX_PRODUCTS
    return {
      gtin,
      title,
      brand,
      imageUrl: findPictureUrl(data, product),
      href: toStudioHref(data, { ...selected, gtin, box }),
      isSelected,
    }
  })
}

/** Build the editors of lists. `null`: not part of the page. */
function toListViews(data: StudioData, selection: StudioSelection) {
  const { tab, picks } = selection
  const { explanation, product, gtin, boxList, matches, picksList } = data
  const options = {
    selection,
    explanation,
    findPictureUrl: (one: Product): string | null => findPictureUrl(data, one),
  }
  return {
    picks: tab === 'picks' ? toPicksView({ picks, matches, products: picksList }, options) : null,
    boxList:
      gtin === null || boxList === null ? null : toBoxListView({ product, gtin, list: boxList }, options),
  }
}

/** Another tab keeps the products of both lists and the options of the common appearance, but no search: it could choose another product. */
function toTabSelection(selected: StudioSelection, tab: StudioTab): StudioSelection {
  if (tab === selected.tab) return selected
  const names = isStatusTab(tab) ? [] : ['theme', 'accent', 'locale', 'currency']
  const rawOptions = new URLSearchParams([...selected.rawOptions].filter(([name]) => names.includes(name)))
  return { ...selected, tab, rawOptions, searchText: '', boxSearchText: '' }
}

function listStudioFields({ selection, validated, defaults, product, picksList, counts, shops }: StudioData) {
  if (isStatusTab(selection.tab)) return []
  const offers = [product, ...picksList.map((one) => one.product)].flatMap((one) => one?.offers ?? [])
  const productShops = [...new Set(offers.map(({ merchant }) => shops.toMainName(merchant)))].sort((a, b) =>
    shops.toShownName(a).localeCompare(shops.toShownName(b)),
  )
  const dealShops = (counts?.merchants ?? []).map(({ name, count }) => ({
    name: shops.toMainName(name),
    count: formatDealCount(count, { isBounded: counts?.isBounded ?? false }),
  }))
  const { texts } = getWidgetLocalization(validated.query, defaults)
  return listFields({
    kind: selection.tab,
    rawOptions: selection.rawOptions,
    errors: validated.errors,
    defaults,
    shops: selection.tab === 'deals' ? dealShops : productShops.map((name) => ({ name, count: null })),
    shopBook: shops,
    heading: texts[HEADINGS[selection.tab]],
    currencies: [...new Set(offers.map(({ currency }) => currency))].sort(),
    brands: (counts?.brands ?? []).map(({ name }) => name),
  })
}

/** The texts of a language that are headings of widgets. */
const HEADINGS = {
  'where-to-buy': 'boxHeading',
  picks: 'picksHeading',
  deals: 'gridHeading',
} as const satisfies Readonly<Record<WidgetKind, string>>

/** The title of a frame and the example of a heading are in the language of the widget. */
function getWidgetLocalization(query: URLSearchParams, { locale }: OptionDefaults): Localization {
  return getLocalization(query.get('locale') ?? locale)
}

/** A hidden widget can be embedded too, because it may have offers later. */
function toStudioWidgetView(data: StudioData, selected: StudioSelection): StudioWidgetView | null {
  const { channel, widgetStatus } = data
  const { tab, box, picks } = selected
  if (channel === null || widgetStatus === null || isStatusTab(tab)) return null
  const lists =
    tab === 'picks' ? { standIns: [], labels: listLabels(picks) } : { standIns: box.standIns, labels: [] }
  const { widgetQuery } = data.validated
  const query = tab === 'deals' ? widgetQuery : withListOptions(widgetQuery, lists)
  const gtins = listWidgetProducts(selected)
  const size =
    widgetStatus.kind === 'shown'
      ? widgetStatus.size
      : toExpectedSize({ gtins, options: OPTION_PARSERS[tab](query, data.defaults, 'embed') })
  const widget = { kind: tab, channelId: channel.id, gtins, query, size, ...toWidgetTexts(data, tab) }
  return toStudioWidget(widget, data)
}

function listWidgetProducts({ tab, gtin, box, picks }: StudioSelection): readonly string[] {
  if (tab === 'picks') return listGtins(picks)
  return tab === 'deals' || gtin === null ? [] : [gtin, ...box.variants]
}

/** Return the title of the frame, and the caption of snippets, for people. */
function toWidgetTexts(data: StudioData, kind: WidgetKind): Readonly<{ title: string; caption: string }> {
  const { messages, texts } = getWidgetLocalization(data.validated.widgetQuery, data.defaults)
  const channelName = data.channel?.name ?? ''
  const title = texts[HEADINGS[kind]]
  if (kind === 'deals') return { title, caption: `Deals, ${channelName}` }
  if (kind === 'picks') return { title, caption: `Round-up: ${namePicks(data.picksList)}, ${channelName}` }
  const name = data.product?.title
  return {
    title: name === undefined ? title : messages.formatBoxLabel({ title: name }),
    caption: `${name ?? `GTIN ${data.gtin ?? ''}`}, ${channelName}`,
  }
}

function namePicks([first, ...others]: StudioData['picksList']): string {
  return `${first?.product?.title ?? first?.gtin ?? ''} and ${others.length} more`
}

const NO_FEEDS =
  'This server reads a catalog at another address, where its feeds are. There, run "vitrine catalog feeds list".'

function findNotice(data: StudioData): string | null {
  const { channel, selection } = data
  if (channel === null)
    return 'No channel is known: the catalog lists none for this key, or has not responded yet. Run "vitrine check" to find the cause.'
  if (isStatusTab(selection.tab)) return selection.tab === 'feeds' && !data.hasFeeds ? NO_FEEDS : null
  if (selection.channelId !== null && selection.channelId !== channel.id)
    return 'This server has no channel with the id in this address. Choose one of its channels.'
  return findWidgetNotice(data)
}

function findWidgetNotice({ state, selection, widgetStatus, hasFeeds }: StudioData): string | null {
  if (state === null || state.currentWalk === 0)
    return 'The catalog has not been walked yet. This page shows products and deals after the first walk.'
  if (selection.tab === 'where-to-buy' && widgetStatus === null) return describeNoProduct(selection, hasFeeds)
  const need = selection.tab === 'picks' ? describeNeed(selection.picks) : null
  if (need !== null || widgetStatus?.kind !== 'hidden') return need
  // Reasons of many products are beside them in the list.
  const reason = selection.tab === 'picks' ? 'The list says why for each product.' : widgetStatus.reason
  return `Nothing is shown now, and the widget takes no space in a page. ${reason}`
}

function describeMissing({ selection, widgetStatus, explanation }: StudioData): string {
  if (widgetStatus?.kind !== 'shown' || widgetStatus.isComplete || explanation === null) return ''
  if (selection.tab !== 'picks') return explanation.summary
  const count = explanation.products.filter(({ isShown }) => !isShown).length
  return `${count} of ${pluralize(explanation.products.length, 'product')} ${count === 1 ? 'is' : 'are'} not shown now. The list says why.`
}

function describeNoProduct({ searchText, gtin }: StudioSelection, hasFeeds: boolean): string {
  const searched = searchText === '' ? (gtin ?? '') : searchText
  return searched === ''
    ? `The catalog has no product for this channel.${hasFeeds ? ' The tab Feeds says what fills it.' : ''}`
    : `No product of this channel matches "${searched}".`
}
