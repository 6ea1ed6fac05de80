/** How a shop says that it has the product; `other` covers unknown words. */
export type AvailabilityWord =
  'in_stock' | 'out_of_stock' | 'preorder' | 'backorder' | 'discontinued' | 'other'

/** How a grid can be ordered. */
export type GridSort = 'discount' | 'saving' | 'price' | 'newest'

/** A date inside a sentence: the time stands between the two, spaces included. */
export type AroundTime = Readonly<{ before: string; after: string }>

/**
 * All words that a reader sees or hears. Numbers, prices and dates come in already formatted. Names of shops and
 * products come in as they are: a message never bends them.
 */
export type Messages = Readonly<{
  /** Heading of the box. */
  boxHeading: string
  /** Accessible name of the box. */
  nameBox(title: string): string
  /** Heading and accessible name of the grid. */
  gridHeading: string
  /** What a link to an offer shows. */
  toShop: string
  /** Completes the accessible name of a link to an offer with a price. */
  nameLinkWithPrice(words: Readonly<{ merchant: string; price: string }>): string
  /** Completes the accessible name of a link to an offer whose price is too old. */
  nameLinkWithoutPrice(merchant: string): string
  /** Stands in the place of a price that is too old. */
  seePrice: string
  /** Spoken before the price when there is a former one. */
  priceNow: string
  /** Shown and spoken before the former price: the shop's own, not the maker's. */
  formerPrice: string
  /** Marks the lowest price of those in stock. */
  bestPrice: string
  availability: Readonly<Record<AvailabilityWord, string>>
  /** The line that opens the folded offers. `count` chooses the plural, `shown` is printed. */
  countMoreShops(number: Readonly<{ count: number; shown: string }>): string
  /** The shop of a card. */
  placeAt(merchant: string): string
  /** When the prices were checked. */
  pricesChecked: AroundTime
  shippingNotIncluded: string
  /** Not every shop is compared. */
  coverage: string
  /** How the offers of a box are ordered. */
  boxOrder: string
  /** How the cards of a grid are ordered. */
  gridOrder: Readonly<Record<GridSort, string>>
  /** Says that the links are advertising. */
  disclosure: string
  /** Accessible name of the links to other pages of a grid. */
  pages: string
  previousPage: string
  nextPage: string
}>
