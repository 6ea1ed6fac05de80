import { DAY_SECONDS, HOUR_MS, MINUTE_MS } from '../../clock.ts'
import type { Product } from '../../catalog/contract.ts'
import type { DealEntry } from '../../storage/store.ts'
import { collectDeals } from '../../offers/deals.ts'
import { compareTexts } from '../../offers/ranking.ts'
import { toGridView } from '../../widgets/deals.ts'
import {
  BOX_LAYOUTS,
  GRID_LAYOUTS,
  type GridOptions,
  type Theme,
  parseBoxOptions,
  parseGridOptions,
} from '../../widgets/options.ts'
import type { Presentation } from '../../widgets/presentation.ts'
import type { BoxView, GridView } from '../../widgets/view-models.ts'
import { toBoxView } from '../../widgets/where-to-buy.ts'
import { CHECKED_AT_MS, type GalleryCase } from './cases.ts'

/** Every layout of both widgets. */
export const LAYOUTS = [
  ...BOX_LAYOUTS.map((name) => ({ widget: 'where-to-buy', name }) as const),
  ...GRID_LAYOUTS.map((name) => ({ widget: 'deals', name }) as const),
]

/** A layout of either widget. */
export type Layout = (typeof LAYOUTS)[number]

/** `where-to-buy-list`: both widgets have a list. */
export function toLayoutId({ widget, name }: Layout): string {
  return `${widget}-${name}`
}

/** What a specimen is made with, beside its case; `locale` is for cases that name no language of their own. */
type SpecimenDetails = Readonly<{ publicUrl: string; stylePath: string; theme: Theme; locale: string }>

/** A widget as the gallery shows it, ready for its template. */
export type Specimen =
  Readonly<{ widget: 'where-to-buy'; view: BoxView }> | Readonly<{ widget: 'deals'; view: GridView }>

/** A day and a bit: the prices of a case about old ones were checked that long ago. */
const TOO_OLD_MS: number = 36 * HOUR_MS

/** A case in a layout, made by the widgets' own functions from the options that the case names. */
export function makeSpecimen(layout: Layout, entry: GalleryCase, details: SpecimenDetails): Specimen {
  const query = new URLSearchParams(layout.widget === 'deals' ? entry.query.grid : entry.query.box)
  query.set('layout', layout.name)
  query.set('theme', details.theme)
  // The page brings the style sheet itself, once.
  query.set('css', 'none')
  const defaults = { locale: details.locale, currency: null }
  const presentation: Presentation = {
    publicUrl: details.publicUrl,
    stylePath: details.stylePath,
    disclosure: { kind: 'locale' },
    priceMaxAgeSeconds: DAY_SECONDS,
    nowMs: CHECKED_AT_MS + (entry.isOld ? TOO_OLD_MS : MINUTE_MS),
    surface: 'fragment',
  }
  if (layout.widget === 'deals') {
    const pages = entry.isPaged ? { path: `${details.publicUrl}/studio/gallery`, defaults } : null
    const options = parseGridOptions(query, defaults, 'fragment')
    return { widget: 'deals', view: makeGridView(entry, options, { presentation, pages }) }
  }
  const options = parseBoxOptions(query, defaults, 'fragment')
  const data = { product: toPictured(entry.product, details.publicUrl), asOfMs: CHECKED_AT_MS }
  return { widget: 'where-to-buy', view: toBoxView(data, options, presentation) ?? fail('a box') }
}

function makeGridView(
  { onSale }: GalleryCase,
  options: GridOptions,
  surroundings: Parameters<typeof toGridView>[2],
): GridView {
  const { publicUrl } = surroundings.presentation
  const deals = onSale
    .flatMap((product) => findDeal(toPictured(product, publicUrl), options))
    .sort((a, b) => compareTexts(a.ratioKey, b.ratioKey))
  const start = (options.page - 1) * options.limit
  const shown = deals.slice(start, start + options.limit).map(({ entry }) => entry)
  const hasNext = deals.length > start + options.limit
  const data = { deals: shown, hasNext, asOfMs: CHECKED_AT_MS }
  return toGridView(data, options, surroundings) ?? fail('a grid')
}

/** A product's best deal in the currency that the case names, euros without one. */
function findDeal(
  product: Product,
  options: GridOptions,
): readonly Readonly<{ entry: DealEntry; ratioKey: string }>[] {
  const { gtin, title, brand, images, offers } = product
  const own = offers.filter(({ currency }) => currency === (options.currency ?? 'EUR'))
  const deal = collectDeals(own).find(({ isBest, isBestInStock }) =>
    options.stock === 'in' ? isBestInStock : isBest,
  )
  if (deal === undefined) return []
  const entry = {
    gtin,
    title,
    brand,
    imageUrl: images[0] ?? null,
    offer: deal.offer,
    asOfMs: CHECKED_AT_MS,
  }
  return [{ entry, ratioKey: deal.ratioKey }]
}

function toPictured(product: Product, publicUrl: string): Product {
  return { ...product, images: product.images.map((name) => `${publicUrl}/studio/gallery/pictures/${name}`) }
}

function fail(what: string): never {
  throw new TypeError(`a case of the gallery leaves ${what} with nothing to show`)
}
