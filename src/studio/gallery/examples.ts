import type { Product } from '../../catalog/contract.ts'
import { DAY_SECONDS, HOUR_MS, MINUTE_MS } from '../../clock.ts'
import { removeSubSlots } from '../../lib/sub-template.ts'
import { collectDeals } from '../../offers/deals.ts'
import { compareTexts, isInStock } from '../../offers/ranking.ts'
import { type ShopBook, createShopBook } from '../../offers/shop-book.ts'
import { NO_SUB_RULES } from '../../offers/sub-ids.ts'
import type { DealEntry } from '../../storage/store.ts'
import { toGridView } from '../../widgets/grid.ts'
import {
  type BoxFilters,
  type SelectedProduct,
  selectProduct,
  limitBoxRows,
  limitPicksRows,
} from '../../widgets/offer-selection.ts'
import { BOX_LAYOUTS, GRID_LAYOUTS, PICKS_LAYOUTS, THEMES, type Theme } from '../../widgets/option-list.ts'
import {
  type BoxOptions,
  type GridOptions,
  type PicksOptions,
  parseBoxOptions,
  parseGridOptions,
  parsePicksOptions,
} from '../../widgets/options.ts'
import { toPicksView } from '../../widgets/picks.ts'
import type { Renderer } from '../../widgets/render.ts'
import type { BoxView } from '../../widgets/box.ts'
import type { GridView } from '../../widgets/grid.ts'
import type { PicksView } from '../../widgets/picks.ts'
import type { ViewContext } from '../../widgets/view-parts.ts'
import { toBoxHistory, toBoxView } from '../../widgets/box.ts'
import {
  MAGAZINE_ACCENT,
  PRICES_CHECKED_AT_MS,
  type GalleryCase,
  getGalleryShops,
  toObservedSeries,
} from './cases.ts'
import type { AnyView } from '../../widgets/view-models.ts'

export const LAYOUTS = [
  ...BOX_LAYOUTS.map((name) => ({ widget: 'where-to-buy', name }) as const),
  ...PICKS_LAYOUTS.map((name) => ({ widget: 'picks', name }) as const),
  ...GRID_LAYOUTS.map((name) => ({ widget: 'deals', name }) as const),
]

export type Layout = (typeof LAYOUTS)[number]

/** Return an id such as `where-to-buy-list`; two widgets have a layout "list". */
export function toLayoutId({ widget, name }: Layout): string {
  return `${widget}-${name}`
}

/** `magazine`: the light theme with an accent, and with the properties that the gallery's style sheet sets. */
export type GalleryTheme = Theme | 'magazine'

export const GALLERY_THEMES: readonly GalleryTheme[] = [...THEMES, 'magazine']

/** `locale` applies to cases without a `locale` option. */
type ExampleOptions = Readonly<{ publicUrl: string; stylePath: string; theme: GalleryTheme; locale: string }>

/** Render an example, without the id of a placement. */
export function renderExample(renderer: Renderer, view: AnyView): string {
  return removeSubSlots(renderer.renderWidget(view))
}

/** More than the maximum age of a price in the gallery, one day. */
const OLD_PRICES_AGE_MS: number = 36 * HOUR_MS

const NO_SHOPS: ShopBook = createShopBook([])

/** Whether a case is shown in a layout: `inline` needs an offer in stock with a current price, and has no variants. */
export function hasExample({ widget, name }: Layout, entry: GalleryCase): boolean {
  if (widget === 'where-to-buy' && name !== 'inline') return true
  if (widget === 'where-to-buy')
    return !entry.isOld && !entry.hasVariants && entry.product.offers.some((offer) => isInStock(offer))
  if (entry.hasVariants || entry.isStandIn) return false
  return widget === 'deals' || (!entry.isPaged && entry.observed.length === 0)
}

export function createExample(layout: Layout, entry: GalleryCase, exampleOptions: ExampleOptions): AnyView {
  const query = toQuery(layout, entry, exampleOptions)
  const viewContext: ViewContext = {
    publicUrl: exampleOptions.publicUrl,
    stylePath: exampleOptions.stylePath,
    disclosure: { kind: 'locale' },
    timeZone: 'UTC',
    shops: entry.hasShops ? getGalleryShops().book : NO_SHOPS,
    priceMaxAgeSeconds: DAY_SECONDS,
    nowMs: PRICES_CHECKED_AT_MS + (entry.isOld ? OLD_PRICES_AGE_MS : MINUTE_MS),
    surface: 'fragment',
    subRules: NO_SUB_RULES,
    countedBaseUrl: null,
  }
  const defaults = { locale: exampleOptions.locale, currency: null }
  if (layout.widget === 'deals') {
    const pages = entry.isPaged ? { path: `${exampleOptions.publicUrl}/studio/gallery`, defaults } : null
    const options = parseGridOptions(query, defaults, 'fragment')
    return createGridView(entry, options, { viewContext, pages })
  }
  if (layout.widget === 'picks') {
    const options = parsePicksOptions(query, defaults, 'fragment')
    return createPicksView(entry, options, viewContext)
  }
  const options = parseBoxOptions(query, defaults, 'fragment')
  return createBoxView(entry, options, viewContext)
}

function toQuery(layout: Layout, entry: GalleryCase, { theme }: ExampleOptions): URLSearchParams {
  const query = new URLSearchParams(layout.widget === 'deals' ? entry.query.grid : entry.query.box)
  query.set('layout', layout.name)
  query.set('theme', theme === 'magazine' ? 'light' : theme)
  if (theme === 'magazine') query.set('accent', query.get('accent') ?? MAGAZINE_ACCENT)
  // The page links the style sheet once for all widgets.
  query.set('css', 'none')
  return query
}

function createPicksView(
  { picks, labels }: GalleryCase,
  options: PicksOptions,
  viewContext: ViewContext,
): PicksView {
  const selected = picks.flatMap((product, index) => {
    const one = selectExample(product, options, viewContext)
    return one === undefined ? [] : [{ ...one, label: labels[index] || null }]
  })
  const labelled = limitPicksRows(selected, viewContext).map((shown, index) => ({
    ...shown,
    label: selected[index]?.label ?? null,
  }))
  return toPicksView(labelled, options, viewContext) ?? throwEmptyCase('a round-up')
}

function createBoxView(entry: GalleryCase, options: BoxOptions, viewContext: ViewContext): BoxView {
  const otherPicks = entry.hasVariants ? entry.picks.slice(1) : []
  const selected = [entry.product, ...otherPicks].flatMap(
    (product) => selectExample(product, options, viewContext) ?? [],
  )
  const [data = throwEmptyCase('a box'), ...variants] = limitBoxRows(selected, options, viewContext)
  const history = toBoxHistory({ ...data, series: [toObservedSeries(entry.observed)] }, options, viewContext)
  return toBoxView({ ...data, history, variants, isStandIn: entry.isStandIn }, options, viewContext)
}

function selectExample(
  product: Product,
  options: BoxFilters,
  viewContext: ViewContext,
): SelectedProduct | undefined {
  const dated = { product: withPictureUrls(product, viewContext.publicUrl), asOfMs: PRICES_CHECKED_AT_MS }
  return selectProduct(dated, options, viewContext)
}

function createGridView(
  { dealProducts }: GalleryCase,
  options: GridOptions,
  details: Parameters<typeof toGridView>[2],
): GridView {
  const { publicUrl } = details.viewContext
  const deals = dealProducts
    .flatMap((product) => findDeal(withPictureUrls(product, publicUrl), options))
    .sort((a, b) => compareTexts(a.ratioKey, b.ratioKey))
  const start = (options.page - 1) * options.limit
  const shownDeals = deals.slice(start, start + options.limit).map(({ entry }) => entry)
  const hasNext = deals.length > start + options.limit
  const data = { deals: shownDeals, hasNext, asOfMs: PRICES_CHECKED_AT_MS }
  return toGridView(data, options, details) ?? throwEmptyCase('a grid')
}

/** Return the best deal of a product in the currency of the case (default EUR), in a list of at most one. */
function findDeal(
  product: Product,
  options: GridOptions,
): readonly Readonly<{ entry: DealEntry; ratioKey: string }>[] {
  const { gtin, title, brand, images, offers } = product
  const matchingOffers = offers.filter(({ currency }) => currency === (options.currency ?? 'EUR'))
  const deal = collectDeals(matchingOffers).find(({ isBest, isBestInStock }) =>
    options.stock === 'in' ? isBestInStock : isBest,
  )
  if (deal === undefined) return []
  const entry = {
    gtin,
    title,
    brand,
    imageUrl: images[0] ?? null,
    offer: deal.offer,
    hasFall: options.sort === 'drop' || options.evidence === 'observed',
    firstSeenMs: PRICES_CHECKED_AT_MS,
    asOfMs: PRICES_CHECKED_AT_MS,
  }
  return [{ entry, ratioKey: deal.ratioKey }]
}

function withPictureUrls(product: Product, publicUrl: string): Product {
  return { ...product, images: product.images.map((name) => `${publicUrl}/studio/gallery/pictures/${name}`) }
}

function throwEmptyCase(widgetName: string): never {
  throw new TypeError(`a case of the gallery gives ${widgetName} nothing to show`)
}
