import { DEAL_SORTS } from '../offers/deals.ts'
import { foldCase } from '../offers/text.ts'
import { type OptionControl, type ParameterReader, createParameterReader } from './parameters.ts'

/** How a where-to-buy box can be laid out. */
export const BOX_LAYOUTS = ['list', 'table', 'card', 'button'] as const
export type BoxLayout = (typeof BOX_LAYOUTS)[number]

/** How a deal grid can be laid out. */
export const GRID_LAYOUTS = ['grid', 'list', 'carousel'] as const
export type GridLayout = (typeof GRID_LAYOUTS)[number]

/** What stands where a widget names nothing. */
export type OptionDefaults = Readonly<{ locale: string; currency: string | null }>

/** Where the widget goes: a frame has no host page to isolate from, to style it or to mark up, and links its own styles. */
export type Surface = 'fragment' | 'embed'

/** Which colours a widget has; `auto`: those that the reader's system prefers. */
export const THEMES = ['auto', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]
/** Only what is in stock, or everything. */
const STOCKS = ['in', 'any'] as const
/** How a fragment stands against the styles of its page. */
const ISOLATIONS = ['none', 'shadow'] as const
/** Who brings a fragment's style sheet. */
const STYLE_SHEET_SOURCES = ['link', 'none'] as const
/** What a fragment tells search engines beside its words. */
const MARKUPS = ['none', 'schema'] as const

/** What one option of a widget's address is, for documentation and studio; `parseBoxOptions` and `parseGridOptions` carry it out. */
export type OptionDefinition = Readonly<{
  name: string
  /** Above its field. */
  label: string
  control: OptionControl
  widget: 'both' | 'where-to-buy' | 'deals'
  /** Frames have no host page to isolate from, to be styled by or to mark up. */
  isFragmentOnly?: boolean
  /** In words where it is none of the accepted values. */
  fallback: string
  meaning: string
  /** A query string that tries it. */
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
    meaning: 'the colours; `auto` follows what the reader’s system prefers',
    example: 'theme=dark',
  },
  {
    name: 'accent',
    widget: 'both',
    label: 'Accent colour',
    control: 'color',
    fallback: 'the theme’s own',
    meaning: 'the colour of the filled button; text on it and in it is chosen for contrast',
    example: 'accent=ff6600',
  },
  {
    name: 'locale',
    widget: 'both',
    label: 'Language',
    control: 'language',
    fallback: '`VITRINE_LOCALE`',
    meaning:
      'language of the words, and how prices and dates are written; a language without words is answered in English',
    example: 'locale=de-AT',
  },
  {
    name: 'currency',
    widget: 'both',
    label: 'Currency',
    control: 'currency',
    fallback: '`VITRINE_CURRENCY`, else the one that most offers have',
    meaning: 'only offers in this currency; prices of different currencies are never compared',
    example: 'currency=GBP',
  },
  {
    name: 'stock',
    widget: 'both',
    label: 'Stock',
    control: STOCKS,
    fallback: 'boxes `any`, in stock first; grids `in`',
    meaning: 'only what is in stock, or everything',
    example: 'stock=in',
  },
  {
    name: 'merchant',
    widget: 'both',
    label: 'Only these shops',
    control: 'shops',
    fallback: 'all',
    meaning: 'only these shops, compared without case; repeat it for several',
    example: 'merchant=Kestrel%20Row&merchant=Quillhaven',
  },
  {
    name: 'exclude',
    widget: 'both',
    label: 'Never these shops',
    control: 'shops',
    fallback: 'none',
    meaning: 'never these shops',
    example: 'exclude=Quillhaven',
  },
  {
    name: 'isolate',
    widget: 'both',
    label: 'Isolation',
    control: ISOLATIONS,
    isFragmentOnly: true,
    fallback: '`none`',
    meaning: 'inherit the page’s font, or stand in declarative shadow DOM that no style of the page reaches',
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
      'bring the link to the style sheet, or leave it to the page, that of an `accent` too; `isolate=shadow` always brings its own',
    example: 'css=none',
  },
  {
    name: 'layout',
    widget: 'where-to-buy',
    label: 'Layout',
    control: BOX_LAYOUTS,
    fallback: '`list`',
    meaning:
      'a row for each shop; a table with heads; a narrow card with the first shop large; one button a shop',
    example: 'layout=card',
  },
  {
    name: 'limit',
    widget: 'where-to-buy',
    label: 'Shops shown',
    control: { min: 1, max: 50 },
    fallback: '5',
    meaning: 'shops shown; the rest folds into "more shops", which needs no script',
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
      'add schema.org `Product` with `AggregateOffer` as JSON-LD, for a page about this one product: all shops of the box, folded and sold-out ones too (`stock=in` leaves those out)',
    example: 'markup=schema',
  },
  {
    name: 'layout',
    widget: 'deals',
    label: 'Layout',
    control: GRID_LAYOUTS,
    fallback: '`grid`',
    meaning: 'cards side by side; one under the other; in a row that scrolls and snaps, without script',
    example: 'layout=carousel',
  },
  {
    name: 'limit',
    widget: 'deals',
    label: 'Cards on a page',
    control: { min: 1, max: 60 },
    fallback: '12',
    meaning: 'cards on a page',
    example: 'limit=4',
  },
  {
    name: 'page',
    widget: 'deals',
    label: 'Page',
    control: { min: 1, max: 1_000 },
    fallback: '1',
    meaning: 'which page; frames link to the pages before and after',
    example: 'page=2',
  },
  {
    name: 'sort',
    widget: 'deals',
    label: 'Order',
    control: DEAL_SORTS,
    fallback: '`discount`',
    meaning: 'largest discount in per cent, largest saving, lowest price, or newest on sale first',
    example: 'sort=price',
  },
  {
    name: 'min_discount',
    widget: 'deals',
    label: 'Least discount, per cent',
    control: { min: 1, max: 99 },
    fallback: '1',
    meaning: 'least discount in per cent',
    example: 'min_discount=20',
  },
  {
    name: 'max_price',
    widget: 'deals',
    label: 'Highest price',
    control: 'price',
    fallback: 'none',
    meaning: 'highest price, in the grid’s currency',
    example: 'max_price=100',
  },
  {
    name: 'brand',
    widget: 'deals',
    label: 'Brand',
    control: 'text',
    fallback: 'none',
    meaning: 'only this brand, compared without case',
    example: 'brand=Lumvik',
  },
  {
    name: 'q',
    widget: 'deals',
    label: 'Words in title or brand',
    control: 'text',
    fallback: 'none',
    meaning:
      'deals with every word in title or brand, without case and accents; a word may be the beginning of a longer one, and is found within words only where no title has it so',
    example: 'q=lamp',
  },
]

/** Options of a where-to-buy box, parsed and normal: what the response depends on besides its address. */
export type BoxOptions = ReturnType<typeof parseBoxOptions>

/**
 * Read the options of a where-to-buy box; parameters that are not its own are passed over.
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

/** Options of a deal grid, parsed and normal. */
export type GridOptions = ReturnType<typeof parseGridOptions>

/**
 * Read the options of a deal grid; parameters that are not its own are passed over.
 * @throws BadOptionError
 */
export function parseGridOptions(query: URLSearchParams, defaults: OptionDefaults, surface: Surface) {
  const reader = createParameterReader(query)
  const own = {
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
  return { ...parseCommonOptions(reader, { defaults, surface, stock: 'in' }), ...own }
}

/** Options of both widgets. */
export type CommonOptions = ReturnType<typeof parseCommonOptions>

type CommonOptionDetails = Readonly<{ defaults: OptionDefaults; surface: Surface; stock: 'in' | 'any' }>

function parseCommonOptions(reader: ParameterReader, { defaults, surface, stock }: CommonOptionDetails) {
  const isolate = reader.oneOf('isolate', ISOLATIONS, 'none')
  const css = reader.oneOf('css', STYLE_SHEET_SOURCES, 'link')
  const own = {
    theme: reader.oneOf('theme', THEMES, 'auto'),
    /** `null`: the theme's own. */
    accent: reader.color('accent'),
    /** Language with script and region, without variants and extensions. */
    locale: reader.locale('locale', defaults.locale),
    /** `null`: the currency that most of the offers have. */
    currency: reader.currency('currency') ?? defaults.currency,
    stock: reader.oneOf('stock', STOCKS, stock),
    /** Merchants' names without case, sorted; empty: all. */
    merchants: normalizeNames(reader.names('merchant')),
    excluded: normalizeNames(reader.names('exclude')),
  }
  // A frame has no host page to isolate from, and brings its own styles.
  if (surface === 'embed') return { ...own, isolate: 'none' as const, css: 'none' as const }
  // No style of the page reaches into a shadow root: without a link of its own nothing would style it.
  return { ...own, isolate, css: isolate === 'shadow' ? ('link' as const) : css }
}

function normalizeNames(names: readonly string[]): readonly string[] {
  return [...new Set(names.map(foldCase))].sort()
}

/** Parameters whose options have another name. */
const OPTION_NAMES: Readonly<Record<string, string>> = {
  merchant: 'merchants',
  exclude: 'excluded',
  min_discount: 'minDiscountPercent',
  max_price: 'maxPrice',
  q: 'searchText',
}

/** Parameters in the order of normal addresses: that of the list, and the page last. */
const PARAMETER_NAMES: readonly string[] = [
  ...new Set([...OPTION_LIST.map(({ name }) => name).filter((name) => name !== 'page'), 'page']),
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

/** An address with its query, if there is one. */
export function withQuery(address: string, query: string | URLSearchParams): string {
  const text = String(query)
  return text === '' ? address : `${address}?${text}`
}
