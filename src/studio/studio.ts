import type { Channel, Product } from '../catalog/contract.ts'
import type { CopyState } from '../copy/store.ts'
import { cleanText } from '../offers/text.ts'
import { formatCount, formatTime } from './format.ts'
import { estimateBoxHeightPx, estimateGridHeightPx } from './heights.ts'
import { type OptionDefaults, THEMES, type Theme, parseBoxOptions, parseGridOptions } from './options.ts'
import { createParameterReader, readOr, toGivenFields } from './parameters.ts'
import { listSnippets } from './snippets.ts'
import type { StudioView, StudioWidgetView } from './view-models.ts'
import { selectOffers } from './where-to-buy.ts'

/** Longest address of a channel that the start page prints; it comes as the catalog has it. */
const MAX_SHOWN_URL_CHARACTERS = 100

/** What was chosen on the start page; everything is optional there, and what cannot be read counts as not given. */
export type StudioChoice = Readonly<{
  channelId: string | null
  gtin: string | null
  query: string
  theme: Theme
  locale: string
}>

/** What the start page shows, as data. */
export type StudioData = Readonly<{
  publicUrl: string
  styles: readonly string[]
  studioScript: string
  loaderScript: string
  isSample: boolean
  channels: readonly Channel[]
  channel: Channel | null
  choice: StudioChoice
  defaultLocale: string
  defaultCurrency: string | null
  matches: readonly Product[]
  product: Product | null
  state: CopyState | null
}>

/** Reads the start page's own query. A form sends empty fields: they count as not given. */
export function parseStudioChoice(query: URLSearchParams, defaultLocale: string): StudioChoice {
  const reader = createParameterReader(toGivenFields(query))
  return {
    channelId: readOr(() => reader.text('channel')?.toLowerCase() ?? null, null),
    gtin: readOr(() => reader.text('gtin'), null),
    query: readOr(() => reader.text('q') ?? '', ''),
    theme: readOr(() => reader.word('theme', THEMES, 'auto'), 'auto'),
    locale: readOr(() => reader.locale('locale', defaultLocale), defaultLocale),
  }
}

/** The view of the start page. */
export function toStudioView(data: StudioData): StudioView {
  const { choice, channel } = data
  return {
    publicUrl: data.publicUrl,
    styles: data.styles,
    studioScript: data.studioScript,
    loaderScript: data.loaderScript,
    isSample: data.isSample,
    channels: data.channels.map(({ id, name, url }) => ({
      id,
      name,
      url: url === null ? null : cleanText(url, MAX_SHOWN_URL_CHARACTERS),
      isChosen: id === channel?.id,
    })),
    chosenChannelId: channel?.id ?? '',
    query: choice.query,
    theme: choice.theme,
    locale: choice.locale,
    matches: data.matches.map((product) => ({
      gtin: product.gtin,
      title: product.title,
      brand: product.brand,
      imageUrl: product.images[0] ?? null,
      href: toStudioHref(data, product.gtin),
      isChosen: product.gtin === data.product?.gtin,
    })),
    box: channel === null || data.product === null ? null : toBoxWidget(data, channel, data.product),
    grid: channel === null || (data.state?.dealCount ?? 0) === 0 ? null : toGridWidget(data, channel),
    notice: findNotice(data),
    health: listHealth(data),
  }
}

function toStudioHref({ choice, channel, publicUrl, defaultLocale }: StudioData, gtin: string): string {
  const query = new URLSearchParams({ ...(channel !== null && { channel: channel.id }), gtin })
  if (choice.query !== '') query.set('q', choice.query)
  if (choice.theme !== 'auto') query.set('theme', choice.theme)
  if (choice.locale !== defaultLocale) query.set('locale', choice.locale)
  return `${publicUrl}/studio?${query.toString()}`
}

function toBoxWidget(data: StudioData, channel: Channel, product: Product): StudioWidgetView {
  const path = `${channel.id}/where-to-buy/${product.gtin}`
  const attributes = [
    { name: 'data-vitrine', value: 'where-to-buy' },
    { name: 'data-channel', value: channel.id },
    { name: 'data-gtin', value: product.gtin },
  ]
  const options = parseBoxOptions(new URLSearchParams(), toDefaults(data), 'embed')
  const frameHeightPx = estimateBoxHeightPx(selectOffers(product.offers, options).length, options.limit)
  const title = `Where to buy ${product.title}`
  return toWidget(data, { kind: 'where-to-buy', title, path, attributes, frameHeightPx })
}

function toGridWidget(data: StudioData, channel: Channel): StudioWidgetView {
  const attributes = [
    { name: 'data-vitrine', value: 'deals' },
    { name: 'data-channel', value: channel.id },
  ]
  const { limit } = parseGridOptions(new URLSearchParams(), toDefaults(data), 'embed')
  const frameHeightPx = estimateGridHeightPx(Math.min(data.state?.dealCount ?? 0, limit))
  return toWidget(data, {
    kind: 'deals',
    title: 'Deals',
    path: `${channel.id}/deals`,
    attributes,
    frameHeightPx,
  })
}

function toDefaults({ defaultLocale, defaultCurrency }: StudioData): OptionDefaults {
  return { locale: defaultLocale, currency: defaultCurrency }
}

type WidgetParts = Readonly<{
  kind: StudioWidgetView['kind']
  title: string
  path: string
  attributes: StudioWidgetView['attributes']
  frameHeightPx: number
}>

function toWidget(data: StudioData, parts: WidgetParts): StudioWidgetView {
  const { kind, title, path, attributes, frameHeightPx } = parts
  const { publicUrl, choice, defaultLocale } = data
  const query = new URLSearchParams()
  if (choice.theme !== 'auto') query.set('theme', choice.theme)
  if (choice.locale !== defaultLocale) query.set('locale', choice.locale)
  const suffix = query.size === 0 ? '' : `?${query.toString()}`
  const fragmentUrl = `${publicUrl}/fragments/${path}${suffix}`
  const embedUrl = `${publicUrl}/embeds/${path}${suffix}`
  const all = [...attributes, ...[...query].map(([name, value]) => ({ name: `data-${name}`, value }))]
  const snippets = listSnippets({
    publicUrl,
    fragmentUrl,
    embedUrl,
    title,
    frameHeightPx,
    attributes: all,
  })
  return { kind, title, fragmentUrl, embedUrl, attributes: all, snippets }
}

function findNotice({ channel, state, product, choice }: StudioData): string | null {
  if (channel === null)
    return 'No channel is known yet: the catalog has not answered. "vitrine check" says why.'
  if (state === null || state.currentWalk === 0) {
    return 'The catalog has not been walked yet. This page shows products and deals as soon as it has.'
  }
  const wanted = choice.query === '' ? (choice.gtin ?? '') : choice.query
  if (product === null && wanted === '') return 'The catalog has no product for this channel.'
  if (product === null) return `No product of this channel matches "${wanted}".`
  return state.dealCount === 0 ? 'No offer of this channel is on sale now, so its deal grid is hidden.' : null
}

function listHealth({ state, channels }: StudioData): StudioView['health'] {
  const lines = [
    { label: 'Channels', value: formatCount(channels.length, 'en'), isGood: channels.length > 0 },
  ]
  if (state === null) return lines
  const walkedAtMs = state.completedAtMs
  const dropped = Object.entries(state.drops).map(
    ([reason, count]) => `${formatCount(count, 'en')} by ${reason}`,
  )
  return [
    ...lines,
    { label: 'Products', value: formatCount(state.productCount, 'en'), isGood: state.productCount > 0 },
    { label: 'Products with a deal', value: formatCount(state.dealCount, 'en'), isGood: true },
    {
      label: 'Last complete walk',
      value: walkedAtMs === null ? 'none yet' : formatTime(walkedAtMs, 'en'),
      isGood: walkedAtMs !== null,
    },
    { label: 'Last walk failed with', value: state.failure ?? 'nothing', isGood: state.failure === null },
    { label: 'Left out', value: dropped.length === 0 ? 'nothing' : dropped.join(', '), isGood: true },
  ]
}
