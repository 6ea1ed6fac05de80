import type { Product } from '../catalog/contract.ts'
import { cleanText } from '../offers/text.ts'
import type { WidgetSize } from '../widgets/heights.ts'
import { type Localization, getLocalization } from '../widgets/locales/index.ts'
import { type OptionDefaults, withQuery } from '../widgets/options.ts'
import { toPictureView } from '../widgets/picture.ts'
import { STUDIO_TABS, type StudioSelection, type StudioTab, isStatusTab, isSentence } from './selection.ts'
import { toCoverageView } from './coverage.ts'
import type { StudioData } from './data.ts'
import { describeEvidence } from './evidence.ts'
import { formatDealCount, listFields, toDealsPanel } from './fields.ts'
import { toFeedsView } from './feeds.ts'
import { toHealthView } from './health.ts'
import { toObservedPricesView } from './observed-prices.ts'
import { type StudioWidgetView, toStudioWidget } from './widget.ts'

const MAX_SHOWN_URL_CHARACTERS = 100

const TAB_TEXTS: Readonly<Record<StudioTab, string>> = {
  'where-to-buy': 'Where to buy',
  deals: 'Deals',
  coverage: 'Coverage',
  feeds: 'Feeds',
  health: 'Health',
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
  const selected = { ...selection, gtin: data.product?.gtin ?? selection.gtin }
  const toHref = (rawOptions: URLSearchParams): string => toStudioHref(data, { ...selected, rawOptions })
  return {
    publicUrl,
    styles,
    studioScript,
    loaderScript,
    isSample,
    explanation,
    tab: selection.tab,
    tabs: listTabs(data.hasFeeds).map(({ tab, text }) => ({
      text,
      href: toStudioHref(data, { ...selected, tab, rawOptions: toSharedOptions(selection, tab) }),
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
    gtin: data.product?.gtin ?? '',
    matches: data.matches.map((product) => ({
      gtin: product.gtin,
      title: product.title,
      brand: product.brand,
      imageUrl: findPictureUrl(data, product),
      href: toStudioHref(data, { ...selection, gtin: product.gtin }),
      isSelected: product.gtin === data.product?.gtin,
    })),
    /** Whether parts of the page that do not suit a sentence are hidden. Hidden fields keep their values. */
    isSentence: isSentence(validated.query),
    fields: listStudioFields(data),
    /** `null` while there is nothing to embed; `notice` gives the reason. */
    widget: toStudioWidgetView(data),
    notice: findNotice(data),
    /** An address to share, without options that equal their defaults. */
    address: withQuery(data.studioUrl, toSelectionQuery(data, { ...selected, rawOptions: validated.query })),
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

function findPictureUrl({ publicUrl, pictures }: StudioData, { images }: Product): string | null {
  const picture = toPictureView(images[0] ?? null, 96, { publicUrl, publishPicture: pictures?.publish })
  return picture?.src ?? null
}

/** Return a relative link, because the page may be opened at another address than the public one. */
function toStudioHref(data: StudioData, selection: StudioSelection): string {
  return withQuery('studio', toSelectionQuery(data, selection))
}

function toSelectionQuery({ channel }: StudioData, selection: StudioSelection): URLSearchParams {
  const query = new URLSearchParams()
  if (selection.tab !== 'where-to-buy') query.set('tab', selection.tab)
  if (channel !== null) query.set('channel', channel.id)
  if (selection.gtin !== null) query.set('gtin', selection.gtin)
  if (selection.tab === 'where-to-buy' && selection.searchText !== '') query.set('find', selection.searchText)
  for (const [name, value] of selection.rawOptions) query.append(name, value)
  return query
}

/** Return the options that the link to another tab keeps: those of the appearance of both widgets. */
function toSharedOptions(selection: StudioSelection, tab: StudioTab): URLSearchParams {
  if (tab === selection.tab) return selection.rawOptions
  const names = isStatusTab(tab) ? [] : ['theme', 'accent', 'locale', 'currency']
  return new URLSearchParams([...selection.rawOptions].filter(([name]) => names.includes(name)))
}

function listStudioFields({ selection, validated, defaults, product, counts, shops }: StudioData) {
  if (isStatusTab(selection.tab)) return []
  const offers = product?.offers ?? []
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
    heading: selection.tab === 'deals' ? texts.gridHeading : texts.boxHeading,
    currencies: [...new Set(offers.map(({ currency }) => currency))].sort(),
    brands: (counts?.brands ?? []).map(({ name }) => name),
  })
}

/** The title of a frame and the example of a heading are in the language of the widget. */
function getWidgetLocalization(query: URLSearchParams, { locale }: OptionDefaults): Localization {
  return getLocalization(query.get('locale') ?? locale)
}

/** A hidden widget can be embedded too, because it may have offers later. */
function toStudioWidgetView(data: StudioData): StudioWidgetView | null {
  const { channel, selection, product, widgetStatus } = data
  const { widgetQuery: query } = data.validated
  if (channel === null || widgetStatus === null) return null
  const common = { channelId: channel.id, query }
  const size = widgetStatus.kind === 'shown' ? widgetStatus.size : null
  const { messages, texts } = getWidgetLocalization(query, data.defaults)
  if (selection.tab === 'deals') {
    const grid = {
      kind: selection.tab,
      gtin: null,
      title: texts.gridHeading,
      caption: `Deals, ${channel.name}`,
      size: size ?? EMPTY_GRID_SIZE,
    }
    return toStudioWidget({ ...common, ...grid }, data)
  }
  if (isStatusTab(selection.tab) || product === null) return null
  const { gtin, title } = product
  const box = {
    kind: selection.tab,
    gtin,
    title: messages.formatBoxLabel({ title }),
    caption: `${title}, ${channel.name}`,
    size: size ?? EMPTY_BOX_SIZE,
  }
  return toStudioWidget({ ...common, ...box }, data)
}

const EMPTY_GRID_SIZE: WidgetSize = { layout: 'grid', cardCount: 0 }
const EMPTY_BOX_SIZE: WidgetSize = {
  layout: 'list',
  shownCount: 0,
  saleCount: 0,
  termsCount: 0,
  isBare: false,
  isFolded: false,
  history: 'none',
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

function findWidgetNotice({ state, product, selection, widgetStatus }: StudioData): string | null {
  if (state === null || state.currentWalk === 0)
    return 'The catalog has not been walked yet. This page shows products and deals after the first walk.'
  if (selection.tab === 'where-to-buy' && product === null) return describeNoProduct(selection)
  return widgetStatus?.kind === 'hidden'
    ? `Nothing is shown now, and the widget takes no space in a page. ${widgetStatus.reason}`
    : null
}

function describeNoProduct({ searchText, gtin }: StudioSelection): string {
  const searched = searchText === '' ? (gtin ?? '') : searchText
  return searched === ''
    ? 'The catalog has no product for this channel.'
    : `No product of this channel matches "${searched}".`
}
