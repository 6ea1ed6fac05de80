import { BOX_LAYOUTS, GRID_LAYOUTS, ISOLATIONS, MARKUPS, STOCKS, STYLE_SHEETS, THEMES } from './options.ts'
import { NAMES_ACCEPTS, TEXT_ACCEPTS } from './parameters.ts'
import { DEAL_SORTS } from '../offers/deals.ts'

/** What a field for an option looks like: one of some words, a whole number, or a text of some kind. */
export type OptionControl =
  | readonly string[]
  | Readonly<{ min: number; max: number }>
  | 'text'
  | 'color'
  | 'language'
  | 'currency'
  | 'price'
  | 'shops'

/** What one option of a widget's address is, for documentation and studio; the parsers in `options.ts` carry it out. */
export type OptionRow = Readonly<{
  name: string
  /** Above its field. */
  label: string
  control: OptionControl
  widget: 'both' | 'where-to-buy' | 'deals'
  /** Frames have no host page to isolate from, to be styled by or to mark up. */
  isFragmentOnly?: boolean
  /** As the answer to a bad value says it. */
  accepts: string
  /** In words where it is none of the accepted values. */
  fallback: string
  meaning: string
  /** A query string that tries it. */
  example: string
}>

/** Every option, in the order of the documentation. */
export const OPTION_LIST: readonly OptionRow[] = [
  {
    name: 'theme',
    widget: 'both',
    label: 'Theme',
    control: THEMES,
    accepts: '`auto` or `light` or `dark`',
    fallback: '`auto`',
    meaning: 'the colours; `auto` follows what the reader’s system prefers',
    example: 'theme=dark',
  },
  {
    name: 'accent',
    widget: 'both',
    label: 'Accent colour',
    control: 'color',
    accepts: 'six hex digits without #',
    fallback: 'the theme’s own',
    meaning: 'the colour of the filled button; text on it and in it is chosen for contrast',
    example: 'accent=ff6600',
  },
  {
    name: 'locale',
    widget: 'both',
    label: 'Language',
    control: 'language',
    accepts: 'a language tag such as en or de-AT',
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
    accepts: 'an ISO 4217 code such as EUR',
    fallback: '`VITRINE_CURRENCY`, else the one that most offers have',
    meaning: 'only offers in this currency; prices of different currencies are never compared',
    example: 'currency=GBP',
  },
  {
    name: 'stock',
    widget: 'both',
    label: 'Stock',
    control: STOCKS,
    accepts: '`in` or `any`',
    fallback: 'boxes `any`, in stock first; grids `in`',
    meaning: 'only what is in stock, or everything',
    example: 'stock=in',
  },
  {
    name: 'merchant',
    widget: 'both',
    label: 'Only these shops',
    control: 'shops',
    accepts: NAMES_ACCEPTS,
    fallback: 'all',
    meaning: 'only these shops, compared without case; repeat it for several',
    example: 'merchant=Kestrel%20Row&merchant=Quillhaven',
  },
  {
    name: 'exclude',
    widget: 'both',
    label: 'Never these shops',
    control: 'shops',
    accepts: NAMES_ACCEPTS,
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
    accepts: '`none` or `shadow`',
    fallback: '`none`',
    meaning: 'inherit the page’s font, or stand in declarative shadow DOM that no style of the page reaches',
    example: 'isolate=shadow',
  },
  {
    name: 'css',
    widget: 'both',
    label: 'Style sheet',
    control: STYLE_SHEETS,
    isFragmentOnly: true,
    accepts: '`link` or `none`',
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
    accepts: '`list` or `table` or `card` or `button`',
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
    accepts: 'a whole number from 1 to 50',
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
    accepts: '`none` or `schema`',
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
    accepts: '`grid` or `list` or `carousel`',
    fallback: '`grid`',
    meaning: 'cards side by side; one under the other; in a row that scrolls and snaps, without script',
    example: 'layout=carousel',
  },
  {
    name: 'limit',
    widget: 'deals',
    label: 'Cards on a page',
    control: { min: 1, max: 60 },
    accepts: 'a whole number from 1 to 60',
    fallback: '12',
    meaning: 'cards on a page',
    example: 'limit=4',
  },
  {
    name: 'page',
    widget: 'deals',
    label: 'Page',
    control: { min: 1, max: 1_000 },
    accepts: 'a whole number from 1 to 1000',
    fallback: '1',
    meaning: 'which page; frames link to the pages before and after',
    example: 'page=2',
  },
  {
    name: 'sort',
    widget: 'deals',
    label: 'Order',
    control: DEAL_SORTS,
    accepts: '`discount` or `saving` or `price` or `newest`',
    fallback: '`discount`',
    meaning: 'largest discount in per cent, largest saving, lowest price, or newest on sale first',
    example: 'sort=price',
  },
  {
    name: 'min_discount',
    widget: 'deals',
    label: 'Least discount, per cent',
    control: { min: 1, max: 99 },
    accepts: 'a whole number from 1 to 99',
    fallback: '1',
    meaning: 'least discount in per cent',
    example: 'min_discount=20',
  },
  {
    name: 'max_price',
    widget: 'deals',
    label: 'Highest price',
    control: 'price',
    accepts: 'a price such as 49.99',
    fallback: 'none',
    meaning: 'highest price, in the grid’s currency',
    example: 'max_price=100',
  },
  {
    name: 'brand',
    widget: 'deals',
    label: 'Brand',
    control: 'text',
    accepts: TEXT_ACCEPTS,
    fallback: 'none',
    meaning: 'only this brand, compared without case',
    example: 'brand=Lumvik',
  },
  {
    name: 'q',
    widget: 'deals',
    label: 'Words in title or brand',
    control: 'text',
    accepts: TEXT_ACCEPTS,
    fallback: 'none',
    meaning:
      'deals with every word in title or brand, without case and accents; a word may be the beginning of a longer one, and is found within words only where no title has it so',
    example: 'q=lamp',
  },
]
