/**
 * The JSON of `/data/…`, published with the package as `vitrine/data`. `/openapi.json` describes the same; a test compares them.
 * New properties may be added in any version.
 */

/** What `/data/{channel}/where-to-buy/{gtin}` sends. */
export type WhereToBuyData = WhereToBuyJson | HiddenJson
/** What `/data/{channel}/picks/{gtins}` sends. */
export type PicksData = PicksJson | HiddenJson
/** What `/data/{channel}/deals` sends. */
export type DealsData = DealsJson | HiddenJson

/** Nothing is to be shown. `hidden`: no shop sells it, or the data cannot be had now; `invalid`: the address is wrong. */
export type HiddenJson = Readonly<{
  state: 'hidden' | 'invalid'
  /** Why, for the author; `null` if this server does not say. */
  reason: string | null
}>

/** What all shown widgets have. Show `disclosure` before the first link, and `checkedAt` or the notices near the prices. */
export type ShownJson = Readonly<{
  state: 'shown'
  /** Which products are missing, and why, for the author; `null`: none. */
  reason: string | null
  /** Language of all texts (BCP 47), and its direction. */
  lang: string
  dir: 'ltr' | 'rtl'
  /** Accessible name of the widget. */
  label: string
  heading: string
  /** Advertising disclosure; `null` if the operator has turned it off. */
  disclosure: string | null
  /** When the oldest shown price was checked (RFC 3339, UTC); `null`: unknown. */
  checkedAt: string | null
  /** Sentences about the order, shipping, the age of the prices, and which shops are compared. */
  notices: readonly string[]
}>

export type WhereToBuyJson = ShownJson &
  Readonly<{
    kind: 'where-to-buy'
    product: Omit<ProductJson, 'offers'>
    /** Says that the product stands in for another one; `null`: it does not. */
    standIn: string | null
    /** The lowest price and its shop as a part of a sentence; empty without a price. */
    sentence: string
    /** The first offers, as many as the option `limit`, in the order in which they must be shown. */
    offers: readonly OfferJson[]
    /** All other offers, in order. */
    moreOffers: readonly OfferJson[]
    /** Other variants of the product, in the order of the address. */
    variants: readonly ProductJson[]
    /** What the option `history` tells; `null`: nothing. */
    history: Readonly<{ text: string; chart: string | null }> | null
  }>

export type PicksJson = ShownJson &
  Readonly<{
    kind: 'picks'
    /** In the order of the address. */
    products: readonly (ProductJson & Readonly<{ label: string | null }>)[]
  }>

export type DealsJson = ShownJson &
  Readonly<{
    kind: 'deals'
    deals: readonly DealJson[]
    /** Address of the next page; `null` on the last one. */
    nextPage: string | null
  }>

export type ProductJson = Readonly<{
  /** 14 digits. */
  gtin: string
  title: string
  /** `null` if there is none, or the title has it. */
  brand: string | null
  picture: PictureJson | null
  /** At most 20, the best one first. */
  offers: readonly OfferJson[]
}>

export type DealJson = Omit<ProductJson, 'offers'> & Readonly<{ offer: OfferJson }>

/** Attributes of an `img` element; `srcset` and `sizes` are `null` for a picture of one size. */
export type PictureJson = Readonly<{ src: string; srcset: string | null; sizes: string | null }>

export type OfferJson = Readonly<{
  /** Unique within the product, and the same at each request. */
  id: string
  merchant: string
  /** Address of the logo; `null`: none. */
  logo: string | null
  /** A line of the publisher about the shop; `null`: none. */
  terms: string | null
  /** Affiliate link: use it unchanged, with `rel="sponsored nofollow"`. */
  link: string
  /** Accessible name of the link, with shop and price. */
  linkLabel: string
  availability: Readonly<{ kind: 'in' | 'out' | 'other'; text: string }>
  /** Whether it is the lowest of several prices in stock. */
  isLowest: boolean
  /** `null` if the price is too old to be shown. */
  price: PriceJson | null
  /** The formatted price, or the words to show in its place. */
  priceText: string
}>

export type PriceJson = Readonly<{
  /** Exact decimal text, such as `199.00`. */
  amount: string
  /** ISO 4217. */
  currency: string
  text: string
  /** The former or observed price that makes the offer a deal; `null`: none. */
  reference: ReferencePriceJson | null
}>

export type ReferencePriceJson = Readonly<{
  amount: string
  text: string
  /** Who says so: the shop, or the observation of this server. */
  source: 'shop' | 'observed'
  /** What the price is, such as "Shop's former price". */
  label: string
  /** Such as `−20%`; `null` below one per cent. */
  discount: string | null
}>
