import { DEAL_SORTS } from '../offers/deals.ts'
import { foldCase } from '../offers/text.ts'
import { type OptionControl, type ParameterReader, createParameterReader } from './parameters.ts'

export const BOX_LAYOUTS = ['list', 'table', 'card', 'button'] as const
export type BoxLayout = (typeof BOX_LAYOUTS)[number]

export const GRID_LAYOUTS = ['grid', 'list', 'carousel'] as const
export type GridLayout = (typeof GRID_LAYOUTS)[number]

export type OptionDefaults = Readonly<{ locale: string; currency: string | null }>

export type Surface = 'fragment' | 'embed'

export const THEMES = ['auto', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]
const STOCKS = ['in', 'any'] as const
const ISOLATIONS = ['none', 'shadow'] as const
const STYLE_SHEET_SOURCES = ['link', 'none'] as const
const MARKUPS = ['none', 'schema'] as const

/** An option for the documentation and the studio; `parseBoxOptions` and `parseGridOptions` implement it. */
export type OptionDefinition = Readonly<{
  name: string
  /** Label of its field in the studio. */
  label: string
  control: OptionControl
  widget: 'both' | 'where-to-buy' | 'deals'
  /** Frames have no host page to isolate from, to get styles from or to describe with markup. */
  isFragmentOnly?: boolean
  /** The default: an accepted value or a description. */
  fallback: string
  meaning: string
  /** A query string. */
  example: string
}>

/** Every option, in the order of the documentation. */
export const OPTION_LIST: readonly OptionDefinition[] = [
  {
    name: 'theme',
    widget: 'both',
    label: 'Theme',
    control: THEMES,
    fallback: '`auto`',
    meaning: 'colours; `auto` follows the setting of the reader’s system',
    example: 'theme=dark',
  },
  {
    name: 'accent',
    widget: 'both',
    label: 'Accent colour',
    control: 'color',
    fallback: 'the accent of the theme',
    meaning: 'colour of the filled button; text on this colour and text in it are adjusted to stay readable',
    example: 'accent=ff6600',
  },
  {
    name: 'locale',
    widget: 'both',
    label: 'Language',
    control: 'language',
    fallback: '`VITRINE_LOCALE`',
    meaning:
      'language of the texts, and format of prices and dates; a language without a translation uses English',
    example: 'locale=de-AT',
  },
  {
    name: 'currency',
    widget: 'both',
    label: 'Currency',
    control: 'currency',
    fallback: '`VITRINE_CURRENCY`, else the currency of most offers',
    meaning: 'show only offers in this currency; prices in different currencies are never compared',
    example: 'currency=GBP',
  },
  {
    name: 'stock',
    widget: 'both',
    label: 'Stock',
    control: STOCKS,
    fallback: 'boxes: `any`, offers in stock first; grids: `in`',
    meaning: 'show only offers in stock (`in`), or all offers (`any`)',
    example: 'stock=in',
  },
  {
    name: 'merchant',
    widget: 'both',
    label: 'Only these shops',
    control: 'shops',
    fallback: 'all',
    meaning: 'show only these shops; upper and lower case are equal; repeat the option for several shops',
    example: 'merchant=Kestrel%20Row&merchant=Quillhaven',
  },
  {
    name: 'exclude',
    widget: 'both',
    label: 'Hide these shops',
    control: 'shops',
    fallback: 'none',
    meaning: 'hide these shops; upper and lower case are equal; repeat the option for several shops',
    example: 'exclude=Quillhaven',
  },
  {
    name: 'isolate',
    widget: 'both',
    label: 'Isolation',
    control: ISOLATIONS,
    isFragmentOnly: true,
    fallback: '`none`',
    meaning:
      'inherit the font of the page (`none`), or use declarative shadow DOM, which styles of the page do not reach (`shadow`)',
    example: 'isolate=shadow',
  },
  {
    name: 'css',
    widget: 'both',
    label: 'Style sheet',
    control: STYLE_SHEET_SOURCES,
    isFragmentOnly: true,
    fallback: '`link`',
    meaning:
      'link the style sheets (`link`), or rely on the page to load them, including the one of an `accent` (`none`); `isolate=shadow` always links them',
    example: 'css=none',
  },
  {
    name: 'layout',
    widget: 'where-to-buy',
    label: 'Layout',
    control: BOX_LAYOUTS,
    fallback: '`list`',
    meaning:
      'one row per shop (`list`), a table with column headings (`table`), a narrow card with a large first shop (`card`), or one button per shop (`button`)',
    example: 'layout=card',
  },
  {
    name: 'limit',
    widget: 'where-to-buy',
    label: 'Shops shown',
    control: { min: 1, max: 50 },
    fallback: '5',
    meaning: 'number of shops shown; the others are folded under "more shops", which needs no script',
    example: 'limit=3',
  },
  {
    name: 'markup',
    widget: 'where-to-buy',
    label: 'Markup for search engines',
    control: MARKUPS,
    isFragmentOnly: true,
    fallback: '`none`',
    meaning:
      'add schema.org `Product` with `AggregateOffer` as JSON-LD, for a page about only this product; it covers all shops of the box, including folded and sold-out ones (`stock=in` leaves out sold-out ones)',
    example: 'markup=schema',
  },
  {
    name: 'layout',
    widget: 'deals',
    label: 'Layout',
    control: GRID_LAYOUTS,
    fallback: '`grid`',
    meaning:
      'cards side by side (`grid`), one below the other (`list`), or in one row that scrolls and snaps without script (`carousel`)',
    example: 'layout=carousel',
  },
  {
    name: 'limit',
    widget: 'deals',
    label: 'Cards per page',
    control: { min: 1, max: 60 },
    fallback: '12',
    meaning: 'number of cards per page',
    example: 'limit=4',
  },
  {
    name: 'page',
    widget: 'deals',
    label: 'Page',
    control: { min: 1, max: 1_000 },
    fallback: '1',
    meaning: 'page number; frames link to the previous and the next page',
    example: 'page=2',
  },
  {
    name: 'sort',
    widget: 'deals',
    label: 'Order',
    control: DEAL_SORTS,
    fallback: '`discount`',
    meaning:
      'largest discount in per cent first (`discount`), largest saving (`saving`), lowest price (`price`), or most recent deal (`newest`)',
    example: 'sort=price',
  },
  {
    name: 'min_discount',
    widget: 'deals',
    label: 'Minimum discount, per cent',
    control: { min: 1, max: 99 },
    fallback: '1',
    meaning: 'minimum discount in per cent',
    example: 'min_discount=20',
  },
  {
    name: 'max_price',
    widget: 'deals',
    label: 'Highest price',
    control: 'price',
    fallback: 'none',
    meaning: 'highest price, in the currency of the grid',
    example: 'max_price=100',
  },
  {
    name: 'brand',
    widget: 'deals',
    label: 'Brand',
    control: 'text',
    fallback: 'none',
    meaning: 'show only this brand; upper and lower case are equal',
    example: 'brand=Lumvik',
  },
  {
    name: 'q',
    widget: 'deals',
    label: 'Words in title or brand',
    control: 'text',
    fallback: 'none',
    meaning:
      'show deals with every word in title or brand, regardless of case and accents; a word also matches the beginning of a longer word, and the middle of a word only if no title matches otherwise',
    example: 'q=lamp',
  },
]

/** Parsed and normalized options of a where-to-buy box. */
export type BoxOptions = ReturnType<typeof parseBoxOptions>

/**
 * Parse the options of a where-to-buy box; ignore other parameters.
 * @throws BadOptionError
 */
export function parseBoxOptions(query: URLSearchParams, defaults: OptionDefaults, surface: Surface) {
  const reader = createParameterReader(query)
  const layout = reader.oneOf('layout', BOX_LAYOUTS, 'list')
  const limit = reader.number('limit', { min: 1, max: 50 }, 5)
  const markup = reader.oneOf('markup', MARKUPS, 'none')
  const common = parseCommonOptions(reader, { defaults, surface, stock: 'any' })
  return { ...common, layout, limit, markup: surface === 'embed' ? 'none' : markup }
}

/** Parsed and normalized options of a deal grid. */
export type GridOptions = ReturnType<typeof parseGridOptions>

/**
 * Parse the options of a deal grid; ignore other parameters.
 * @throws BadOptionError
 */
export function parseGridOptions(query: URLSearchParams, defaults: OptionDefaults, surface: Surface) {
  const reader = createParameterReader(query)
  const gridOptions = {
    layout: reader.oneOf('layout', GRID_LAYOUTS, 'grid'),
    limit: reader.number('limit', { min: 1, max: 60 }, 12),
    page: reader.number('page', { min: 1, max: 1_000 }, 1),
    sort: reader.oneOf('sort', DEAL_SORTS, 'discount'),
    minDiscountPercent: reader.number('min_discount', { min: 1, max: 99 }, 1),
    /** Decimal text in the grid's currency. */
    maxPrice: reader.price('max_price'),
    brand: reader.text('brand'),
    searchText: reader.text('q'),
  }
  return { ...parseCommonOptions(reader, { defaults, surface, stock: 'in' }), ...gridOptions }
}

export type CommonOptions = ReturnType<typeof parseCommonOptions>

type CommonOptionDetails = Readonly<{ defaults: OptionDefaults; surface: Surface; stock: 'in' | 'any' }>

function parseCommonOptions(reader: ParameterReader, { defaults, surface, stock }: CommonOptionDetails) {
  const isolate = reader.oneOf('isolate', ISOLATIONS, 'none')
  const css = reader.oneOf('css', STYLE_SHEET_SOURCES, 'link')
  const common = {
    theme: reader.oneOf('theme', THEMES, 'auto'),
    /** `null`: the accent of the theme. */
    accent: reader.color('accent'),
    locale: reader.locale('locale', defaults.locale),
    /** `null`: the currency of most offers. */
    currency: reader.currency('currency') ?? defaults.currency,
    stock: reader.oneOf('stock', STOCKS, stock),
    /** Names in folded case, sorted; empty: all. */
    merchants: normalizeNames(reader.names('merchant')),
    excluded: normalizeNames(reader.names('exclude')),
  }
  // A frame has no host page to isolate from and links its styles.
  if (surface === 'embed') return { ...common, isolate: 'none' as const, css: 'none' as const }
  // Styles of the page do not reach a shadow root, so it must always have a link.
  return { ...common, isolate, css: isolate === 'shadow' ? ('link' as const) : css }
}

function normalizeNames(names: readonly string[]): readonly string[] {
  return [...new Set(names.map(foldCase))].sort()
}

/** Parameters whose parsed options have another name. */
const OPTION_NAMES: Readonly<Record<string, string>> = {
  merchant: 'merchants',
  exclude: 'excluded',
  min_discount: 'minDiscountPercent',
  max_price: 'maxPrice',
  q: 'searchText',
}

/** The parameter order of normalized addresses: as in the list, with the page last. */
const PARAMETER_NAMES: readonly string[] = [
  ...new Set([...OPTION_LIST.map(({ name }) => name).filter((name) => name !== 'page'), 'page']),
]

type OptionValue = string | number | readonly string[] | null

/**
 * Return the query string of these options, without those that equal their defaults. It is equal only for equal options.
 */
export function toQuery(
  options: BoxOptions | GridOptions,
  defaults: OptionDefaults,
  surface: Surface = 'embed',
): string {
  const parse = 'sort' in options ? parseGridOptions : parseBoxOptions
  const defaultOptions = new Map<string, OptionValue>(
    Object.entries(parse(new URLSearchParams(), defaults, surface)),
  )
  const givenOptions = new Map<string, OptionValue>(Object.entries(options))
  const query = new URLSearchParams()
  for (const name of PARAMETER_NAMES) {
    const option = OPTION_NAMES[name] ?? name
    const value = givenOptions.get(option) ?? []
    if (typeof value === 'object') for (const text of value) query.append(name, text)
    else if (value !== defaultOptions.get(option)) query.set(name, String(value))
  }
  return query.toString()
}

export function withQuery(address: string, query: string | URLSearchParams): string {
  const text = String(query)
  return text === '' ? address : `${address}?${text}`
}
