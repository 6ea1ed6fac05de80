import type { DealSort } from '../../offers/deals.ts'

/** How a shop says that it has the product; `other` covers unknown words. */
export type AvailabilityWord =
  'in_stock' | 'out_of_stock' | 'preorder' | 'backorder' | 'discontinued' | 'other'

/**
 * All words that a reader sees or hears, as data. A word in braces is filled in: names of shops and products as they
 * are (no sentence bends them), numbers, prices and dates already formatted.
 */
export type Words = Readonly<{
  boxHeading: string
  boxName: string
  gridHeading: string
  toShop: string
  /** Completes the accessible name of a link to an offer with a price: `{merchant}`, `{price}`. */
  linkWithPrice: string
  /** Completes the accessible name of a link to an offer whose price is too old: `{merchant}`. */
  linkWithoutPrice: string
  seePrice: string
  /** Spoken before the price when there is a former one. */
  priceNow: string
  /** Shown and spoken before the former price: the shop's own, not the maker's. */
  formerPrice: string
  /** Marks the lowest price of those in stock. */
  bestPrice: string
  /** Heads of a table's columns; the last one is only heard. */
  columns: Readonly<Record<'shop' | 'availability' | 'price' | 'link', string>>
  availability: Readonly<Record<AvailabilityWord, string>>
  /** The line that opens the folded offers, with `{count}`: one form for each plural category of the language. */
  moreShops: Readonly<Partial<Record<Intl.LDMLPluralRule, string>> & { other: string }>
  atMerchant: string
  /** When the prices were checked, with `{time}`: a date and a time of day. */
  pricesChecked: string
  shippingNotIncluded: string
  coverage: string
  boxOrder: string
  gridOrder: Readonly<Record<DealSort, string>>
  disclosure: string
  pages: string
  previousPage: string
  nextPage: string
  /** Accessible names of the buttons that move a carousel. */
  previousDeals: string
  nextDeals: string
}>

/** One language: a file of this folder, named after its BCP 47 tag, exports it as `locale`. */
export type Locale = Readonly<{
  dir: 'ltr' | 'rtl'
  /** Other tags, in lower case, whose readers read this language. */
  alsoFor?: readonly string[]
  words: Words
}>
