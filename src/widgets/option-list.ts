import { DEAL_SORTS, EVIDENCES } from '../offers/deals.ts'
import type { OptionControl } from './parameters.ts'

export type WidgetKind = 'where-to-buy' | 'picks' | 'deals'

/** Layouts of a where-to-buy box. */
export const BOX_LAYOUTS = ['list', 'table', 'card', 'button', 'inline'] as const
export type BoxLayout = (typeof BOX_LAYOUTS)[number]

/** Layouts of a round-up. */
export const PICKS_LAYOUTS = ['rank', 'table', 'row'] as const
export type PicksLayout = (typeof PICKS_LAYOUTS)[number]

/** Layouts of a deal grid. */
export const GRID_LAYOUTS = ['grid', 'list', 'carousel'] as const
export type GridLayout = (typeof GRID_LAYOUTS)[number]

/** `auto`: the colour scheme of the page. */
export const THEMES = ['auto', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

/** What is known about an option: everything else that names options follows from it (decision 0049). */
type OptionRow = Readonly<{
  /** In addresses, attributes and shortcodes. Absent: the name of the property. */
  name?: string
  /** Label of the field in the studio and in WordPress. */
  label: string
  control: OptionControl
  /** Absent: that of the server, otherwise none. */
  default?: string | number | readonly string[] | Readonly<Record<WidgetKind, string>>
  /** Text for a default that is not a fixed value, or not the same in all widgets. Absent: none. */
  defaultText?: string
  /** Texts of choices in WordPress, where they are more than the capitalized word. */
  choiceLabels?: Readonly<Record<string, string>>
  /** In the studio; `null`: a list of products holds the option. Without a rank: last. */
  field: Readonly<{ group: OptionGroup; rank?: number }> | null
  /** Without effect in an embed, which is a separate document: there it counts as `none`. */
  isFragmentOnly?: true
  /** Without effect in the layout `inline`, which has the look of the page and shows one offer in stock. */
  isUnusedInSentence?: true
  description: string
  /** A query string with the option. */
  example: string
}>

export type OptionGroup = 'look' | 'deals' | 'shops' | 'placement' | 'advanced'

/** By property of the parsed options, in the order of the documentation. */
type OptionRows = Readonly<Record<string, OptionRow>>

/** Options of every widget. */
export const COMMON_OPTIONS = {
  theme: {
    label: 'Theme',
    control: THEMES,
    default: 'auto',
    choiceLabels: { auto: 'Automatic' },
    field: { group: 'look', rank: 4 },
    isUnusedInSentence: true,
    description:
      'colour scheme; `auto` is dark where the CSS of the page has `color-scheme: dark`, else light',
    example: 'theme=dark',
  },
  accent: {
    label: 'Accent colour',
    control: 'color',
    defaultText: 'the colour of the theme',
    field: { group: 'look', rank: 5 },
    isUnusedInSentence: true,
    description:
      'colour of the filled button; text on it is black or white, and text in this colour is adjusted for contrast',
    example: 'accent=ff6600',
  },
  locale: {
    label: 'Language',
    control: 'language',
    defaultText: '`VITRINE_LOCALE`',
    field: { group: 'look', rank: 7 },
    description: 'language of texts, prices and dates; English for a language that is not supported',
    example: 'locale=de-AT',
  },
  currency: {
    label: 'Currency',
    control: 'currency',
    defaultText: '`VITRINE_CURRENCY`, otherwise the currency of most offers',
    field: { group: 'shops', rank: 2 },
    description: 'only offers in this currency; prices of different currencies are never compared',
    example: 'currency=GBP',
  },
  stock: {
    label: 'Stock',
    control: ['in', 'any'],
    default: { 'where-to-buy': 'any', picks: 'any', deals: 'in' },
    defaultText: 'boxes: `any`, in stock first; grids: `in`',
    choiceLabels: { in: 'In stock only', any: 'All offers' },
    field: { group: 'shops', rank: 1 },
    isUnusedInSentence: true,
    description: 'only offers in stock, or all offers',
    example: 'stock=in',
  },
  merchants: {
    name: 'merchant',
    label: 'Only these shops',
    control: 'shops',
    default: [],
    defaultText: 'all',
    field: { group: 'shops', rank: 3 },
    description: 'only offers of this shop, case-insensitive; repeat the option for several shops',
    example: 'merchant=Kestrel%20Row&merchant=Quillhaven',
  },
  excluded: {
    name: 'exclude',
    label: 'Except these shops',
    control: 'shops',
    default: [],
    field: { group: 'shops', rank: 4 },
    description: 'no offers of this shop, case-insensitive; repeat the option for several shops',
    example: 'exclude=Quillhaven',
  },
  isolate: {
    label: 'Isolation',
    control: ['none', 'shadow'],
    default: 'none',
    choiceLabels: { shadow: 'Shadow DOM' },
    field: { group: 'advanced' },
    isFragmentOnly: true,
    description:
      'separation from the styles of the page; `none`: inherits its font and resists its general rules; `shadow`: declarative shadow DOM, to which its styles do not apply',
    example: 'isolate=shadow',
  },
  css: {
    label: 'Style sheet',
    control: ['link', 'none'],
    default: 'link',
    choiceLabels: { link: 'Included with the box', none: 'The page has its own' },
    field: { group: 'advanced' },
    isFragmentOnly: true,
    description:
      'who links the style sheets; `link`: the fragment; `none`: your page, also the sheet of an `accent`; `isolate=shadow` always links them',
    example: 'css=none',
  },
  head: {
    label: 'Header',
    control: ['full', 'compact', 'none'],
    default: 'full',
    choiceLabels: { full: 'Complete', compact: 'Without picture' },
    field: { group: 'look', rank: 2 },
    isUnusedInSentence: true,
    description:
      'header of the widget; `full`: heading, title and picture; `compact`: without the picture; `none`: only the offers and the disclosure',
    example: 'head=compact',
  },
  heading: {
    label: 'Heading',
    control: 'heading',
    defaultText: 'the text of the language',
    field: { group: 'look', rank: 3 },
    isUnusedInSentence: true,
    description: 'text in place of "Where to buy", "Our picks" or "Deals"',
    example: 'heading=Our%20pick',
  },
  sub: {
    label: 'Placement',
    control: 'sub',
    field: { group: 'placement' },
    description:
      'id of the placement, such as that of the article; the rules of `VITRINE_SUB_IDS_FILE` add it to the links as a sub-id, and the report counts by it',
    example: 'sub=p123',
  },
} as const satisfies OptionRows

/** Options of a where-to-buy box. */
const BOX_OPTIONS = {
  layout: {
    label: 'Layout',
    control: BOX_LAYOUTS,
    default: 'list',
    choiceLabels: { button: 'Buttons', inline: 'Part of a sentence' },
    field: { group: 'look', rank: 1 },
    description:
      'arrangement of the shops; `list`: a row for each; `table`: with column headers; `card`: a narrow card with a large first shop; `button`: a button for each; `inline`: only the lowest price, as a part of a sentence',
    example: 'layout=card',
  },
  limit: {
    label: 'Shops shown',
    control: { min: 1, max: 50 },
    default: 5,
    field: { group: 'look', rank: 6 },
    isUnusedInSentence: true,
    description: 'number of visible shops; "more shops" opens the next 50, without a script',
    example: 'limit=3',
  },
  history: {
    label: 'Observed prices',
    control: ['none', 'note', 'chart'],
    default: 'none',
    choiceLabels: { note: 'Sentence with the lowest price', chart: 'Sentence and chart' },
    field: { group: 'look' },
    description:
      'prices that this server has observed, once 30 days have been observed; `note`: a sentence with the lowest one; `chart`: also a chart of the last 120 days',
    example: 'history=chart',
  },
  standIns: {
    name: 'else',
    label: 'Stand-ins',
    control: 'gtins',
    default: [],
    field: null,
    description:
      'products that may stand in while no shop sells this one: the first of them that a shop sells is shown, with the words "Not available. Instead:"',
    example: 'else=9520001001031,9520001001048',
  },
  markup: {
    label: 'Markup for search engines',
    control: ['none', 'schema'],
    default: 'none',
    choiceLabels: { schema: 'schema.org Product' },
    field: { group: 'advanced' },
    isFragmentOnly: true,
    description:
      'schema.org `Product` with `AggregateOffer` as JSON-LD, for a page about this product; covers all listed shops, also folded and sold-out ones (`stock=in` omits the latter); `layout=inline`: only the shown one',
    example: 'markup=schema',
  },
} as const satisfies OptionRows

/** Options of a round-up. */
const PICKS_OPTIONS = {
  layout: {
    label: 'Layout',
    control: PICKS_LAYOUTS,
    default: 'rank',
    choiceLabels: { rank: 'Numbered cards', row: 'Compact rows' },
    field: { group: 'look', rank: 1 },
    description:
      'arrangement of the products; `rank`: numbered cards; `table`: a row for each, with column headers; `row`: compact rows',
    example: 'layout=table',
  },
  labels: {
    name: 'label',
    label: 'Labels',
    control: 'labels',
    default: [],
    field: null,
    description:
      'label of a product, such as "Best overall"; repeat the option for the products in their order, with an empty value for a product without a label',
    example: 'label=Best%20overall&label=&label=Best%20value',
  },
} as const satisfies OptionRows

/** Options of a deal grid. */
const GRID_OPTIONS = {
  layout: {
    label: 'Layout',
    control: GRID_LAYOUTS,
    default: 'grid',
    field: { group: 'look', rank: 1 },
    description:
      'arrangement of the cards; `grid`: side by side; `list`: one below the other; `carousel`: a scrolling row, without a script',
    example: 'layout=carousel',
  },
  limit: {
    label: 'Cards on a page',
    control: { min: 1, max: 60 },
    default: 12,
    field: { group: 'look', rank: 6 },
    description: 'cards per page',
    example: 'limit=4',
  },
  page: {
    label: 'Page',
    control: { min: 1, max: 1_000 },
    default: 1,
    field: { group: 'deals', rank: 7 },
    description: 'page number; frames link to the previous and next page',
    example: 'page=2',
  },
  sort: {
    label: 'Order',
    control: DEAL_SORTS,
    default: 'discount',
    choiceLabels: {
      discount: 'Largest discount',
      saving: 'Largest saving',
      price: 'Lowest price',
      drop: 'Largest observed price drop',
    },
    field: { group: 'deals', rank: 1 },
    description:
      'what comes first: highest discount in per cent, highest saving, lowest price, newest sale, or `drop`: largest fall of the price in this server’s own observation, which `evidence=observed` shows; deals without one come last',
    example: 'sort=price',
  },
  evidence: {
    label: 'Evidence of a reduction',
    control: EVIDENCES,
    default: 'shop',
    choiceLabels: { shop: 'Former prices of the shops', observed: 'Only observed price drops' },
    field: { group: 'deals', rank: 2 },
    description:
      'whose former price counts; `shop`: as the shops say; `observed`: only those deals whose price has fallen in this server’s own observation, with the lowest price of the 30 days before in place of the shop’s former price',
    example: 'evidence=observed',
  },
  minDiscountPercent: {
    name: 'min_discount',
    label: 'Minimum discount, per cent',
    control: { min: 1, max: 99 },
    default: 1,
    field: { group: 'deals', rank: 3 },
    description: 'minimum discount in per cent',
    example: 'min_discount=20',
  },
  maxPrice: {
    name: 'max_price',
    label: 'Maximum price',
    control: 'price',
    field: { group: 'deals', rank: 4 },
    description: 'maximum price, in the currency of the grid',
    example: 'max_price=100',
  },
  brand: {
    label: 'Brand',
    control: 'text',
    field: { group: 'deals', rank: 5 },
    description: 'only this brand, case-insensitive',
    example: 'brand=Lumvik',
  },
  searchText: {
    name: 'q',
    label: 'Words in title or brand',
    control: 'text',
    field: { group: 'deals', rank: 6 },
    description:
      'only deals with all these words in title or brand, ignoring case and accents; matches the beginnings of words, or any part of a word if no title has a word that begins so',
    example: 'q=lamp',
  },
} as const satisfies OptionRows

/** The rows of each widget. */
export const OPTION_ROWS = {
  'where-to-buy': { ...COMMON_OPTIONS, ...BOX_OPTIONS },
  picks: { ...COMMON_OPTIONS, ...PICKS_OPTIONS },
  deals: { ...COMMON_OPTIONS, ...GRID_OPTIONS },
} as const satisfies Readonly<Record<WidgetKind, OptionRows>>

/** An option of one widget or of all. */
export type OptionDefinition = OptionRow &
  Readonly<{
    name: string
    /** In the parsed options. */
    property: string
    widget: 'all' | WidgetKind
    /** The default: an accepted value, or a description. */
    defaultText: string
  }>

/** Every option, in the order of the documentation. */
export const OPTION_LIST: readonly OptionDefinition[] = [
  ...toDefinitions('all', COMMON_OPTIONS),
  ...toDefinitions('where-to-buy', BOX_OPTIONS),
  ...toDefinitions('picks', PICKS_OPTIONS),
  ...toDefinitions('deals', GRID_OPTIONS),
]

/** List the options of a widget in the order of the documentation. */
export function listOptions(kind: WidgetKind): readonly OptionDefinition[] {
  return OPTION_LIST.filter(({ widget }) => widget === 'all' || widget === kind)
}

function toDefinitions(widget: OptionDefinition['widget'], rows: OptionRows): readonly OptionDefinition[] {
  return Object.entries(rows).map(([property, row]) => ({
    ...row,
    name: row.name ?? property,
    property,
    widget,
    defaultText: row.defaultText ?? describeDefault(row),
  }))
}

function describeDefault({ default: value }: OptionRow): string {
  if (typeof value === 'string') return `\`${value}\``
  return typeof value === 'number' ? String(value) : 'none'
}
