import { hash } from 'node:crypto'
import type { Channel } from '../catalog/contract.ts'
import { isFuture } from '../clock.ts'
import type { DealPage } from '../freshness/deals.ts'
import type { Visitor } from '../lib/fair-queue.ts'
import { createSubSlot } from '../lib/sub-template.ts'
import type { DealSort } from '../offers/deals.ts'
import { findPriceTimes, findSaleEndMs, isPriceShown } from '../offers/price-age.ts'
import { foldCase } from '../offers/text.ts'
import type { DealEntry, DealQuery } from '../storage/store.ts'
import type { GridAddress, WidgetAddress } from './address.ts'
import { CHANNEL_GONE_REASON, MAIL_GRID_NOTE, explainHiddenGrid } from './hidden-reasons.ts'
import { type Localization, type LocaleTexts, getLocalization } from './locales/index.ts'
import { expandShops } from './offer-selection.ts'
import { OPTION_ROWS } from './option-list.ts'
import { type OptionDefaults, type Surface, type GridOptions, toQuery, withQuery } from './options.ts'
import { toPictureView } from './picture.ts'
import {
  type ViewContext,
  findShownBrand,
  toHeaderView,
  toNoticesView,
  toOfferView,
  toWrapperView,
  getDefaultHeading,
} from './view-parts.ts'
import {
  type Widget,
  type WidgetsOptions,
  createDigestFunction,
  createViewContext,
  findAllowedNetworks,
  computeValidUntilMs,
  toEmptyResult,
} from './widget.ts'

const NO_DEALS: DealPage = { deals: [], hasNext: false }

/** Surfaces with links to the next page, and the prefixes of their addresses. */
const PAGED_SURFACES: ReadonlyMap<Surface, string> = new Map([
  ['embed', 'embeds'],
  ['data', 'data'],
])

/** Read the data of a grid. `visitor`: who waits. @throws UnknownChannelError, UnavailableError */
export async function getGrid(
  dependencies: WidgetsOptions,
  defaults: OptionDefaults,
  { address, visitor }: Readonly<{ address: GridAddress; visitor: Visitor }>,
): Promise<Widget<GridView>> {
  const { surface } = address
  const options = expandShops(address.options, dependencies.shops)
  const { channel, isGone } = await dependencies.channels.getChannel(address.channelId)
  const networks = findAllowedNetworks(dependencies, surface)
  const query = toDealQuery(channel.id, options.currency, options, networks)
  const { value, asOfMs, status, validUntilMs } = isGone
    ? toEmptyResult(dependencies, NO_DEALS)
    : await dependencies.deals.getDeals({ ...visitor, query })
  const viewContext = createViewContext(dependencies, address)
  const { oldestPriceMs, ...times } = findPriceTimes(value.deals, viewContext)
  const checkedAtMs = times.checkedAtMs ?? asOfMs
  // A deal disappears at the end of its sale, even if its price is not shown.
  const saleEndMs = findSaleEndMs(value.deals.map(({ offer }) => offer))
  const prefix = PAGED_SURFACES.get(surface)
  const pages =
    prefix === undefined
      ? null
      : { path: `${dependencies.publicUrl}/${prefix}/${channel.id}/deals`, defaults }
  return {
    address,
    computeDigest: createDigestFunction(
      [
        isGone ? 'gone' : checkedAtMs,
        isFuture(checkedAtMs, viewContext.nowMs),
        value.hasNext,
        ...(surface === 'feed' ? [channel.name, channel.url ?? ''] : []),
        ...value.deals.map((deal) => isPriceShown(deal, viewContext)),
      ],
      [value.deals],
    ),
    explainHidden() {
      if (isGone) return CHANNEL_GONE_REASON
      const reason = explainHiddenGrid(address.options, defaults)
      return surface === 'mail' ? `${reason} ${MAIL_GRID_NOTE}` : reason
    },
    explainMissing: () => null,
    gtins: [],
    productStates: [],
    isShown: value.deals.length > 0,
    getView: () => toGridView({ ...value, asOfMs: checkedAtMs }, address.options, { viewContext, pages }),
    channel,
    asOfMs,
    oldestPriceMs,
    saleEndMs,
    status,
    validUntilMs: computeValidUntilMs(dependencies, validUntilMs, { oldestPriceMs, saleEndMs }),
    // A page of deals is reused for at most a second (`DealSource`).
    isOutdated: () => false,
    isPartial: false,
  }
}

/** A page of deals. `asOfMs`: time of its oldest price, Unix milliseconds. */
export type GridData = Readonly<{ deals: readonly DealEntry[]; hasNext: boolean; asOfMs: number }>

/** The address of the grid, for page links, which only frames have. */
export type GridPageLinks = Readonly<{ path: string; defaults: OptionDefaults }>

/** Convert the options of a grid to a query with one more deal than shown, to detect a next page. */
export function toDealQuery<Currency extends string | null>(
  channelId: string,
  currency: Currency,
  options: GridOptions,
  networks: readonly string[] | null = null,
): Omit<DealQuery, 'currency'> & Readonly<{ currency: Currency }> {
  return {
    channelId,
    currency,
    isInStockOnly: options.stock === 'in',
    merchants: options.merchants,
    excluded: options.excluded,
    networks,
    minDiscountPercent: options.minDiscountPercent,
    maxPrice: options.maxPrice,
    brand: options.brand,
    searchText: options.searchText,
    evidence: options.evidence,
    sort: options.sort,
    limit: options.limit + 1,
    offset: (options.page - 1) * options.limit,
  }
}

export type GridView = NonNullable<ReturnType<typeof toGridView>>
export type DealView = GridView['deals'][number]

/** Build the view of a deal grid; `undefined` when it is hidden. */
export function toGridView(
  data: GridData,
  options: GridOptions,
  { viewContext, pages }: Readonly<{ viewContext: ViewContext; pages: GridPageLinks | null }>,
) {
  if (data.deals.length === 0) return undefined
  const localization = getLocalization(options.locale)
  const { texts } = localization
  const header = toHeaderView(options, texts.gridHeading, viewContext)
  const deals = data.deals.map((entry) => toDealView(entry, options, { localization, viewContext }))
  return {
    kind: 'deals' as const,
    wrapper: toWrapperView(options, localization, viewContext),
    layout: options.layout,
    label: header.heading,
    header,
    deals,
    linkText: texts.toShop,
    /** Accessible names of the carousel's buttons. */
    carouselLabels: { previous: texts.previousDeals, next: texts.nextDeals },
    notices: toNoticesView(
      {
        checkedAtMs: data.asOfMs,
        order: [texts.gridOrder[findShownOrder(data.deals, options)]],
        offers: deals,
      },
      localization,
      viewContext,
    ),
    paging: pages === null ? null : toPaging(data, options, { texts, pages }),
  }
}

/** Without any known fall, deals are in the order of their discounts. */
function findShownOrder(deals: GridData['deals'], { sort }: Pick<GridOptions, 'sort'>): DealSort {
  return sort === 'drop' && deals[0]?.hasFall !== true ? 'discount' : sort
}

function toDealView(
  deal: DealEntry,
  { layout, evidence }: Pick<GridOptions, 'layout' | 'evidence'>,
  { localization, viewContext }: Readonly<{ localization: Localization; viewContext: ViewContext }>,
) {
  const { gtin, title, imageUrl, offer } = deal
  const offerView = toOfferView(offer, {
    gtin,
    isPriced: isPriceShown(deal, viewContext),
    evidence,
    localization,
    viewContext,
  })
  return {
    ...offerView,
    /** When this server first saw the deal, RFC 3339. */
    firstSeen: new Date(deal.firstSeenMs).toISOString(),
    title,
    brand: findShownBrand(deal),
    picture: toPictureView(imageUrl, layout === 'list' ? 96 : 240, viewContext),
    merchantParts: localization.messages.splitAtMerchant({ merchant: offerView.merchant }),
  }
}

/** Build the links to the previous and next page; `null` without any. */
function toPaging(
  data: GridData,
  options: GridOptions,
  { texts, pages }: Readonly<{ texts: LocaleTexts; pages: GridPageLinks }>,
) {
  const toLink = (page: number, text: string): Readonly<{ href: string; text: string }> => {
    const query = toQuery('deals', { ...options, page }, pages.defaults)
    const href = withQuery(pages.path, query)
    return { href: `${href}${createSubSlot(query === '' ? '?sub=' : '&sub=')}`, text }
  }
  const previous = options.page > 1 ? toLink(options.page - 1, texts.previousPage) : null
  const next =
    data.hasNext && options.page < OPTION_ROWS.deals.page.control.max
      ? toLink(options.page + 1, texts.nextPage)
      : null
  return previous === null && next === null ? null : { previous, next, label: texts.pages }
}

export type DealsFeedView = ReturnType<typeof toDealsFeedView>

/** `asOfMs`: time of the data, Unix milliseconds. */
type FeedOptions = Readonly<{
  address: Pick<WidgetAddress, 'path'> & Readonly<{ options: Pick<GridOptions, 'locale' | 'heading'> }>
  channel: Pick<Channel, 'id' | 'name' | 'url'>
  asOfMs: number
  publicUrl: string
}>

/** Build the view of a feed of deals. `grid`: `undefined` without deals. */
export function toDealsFeedView(
  grid: GridView | undefined,
  { address, channel, asOfMs, publicUrl }: FeedOptions,
) {
  const localization = getLocalization(address.options.locale)
  const heading = address.options.heading ?? getDefaultHeading('deals', localization)
  const entries = (grid?.deals ?? []).map((deal) => toEntry(deal, channel.id))
  const times = entries.map(({ updated }) => updated).sort()
  return {
    lang: localization.lang,
    url: `${publicUrl}/feeds/${address.path.replace('/deals', '/deals.atom')}`,
    siteUrl: channel.url,
    siteName: channel.name,
    title: `${heading} – ${channel.name}`,
    updated: times.at(-1) ?? new Date(asOfMs).toISOString(),
    disclosure: grid?.header.disclosure ?? null,
    checkedAt: grid?.notices.checkedAt ?? null,
    entries,
  }
}

function toEntry(deal: DealView, channelId: string) {
  return {
    /** The same for all networks and spellings of a shop. */
    id: `urn:uuid:${toUuid(`${channelId} ${deal.gtin} ${foldCase(deal.countedMerchant)}`)}`,
    /** Without the price, which readers of feeds keep. */
    title: `${deal.title} – ${deal.merchant}`,
    updated: deal.firstSeen,
    deal,
  }
}

/** Derive a UUID of version 8 (RFC 9562) from a text. */
function toUuid(text: string): string {
  const hex = hash('sha256', text)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
