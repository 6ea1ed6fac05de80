import { DEAL_SORTS, type DealSort } from '../offers/deals.ts'
import { foldCase } from '../offers/text.ts'
import { createParameterReader, type ParameterReader } from './parameters.ts'

/** Options of both widgets, parsed and normal: what the answer depends on beside its address. */
export type CommonOptions = Readonly<{
  theme: Theme
  /** Six hex digits in lower case; `null`: the theme's own. */
  accent: string | null
  /** Language with script and region, without variants and extensions. */
  locale: string
  /** `null`: the currency that most of the offers have. */
  currency: string | null
  stock: 'in' | 'any'
  /** Merchants' names without case, sorted; empty: all. */
  merchants: readonly string[]
  excluded: readonly string[]
  isolate: 'none' | 'shadow'
  css: 'link' | 'none'
}>

/** How a where-to-buy box can be laid out. */
export const BOX_LAYOUTS = ['list', 'table', 'card', 'button'] as const
export type BoxLayout = (typeof BOX_LAYOUTS)[number]

/** How a deal grid can be laid out. */
export const GRID_LAYOUTS = ['grid', 'list', 'carousel'] as const
export type GridLayout = (typeof GRID_LAYOUTS)[number]

/** Options of a where-to-buy box. */
export type BoxOptions = CommonOptions &
  Readonly<{ layout: BoxLayout; limit: number; markup: 'none' | 'schema' }>

/** Options of a deal grid. */
export type GridOptions = CommonOptions &
  Readonly<{
    layout: GridLayout
    limit: number
    page: number
    sort: DealSort
    minDiscountPercent: number
    /** Decimal text in the grid's currency. */
    maxPrice: string | null
    brand: string | null
    words: string | null
  }>

/** What stands where a widget names nothing. */
export type OptionDefaults = Readonly<{ locale: string; currency: string | null }>

/** Where the widget goes: a frame has no host page to isolate from, to style it or to mark up, and links its own styles. */
export type Surface = 'fragment' | 'embed'

/** Which colours a widget has; `auto`: those that the reader's system prefers. */
export const THEMES = ['auto', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]
/** Only what is in stock, or everything. */
export const STOCKS = ['in', 'any'] as const
/** How a fragment stands against the styles of its page. */
export const ISOLATIONS = ['none', 'shadow'] as const
/** Who brings a fragment's style sheet. */
export const STYLE_SHEETS = ['link', 'none'] as const
/** What a fragment tells search engines beside its words. */
export const MARKUPS = ['none', 'schema'] as const

/**
 * Reads the options of a where-to-buy box; parameters that are not its own are passed over.
 * @throws BadOptionError
 */
export function parseBoxOptions(
  query: URLSearchParams,
  defaults: OptionDefaults,
  surface: Surface,
): BoxOptions {
  const reader = createParameterReader(query)
  const layout = reader.word('layout', BOX_LAYOUTS, 'list')
  const limit = reader.number('limit', { min: 1, max: 50 }, 5)
  const markup = reader.word('markup', MARKUPS, 'none')
  const common = readCommon(reader, defaults, 'any')
  return surface === 'embed'
    ? { ...common, isolate: 'none', css: 'none', layout, limit, markup: 'none' }
    : { ...common, layout, limit, markup }
}

/**
 * Reads the options of a deal grid; parameters that are not its own are passed over.
 * @throws BadOptionError
 */
export function parseGridOptions(
  query: URLSearchParams,
  defaults: OptionDefaults,
  surface: Surface,
): GridOptions {
  const reader = createParameterReader(query)
  const own = {
    layout: reader.word('layout', GRID_LAYOUTS, 'grid'),
    limit: reader.number('limit', { min: 1, max: 60 }, 12),
    page: reader.number('page', { min: 1, max: 1_000 }, 1),
    sort: reader.word('sort', DEAL_SORTS, 'discount'),
    minDiscountPercent: reader.number('min_discount', { min: 1, max: 99 }, 1),
    maxPrice: reader.price('max_price'),
    brand: reader.text('brand'),
    words: reader.text('q'),
  } as const
  const common = readCommon(reader, defaults, 'in')
  return surface === 'embed' ? { ...common, isolate: 'none', css: 'none', ...own } : { ...common, ...own }
}

/** Parameters by the options that they set, in the order of addresses; lists are repeated. */
const PARAMETERS: readonly (readonly [name: string, option: string])[] = [
  ['theme', 'theme'],
  ['accent', 'accent'],
  ['locale', 'locale'],
  ['currency', 'currency'],
  ['stock', 'stock'],
  ['merchant', 'merchants'],
  ['exclude', 'excluded'],
  ['isolate', 'isolate'],
  ['css', 'css'],
  ['layout', 'layout'],
  ['limit', 'limit'],
  ['markup', 'markup'],
  ['sort', 'sort'],
  ['min_discount', 'minDiscountPercent'],
  ['max_price', 'maxPrice'],
  ['brand', 'brand'],
  ['q', 'words'],
  ['page', 'page'],
]

type OptionValue = string | number | readonly string[] | null

/**
 * Return the query string that gives these options of a surface again, without those that have their defaults: equal for equal
 * options and for nothing else.
 */
export function toQuery(
  options: BoxOptions | GridOptions,
  defaults: OptionDefaults,
  surface: Surface = 'embed',
): string {
  const parse = 'sort' in options ? parseGridOptions : parseBoxOptions
  const plain = new Map<string, OptionValue>(Object.entries(parse(new URLSearchParams(), defaults, surface)))
  const given = new Map<string, OptionValue>(Object.entries(options))
  const query = new URLSearchParams()
  for (const [name, option] of PARAMETERS) {
    const value = given.get(option) ?? []
    if (typeof value === 'object') for (const text of value) query.append(name, text)
    else if (value !== plain.get(option)) query.set(name, String(value))
  }
  return query.toString()
}

/** An address with its query, if there is one. */
export function withQuery(address: string, query: string): string {
  return query === '' ? address : `${address}?${query}`
}

function readCommon(reader: ParameterReader, defaults: OptionDefaults, stock: 'in' | 'any'): CommonOptions {
  const isolate = reader.word('isolate', ISOLATIONS, 'none')
  const css = reader.word('css', STYLE_SHEETS, 'link')
  return {
    theme: reader.word('theme', THEMES, 'auto'),
    accent: reader.color('accent'),
    locale: reader.locale('locale', defaults.locale),
    currency: reader.currency('currency') ?? defaults.currency,
    stock: reader.word('stock', STOCKS, stock),
    merchants: toNames(reader.names('merchant')),
    excluded: toNames(reader.names('exclude')),
    isolate,
    // No style of the page reaches into a shadow root: without a link of its own nothing would style it.
    css: isolate === 'shadow' ? 'link' : css,
  }
}

function toNames(names: readonly string[]): readonly string[] {
  return [...new Set(names.map(foldCase))].sort()
}
