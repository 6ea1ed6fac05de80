/**
 * The JSON of `/data/…`, published with the package as `vitrine/data`. `/openapi.json` describes the same; a test compares them.
 * Later versions add properties, so ignore those that you do not know. `null` always means: none. Properties are never absent.
 */

/** What `/data/{channel}/where-to-buy/{gtin}` sends. `state` tells the types apart. */
export type WhereToBuyData = WhereToBuyJson | NotShownJson
/** What `/data/{channel}/picks/{gtins}` sends. */
export type PicksData = PicksJson | NotShownJson
/** What `/data/{channel}/deals` sends. */
export type DealsData = DealsJson | NotShownJson

/** Nothing is to be shown. `reason`: why, in English, for the author of the page, not for readers. */
export type NotShownJson = HiddenJson | InvalidJson
/** Nothing is sold, the options hide it, or the data cannot be read now (`isTemporary`): then keep the last copy, and try again. */
export type HiddenJson = Readonly<{ state: 'hidden'; isTemporary: boolean; reason: string }>
/** The address is wrong. */
export type InvalidJson = Readonly<{ state: 'invalid'; reason: string }>

/** What all shown widgets have. Show `disclosure` before the first link, and all `notices`. */
export type ShownJson = Readonly<{
  state: 'shown'
  /** Which products are missing, and why, in English, for the author of the page. */
  reason: string | null
  /** Language of all texts (BCP 47). */
  lang: string
  dir: 'ltr' | 'rtl'
  heading: string
  /** Name of the whole widget for screen readers. */
  accessibleName: string
  /** Advertising disclosure; `null` only if the operator has turned it off. */
  disclosure: string | null
  /** When the oldest price was checked (RFC 3339, UTC); `null` if the time is unknown. */
  checkedAt: string | null
  /** Sentences about the order, shipping, the time of the prices, and which shops are compared. */
  notices: readonly string[]
}>

/** A where-to-buy box. */
export type WhereToBuyJson = ShownJson &
  Readonly<{
    kind: 'where-to-buy'
    product: ProductJson
    /** Says that the product stands in for the one of the address: show it in place of the title. */
    standIn: string | null
    /** The lowest price in stock and its shop as a part of a sentence; `null` without any. */
    sentence: string | null
    /** The first offers, as many as the option `limit`, in the order in which you must show them. */
    offers: readonly OfferJson[]
    /** The next offers, at most 50, in order. */
    moreOffers: readonly OfferJson[]
    /** How many shops follow, such as `3 more shops`, also those that are left out. */
    moreOffersLabel: string | null
    /** The most expensive offers, if the list would be too long. */
    omittedOffers: OmittedOffersJson | null
    /** Other variants of the product, in the order of the address. */
    variants: readonly ProductWithOffersJson[]
    /** How many they are, such as `2 other versions`. */
    variantsLabel: string | null
    /** The text of the option `history`. */
    history: HistoryJson | null
  }>

/** A round-up. */
export type PicksJson = ShownJson &
  Readonly<{
    kind: 'picks'
    /** In the order of the address. */
    products: readonly PickJson[]
  }>

/** A page of deals. */
export type DealsJson = ShownJson &
  Readonly<{
    kind: 'deals'
    deals: readonly DealJson[]
    /** Address of the next page. */
    nextPage: string | null
  }>

export type ProductJson = Readonly<{
  /** 14 digits. */
  gtin: string
  title: string
  /** `null` also if the title contains it. */
  brand: string | null
  picture: PictureJson | null
}>

export type ProductWithOffersJson = ProductJson &
  Readonly<{
    /** At least one and at most 20, in the order in which you must show them. */
    offers: readonly OfferJson[]
    /** How many shops sell it, such as `25 shops`; `null` for a single one. */
    offersLabel: string | null
    /** The most expensive offers, if the list would be too long. */
    omittedOffers: OmittedOffersJson | null
  }>

/** Offers that are left out. */
export type OmittedOffersJson = Readonly<{
  count: number
  /** Such as `30 further shops are not listed`. */
  text: string
}>

/** A product of a round-up. */
export type PickJson = ProductWithOffersJson &
  Readonly<{
    /** The option `label`, such as `Best overall`. */
    label: string | null
  }>

/** A product with the offer that is reduced. */
export type DealJson = ProductJson &
  Readonly<{
    offer: OfferJson
    /** When this server first saw the deal (RFC 3339, UTC). */
    firstSeenAt: string
  }>

/** Attributes of an `img` element. */
export type PictureJson = Readonly<{
  src: string
  /** Several widths; `null` for a picture of one size. */
  srcset: string | null
}>

export type OfferJson = Readonly<{
  /** Unique within the product, and the same at each request. */
  id: string
  merchant: MerchantJson
  /** Affiliate link: use it unchanged, with `rel="sponsored nofollow"` and never `noreferrer`. */
  link: string
  /** Short text of the link, such as `To the shop`. */
  linkText: string
  /** Name of the link for screen readers, with shop and price. */
  linkLabel: string
  availability: AvailabilityJson
  /** `null` if the price is too old to be shown. */
  price: PriceJson | null
  /** The formatted price, or the words to show in its place. */
  priceText: string
  /** Words such as `Lowest listed price`, if it is the lowest of several prices in stock. */
  lowestLabel: string | null
}>

export type MerchantJson = Readonly<{
  name: string
  /** Address of the logo. */
  logo: string | null
  /** A line of the publisher about the shop. */
  terms: string | null
}>

/** `in`: in stock. `out`: sold out. `other`: such as a pre-order. */
export type AvailabilityJson = Readonly<{ kind: 'in' | 'out' | 'other'; text: string }>

export type PriceJson = Readonly<{
  /** Exact decimal text, such as `199.00`. */
  amount: string
  /** ISO 4217. */
  currency: string
  /** The higher price that makes the offer a deal. */
  reference: ReferencePriceJson | null
}>

/** Show it only with `label`: readers must know what the price is. */
export type ReferencePriceJson = Readonly<{
  /** Exact decimal text, in the currency of the price. */
  amount: string
  /** The formatted price, to be struck through. */
  text: string
  /** `shop`: the shop's former price. `observed`: the lowest price that this server observed before. */
  evidence: 'shop' | 'observed'
  /** What the price is, such as `Shop's former price`. */
  label: string
  /** Whole per cent, rounded. */
  discountPercent: number
  /** Such as `−20%`; `null` for 0 per cent. */
  discountText: string | null
}>

/** Prices that this server has observed. */
export type HistoryJson = Readonly<{
  text: string
  /** What the chart shows, as a sentence; `null` without `history=chart`. */
  chartText: string | null
}>
