import { DEAL_SORTS, EVIDENCES } from '../offers/deals.ts'
import { foldCase } from '../offers/text.ts'
import {
  BOX_LAYOUTS,
  GRID_LAYOUTS,
  HEADS,
  HISTORIES,
  ISOLATIONS,
  MARKUPS,
  OPTION_LIST,
  PICKS_LAYOUTS,
  STOCKS,
  STYLE_SHEET_SOURCES,
  THEMES,
} from './option-list.ts'
import { type ParameterReader, createParameterReader } from './parameters.ts'

/** Defaults of the server. */
export type OptionDefaults = Readonly<{ locale: string; currency: string | null }>

/**
 * A fragment is part of a host page; an embed is a separate document in a frame; data is JSON; mail is part of a newsletter; a feed
 * is Atom.
 */
export type Surface = 'fragment' | 'embed' | 'data' | 'mail' | 'feed'

/** Parsed and normalized options of a where-to-buy box. */
export type BoxOptions = ReturnType<typeof parseBoxOptions>

/**
 * Parse the options of a where-to-buy box; other parameters are ignored.
 * @throws BadOptionError
 */
export function parseBoxOptions(query: URLSearchParams, defaults: OptionDefaults, surface: Surface) {
  const reader = createParameterReader(query)
  const layout = reader.oneOf('layout', BOX_LAYOUTS, 'list')
  const limit = reader.number('limit', { min: 1, max: 50 }, 5)
  const history = reader.oneOf('history', HISTORIES, 'none')
  /** Padded GTINs. */
  const standIns = reader.gtins('else')
  const markup = reader.oneOf('markup', MARKUPS, 'none')
  const common = parseCommonOptions(reader, { defaults, surface, stock: 'any' })
  return { ...common, layout, limit, history, standIns, markup: surface === 'fragment' ? markup : 'none' }
}

/** Parsed and normalized options of a round-up. */
export type PicksOptions = ReturnType<typeof parsePicksOptions>

/**
 * Parse the options of a round-up; other parameters are ignored.
 * @throws BadOptionError
 */
export function parsePicksOptions(query: URLSearchParams, defaults: OptionDefaults, surface: Surface) {
  const reader = createParameterReader(query)
  const layout = reader.oneOf('layout', PICKS_LAYOUTS, 'rank')
  /** By position of the product in the address; an empty text is no label. */
  const labels = reader.labels('label')
  return { ...parseCommonOptions(reader, { defaults, surface, stock: 'any' }), layout, labels }
}

/** Parsed and normalized options of a deal grid. */
export type GridOptions = ReturnType<typeof parseGridOptions>

/**
 * Parse the options of a deal grid; other parameters are ignored.
 * @throws BadOptionError
 */
export function parseGridOptions(query: URLSearchParams, defaults: OptionDefaults, surface: Surface) {
  const reader = createParameterReader(query)
  const own = {
    layout: reader.oneOf('layout', GRID_LAYOUTS, 'grid'),
    limit: reader.number('limit', { min: 1, max: 60 }, 12),
    page: reader.number('page', { min: 1, max: 1_000 }, 1),
    sort: reader.oneOf('sort', DEAL_SORTS, 'discount'),
    evidence: reader.oneOf('evidence', EVIDENCES, 'shop'),
    minDiscountPercent: reader.number('min_discount', { min: 1, max: 99 }, 1),
    /** Decimal text in the grid's currency. */
    maxPrice: reader.price('max_price'),
    brand: reader.text('brand'),
    searchText: reader.text('q'),
  }
  return { ...parseCommonOptions(reader, { defaults, surface, stock: 'in' }), ...own }
}

/** Options of all widgets. */
export type CommonOptions = ReturnType<typeof parseCommonOptions>

type CommonOptionDetails = Readonly<{ defaults: OptionDefaults; surface: Surface; stock: 'in' | 'any' }>

function parseCommonOptions(reader: ParameterReader, { defaults, surface, stock }: CommonOptionDetails) {
  const isolate = reader.oneOf('isolate', ISOLATIONS, 'none')
  const css = reader.oneOf('css', STYLE_SHEET_SOURCES, 'link')
  const own = {
    theme: reader.oneOf('theme', THEMES, 'auto'),
    head: reader.oneOf('head', HEADS, 'full'),
    /** `null`: the text of the language. */
    heading: reader.heading('heading'),
    /** `null`: the colour of the theme. */
    accent: reader.color('accent'),
    /** Language tag, reduced to language, script and region. */
    locale: reader.locale('locale', defaults.locale),
    /** `null`: the currency of most offers. */
    currency: reader.currency('currency') ?? defaults.currency,
    stock: reader.oneOf('stock', STOCKS, stock),
    /** Case-folded and sorted; empty: all. */
    merchants: normalizeNames(reader.names('merchant')),
    excluded: normalizeNames(reader.names('exclude')),
    /** Id of the placement; `null`: none. */
    sub: reader.sub('sub'),
  }
  // An embed is a separate document that always links its styles, and the others have none.
  if (surface !== 'fragment') return { ...own, isolate: 'none' as const, css: 'none' as const }
  // Styles of the page do not apply inside a shadow root, so it always links its own.
  return { ...own, isolate, css: isolate === 'shadow' ? ('link' as const) : css }
}

function normalizeNames(names: readonly string[]): readonly string[] {
  return [...new Set(names.map(foldCase))].sort()
}

/** Parameters whose property has another name. */
const PROPERTY_NAMES: Readonly<Record<string, string>> = {
  merchant: 'merchants',
  exclude: 'excluded',
  min_discount: 'minDiscountPercent',
  max_price: 'maxPrice',
  q: 'searchText',
  label: 'labels',
  else: 'standIns',
}

/** Parameters in the order of normalized addresses: as in `OPTION_LIST`, but `page` last. */
const PARAMETER_NAMES: readonly string[] = [
  ...new Set([...OPTION_LIST.map(({ name }) => name).filter((name) => name !== 'page'), 'page']),
]

type OptionValue = string | number | readonly string[] | null

/**
 * Format options as a normalized query string without defaults. Two strings are equal if and only if their options are.
 * Parsing the string returns the same options.
 */
export function toQuery(
  options: BoxOptions | PicksOptions | GridOptions,
  defaults: OptionDefaults,
  surface: Surface = 'embed',
): string {
  const parse =
    'sort' in options ? parseGridOptions : 'labels' in options ? parsePicksOptions : parseBoxOptions
  const defaultOptions = new Map<string, OptionValue>(
    Object.entries(parse(new URLSearchParams(), defaults, surface)),
  )
  const givenOptions = new Map<string, OptionValue>(Object.entries(options))
  const query = new URLSearchParams()
  for (const name of PARAMETER_NAMES) {
    const property = PROPERTY_NAMES[name] ?? name
    const value = givenOptions.get(property) ?? []
    if (typeof value === 'object') for (const text of toTexts(name, value)) query.append(name, text)
    else if (value !== defaultOptions.get(property)) query.set(name, String(value))
  }
  return query.toString()
}

/** GTINs are one value, separated by commas; other lists repeat the parameter. */
function toTexts(name: string, values: readonly string[]): readonly string[] {
  return name === 'else' && values.length > 0 ? [values.join(',')] : values
}

/** Append a query, if there is one. */
export function withQuery(address: string, query: string | URLSearchParams): string {
  const text = String(query)
  return text === '' ? address : `${address}?${text}`
}
