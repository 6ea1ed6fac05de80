import { DAY_SECONDS, HOUR_MS, MINUTE_MS } from '../../clock.ts'
import type { Product } from '../../catalog/contract.ts'
import type { DealEntry } from '../../storage/store.ts'
import { collectDeals } from '../../offers/deals.ts'
import { NO_SUB_RULES } from '../../offers/sub-ids.ts'
import { compareTexts, isInStock } from '../../offers/ranking.ts'
import { type ShopBook, createShopBook } from '../../offers/shop-book.ts'
import { toGridView } from '../../widgets/deals.ts'
import { BOX_LAYOUTS, GRID_LAYOUTS, THEMES, type Theme } from '../../widgets/option-list.ts'
import { type GridOptions, parseBoxOptions, parseGridOptions } from '../../widgets/options.ts'
import type { ViewContext } from '../../widgets/view-parts.ts'
import type { BoxView, GridView } from '../../widgets/view-models.ts'
import { toBoxHistory, toBoxView } from '../../widgets/where-to-buy.ts'
import {
  MAGAZINE_ACCENT,
  PRICES_CHECKED_AT_MS,
  type GalleryCase,
  getGalleryShops,
  toObservedSeries,
} from './cases.ts'

export const LAYOUTS = [
  ...BOX_LAYOUTS.map((name) => ({ widget: 'where-to-buy', name }) as const),
  ...GRID_LAYOUTS.map((name) => ({ widget: 'deals', name }) as const),
]

export type Layout = (typeof LAYOUTS)[number]

/** Return an id such as `where-to-buy-list`; both widgets have a layout "list". */
export function toLayoutId({ widget, name }: Layout): string {
  return `${widget}-${name}`
}

/** `magazine`: the light theme with an accent, and with the properties that the gallery's style sheet sets. */
export type GalleryTheme = Theme | 'magazine'

export const GALLERY_THEMES: readonly GalleryTheme[] = [...THEMES, 'magazine']

/** `locale` applies to cases without a `locale` option. */
type ExampleDetails = Readonly<{ publicUrl: string; stylePath: string; theme: GalleryTheme; locale: string }>

export type GalleryExample =
  Readonly<{ widget: 'where-to-buy'; view: BoxView }> | Readonly<{ widget: 'deals'; view: GridView }>

/** More than the maximum age of a price in the gallery, one day. */
const OLD_PRICES_AGE_MS: number = 36 * HOUR_MS

const NO_SHOPS: ShopBook = createShopBook([])

/** Whether a case is shown in a layout: `inline` needs an offer in stock with a current price. */
export function hasExample({ name }: Layout, { isOld, product }: GalleryCase): boolean {
  return name !== 'inline' || (!isOld && product.offers.some((offer) => isInStock(offer)))
}

export function createExample(layout: Layout, entry: GalleryCase, details: ExampleDetails): GalleryExample {
  const query = new URLSearchParams(layout.widget === 'deals' ? entry.query.grid : entry.query.box)
  query.set('layout', layout.name)
  query.set('theme', details.theme === 'magazine' ? 'light' : details.theme)
  if (details.theme === 'magazine') query.set('accent', query.get('accent') ?? MAGAZINE_ACCENT)
  // The page links the style sheet once for all widgets.
  query.set('css', 'none')
  const defaults = { locale: details.locale, currency: null }
  const viewContext: ViewContext = {
    publicUrl: details.publicUrl,
    stylePath: details.stylePath,
    disclosure: { kind: 'locale' },
    timeZone: 'UTC',
    shops: entry.hasShops ? getGalleryShops().book : NO_SHOPS,
    priceMaxAgeSeconds: DAY_SECONDS,
    nowMs: PRICES_CHECKED_AT_MS + (entry.isOld ? OLD_PRICES_AGE_MS : MINUTE_MS),
    surface: 'fragment',
    subRules: NO_SUB_RULES,
    countedBaseUrl: null,
  }
  if (layout.widget === 'deals') {
    const pages = entry.isPaged ? { path: `${details.publicUrl}/studio/gallery`, defaults } : null
    const options = parseGridOptions(query, defaults, 'fragment')
    return { widget: 'deals', view: createGridView(entry, options, { viewContext, pages }) }
  }
  const options = parseBoxOptions(query, defaults, 'fragment')
  const data = {
    product: withPictureUrls(entry.product, details.publicUrl),
    asOfMs: PRICES_CHECKED_AT_MS,
  }
  const history = toBoxHistory({ ...data, series: [toObservedSeries(entry.observed)] }, options, viewContext)
  const view = toBoxView({ ...data, history }, options, viewContext) ?? throwEmptyCase('a box')
  return { widget: 'where-to-buy', view }
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
