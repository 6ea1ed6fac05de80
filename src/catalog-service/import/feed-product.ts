/** What every feed format is read into, before it is written. */

/**
 * What the link of an offer is:
 * - `tracked`: the publisher's own tracking link, which serves only the network channel that the feed was imported for
 * - `page`: the shop's own page. A network with a link template makes tracking links of it, for every channel; without
 *   one it is all that the feed has, and is taken like a tracked link
 */
export type LinkKind = 'tracked' | 'page'

/** An offer as the feed has it. */
export type FeedOffer = Readonly<{
  /** The shop's name as readers see it. */
  merchant: string
  /** What the network calls the shop: `{merchant}` of its link template; `null` when the feed does not say. */
  merchantReference: string | null
  network: string
  /** Decimal text, one to twelve digits, up to four decimals, above zero. */
  price: string
  oldPrice: string | null
  /** Three letters, upper case. */
  currency: string
  availability: string
  url: string
  link: LinkKind
  /** The feed names no shop: `merchant` is the host of `url`. */
  isNamedByLink?: true
}>

/** A product as the feed has it, with its usable offers: at least one. The GTIN is padded to 14 digits. */
export type FeedProduct = Readonly<{
  gtin: string
  title: string
  brand: string | null
  images: readonly string[]
  offers: readonly FeedOffer[]
}>

/**
 * One line of the `.rejects` file. `row` counts lines of a JSON feed, records of a table (its header is 1) and items of
 * an XML feed, from 1. `field` is a path such as `offers[2].price`, or a column; the whole row is `row`.
 */
export type Reject = Readonly<{ row: number; field: string; reason: string; raw: string }>

/** What a row gave: a product, rejects, or both. `isTimed`: what it gives depends on the day. */
export type ParsedRow = Readonly<{
  product: FeedProduct | undefined
  rejects: readonly Reject[]
  isTimed?: boolean
}>

/** A row of a feed. It is only read into a product when it is not known. */
export type FeedRow = Readonly<{
  row: number
  /** Its size, roughly, for batches of even weight. */
  bytes: number
  /** Return the GTIN of its product, as far as can be told before it is parsed. */
  guessGtin(): string | undefined
  /** Return a digest of the row and of all that it is read with. */
  computeDigest(): string
  /** Never throws: what cannot be used is a reject. Blank rows give nothing. */
  parse(): ParsedRow
}>

/** Names that stand in for those of the file. */
export type RowNames = Readonly<{ network?: string | undefined; merchant?: string | undefined }>

/** The network of offers that name none. */
export const DEFAULT_NETWORK = 'feed'

/** Characters of a rejected row or offer that are written down. */
export const MAX_RAW_CHARACTERS = 2_000
