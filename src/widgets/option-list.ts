import { DEAL_SORTS, EVIDENCES } from '../offers/deals.ts'
import type { OptionControl } from './parameters.ts'

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
/** Only offers in stock, or all. */
export const STOCKS = ['in', 'any'] as const
/** Isolation of a fragment from the styles of its page. */
export const ISOLATIONS = ['none', 'shadow'] as const
/** How much of the header is shown. */
export const HEADS = ['full', 'compact', 'none'] as const
/** Whether a fragment links its style sheet. */
export const STYLE_SHEET_SOURCES = ['link', 'none'] as const
/** What a box tells of its observed prices. */
export const HISTORIES = ['none', 'note', 'chart'] as const
/** Structured data of a fragment. */
export const MARKUPS = ['none', 'schema'] as const

/** An option of a widget's address, for documentation and studio; options.ts parses it. */
export type OptionDefinition = Readonly<{
  name: string
  /** Label of the field in the studio. */
  label: string
  control: OptionControl
  widget: 'all' | 'where-to-buy' | 'picks' | 'deals'
  /** Without effect in an embed, which is a separate document. */
  isFragmentOnly?: boolean
  /** Without effect in the layout `inline`, which has the look of the page and shows one offer in stock. */
  isUnusedInSentence?: boolean
  /** The default: an accepted value, or a description. */
  defaultText: string
  description: string
  /** A query string with the option. */
  example: string
}>

/** Every option, in the order of the documentation. */
export const OPTION_LIST: readonly OptionDefinition[] = [
  {
    name: 'theme',
    widget: 'all',
    label: 'Theme',
    control: THEMES,
    isUnusedInSentence: true,
    defaultText: '`auto`',
    description:
      'colour scheme; `auto` is dark where the CSS of the page has `color-scheme: dark`, else light',
    example: 'theme=dark',
  },
  {
    name: 'accent',
    widget: 'all',
    label: 'Accent colour',
    control: 'color',
    isUnusedInSentence: true,
    defaultText: 'the colour of the theme',
    description:
      'colour of the filled button; text on it is black or white, and text in this colour is adjusted for contrast',
    example: 'accent=ff6600',
  },
  {
    name: 'locale',
    widget: 'all',
    label: 'Language',
    control: 'language',
    defaultText: '`VITRINE_LOCALE`',
    description: 'language of texts, prices and dates; English for a language that is not supported',
    example: 'locale=de-AT',
  },
  {
    name: 'currency',
    widget: 'all',
    label: 'Currency',
    control: 'currency',
    defaultText: '`VITRINE_CURRENCY`, otherwise the currency of most offers',
    description: 'only offers in this currency; prices of different currencies are never compared',
    example: 'currency=GBP',
  },
  {
    name: 'stock',
    widget: 'all',
    label: 'Stock',
    control: STOCKS,
    isUnusedInSentence: true,
    defaultText: 'boxes: `any`, in stock first; grids: `in`',
    description: 'only offers in stock, or all offers',
    example: 'stock=in',
  },
  {
    name: 'merchant',
    widget: 'all',
    label: 'Only these shops',
    control: 'shops',
    defaultText: 'all',
    description: 'only offers of this shop, case-insensitive; repeat the option for several shops',
    example: 'merchant=Kestrel%20Row&merchant=Quillhaven',
  },
  {
    name: 'exclude',
    widget: 'all',
    label: 'Except these shops',
    control: 'shops',
    defaultText: 'none',
    description: 'no offers of this shop, case-insensitive; repeat the option for several shops',
    example: 'exclude=Quillhaven',
  },
  {
    name: 'isolate',
    widget: 'all',
    label: 'Isolation',
    control: ISOLATIONS,
    isFragmentOnly: true,
    defaultText: '`none`',
    description:
      'separation from the styles of the page; `none`: inherits its font and resists its general rules; `shadow`: declarative shadow DOM, to which its styles do not apply',
    example: 'isolate=shadow',
  },
  {
    name: 'css',
    widget: 'all',
    label: 'Style sheet',
    control: STYLE_SHEET_SOURCES,
    isFragmentOnly: true,
    defaultText: '`link`',
    description:
      'who links the style sheets; `link`: the fragment; `none`: your page, including that of an `accent`; `isolate=shadow` always links them',
    example: 'css=none',
  },
  {
    name: 'head',
    widget: 'all',
    label: 'Header',
    control: HEADS,
    isUnusedInSentence: true,
    defaultText: '`full`',
    description:
      'header of the widget; `full`: heading, title and picture; `compact`: without the picture; `none`: only the offers and the disclosure',
    example: 'head=compact',
  },
  {
    name: 'heading',
    widget: 'all',
    label: 'Heading',
    control: 'heading',
    isUnusedInSentence: true,
    defaultText: 'the text of the language',
    description: 'text in place of "Where to buy", "Our picks" or "Deals"',
    example: 'heading=Our%20pick',
  },
  {
    name: 'sub',
    widget: 'all',
    label: 'Placement',
    control: 'sub',
    defaultText: 'none',
    description:
      'id of the placement, such as that of the article; the rules of `VITRINE_SUB_IDS_FILE` add it to the links as a sub-id, and the report counts by it',
    example: 'sub=p123',
  },
  {
    name: 'layout',
    widget: 'where-to-buy',
    label: 'Layout',
    control: BOX_LAYOUTS,
    defaultText: '`list`',
    description:
      'arrangement of the shops; `list`: a row for each; `table`: with column headers; `card`: a narrow card with a large first shop; `button`: a button for each; `inline`: only the lowest price, as a part of a sentence',
    example: 'layout=card',
  },
  {
    name: 'limit',
    widget: 'where-to-buy',
    label: 'Shops shown',
    control: { min: 1, max: 50 },
    isUnusedInSentence: true,
    defaultText: '5',
    description: 'number of visible shops; "more shops" opens the next 50, without a script',
    example: 'limit=3',
  },
  {
    name: 'history',
    widget: 'where-to-buy',
    label: 'Observed prices',
    control: HISTORIES,
    defaultText: '`none`',
    description:
      'prices that this server has observed, from 30 observed days on; `note`: a sentence with the lowest one; `chart`: also a chart of the last 120 days',
    example: 'history=chart',
  },
  {
    name: 'else',
    widget: 'where-to-buy',
    label: 'Stand-ins',
    control: 'gtins',
    defaultText: 'none',
    description:
      'products that may stand in while no shop sells this one: the first of them that a shop sells is shown, with the words "Not available. Instead:"',
    example: 'else=9520001001031,9520001001048',
  },
  {
    name: 'markup',
    widget: 'where-to-buy',
    label: 'Markup for search engines',
    control: MARKUPS,
    isFragmentOnly: true,
    defaultText: '`none`',
    description:
      'schema.org `Product` with `AggregateOffer` as JSON-LD, for a page about this product; covers all listed shops, also folded and sold-out ones (`stock=in` omits the latter); `layout=inline`: only the shown one',
    example: 'markup=schema',
  },
  {
    name: 'layout',
    widget: 'picks',
    label: 'Layout',
    control: PICKS_LAYOUTS,
    defaultText: '`rank`',
    description:
      'arrangement of the products; `rank`: numbered cards; `table`: a row for each, with column headers; `row`: compact rows',
    example: 'layout=table',
  },
  {
    name: 'label',
    widget: 'picks',
    label: 'Labels',
    control: 'labels',
    defaultText: 'none',
    description:
      'label of a product, such as "Best overall"; repeat the option for the products in their order, with an empty value for a product without a label',
    example: 'label=Best%20overall&label=&label=Best%20value',
  },
  {
    name: 'layout',
    widget: 'deals',
    label: 'Layout',
    control: GRID_LAYOUTS,
    defaultText: '`grid`',
    description:
      'arrangement of the cards; `grid`: side by side; `list`: one below the other; `carousel`: a scrolling row, without a script',
    example: 'layout=carousel',
  },
  {
    name: 'limit',
    widget: 'deals',
    label: 'Cards on a page',
    control: { min: 1, max: 60 },
    defaultText: '12',
    description: 'cards per page',
    example: 'limit=4',
  },
  {
    name: 'page',
    widget: 'deals',
    label: 'Page',
    control: { min: 1, max: 1_000 },
    defaultText: '1',
    description: 'page number; frames link to the previous and next page',
    example: 'page=2',
  },
  {
    name: 'sort',
    widget: 'deals',
    label: 'Order',
    control: DEAL_SORTS,
    defaultText: '`discount`',
    description:
      'what comes first: highest discount in per cent, highest saving, lowest price, newest sale, or `drop`: largest fall of the price in this server’s own observation, which `evidence=observed` shows; deals without one come last',
    example: 'sort=price',
  },
  {
    name: 'evidence',
    widget: 'deals',
    label: 'Evidence of a reduction',
    control: EVIDENCES,
    defaultText: '`shop`',
    description:
      'whose former price counts; `shop`: as the shops say; `observed`: only those deals whose price has fallen in this server’s own observation, with the lowest price of the 30 days before in place of the shop’s former price',
    example: 'evidence=observed',
  },
  {
    name: 'min_discount',
    widget: 'deals',
    label: 'Minimum discount, per cent',
    control: { min: 1, max: 99 },
    defaultText: '1',
    description: 'minimum discount in per cent',
    example: 'min_discount=20',
  },
  {
    name: 'max_price',
    widget: 'deals',
    label: 'Maximum price',
    control: 'price',
    defaultText: 'none',
    description: 'maximum price, in the currency of the grid',
    example: 'max_price=100',
  },
  {
    name: 'brand',
    widget: 'deals',
    label: 'Brand',
    control: 'text',
    defaultText: 'none',
    description: 'only this brand, case-insensitive',
    example: 'brand=Lumvik',
  },
  {
    name: 'q',
    widget: 'deals',
    label: 'Words in title or brand',
    control: 'text',
    defaultText: 'none',
    description:
      'only deals with all these words in title or brand, ignoring case and accents; matches the beginnings of words, or any part of a word if no title has a word that begins so',
    example: 'q=lamp',
  },
]
