import { hash } from 'node:crypto'
import { MAX_READ_OFFERS } from '../../offers/offer-limits.ts'

/**
 * - `tracked`: the publisher's tracking link, valid only for the network channel of the import
 * - `page`: the shop's own page. A link template turns it into tracking links for every channel; without a template it is
 *   stored like a tracked link
 */
export type LinkKind = 'tracked' | 'page'

export type SalePeriod = Readonly<{ startsMs: number | null; endsMs: number | null }>

export type FeedOffer = Readonly<{
  merchant: string
  /** The network's id of the shop, `{merchant}` in the link template; `null` when the feed has none. */
  merchantReference: string | null
  network: string
  /** Decimal text above zero: 1 to 12 digits, then up to 4 decimals. */
  price: string
  oldPrice: string | null
  currency: string
  availability: string
  /**
   * Limits of the sale, Unix milliseconds; `startsMs` is included, `endsMs` is not; `null` inside: no limit. Outside the period,
   * the price is `oldPrice`; without one there is no offer. `null`: `price` and `oldPrice` always apply.
   */
  salePeriod: SalePeriod | null
  /** When the price was checked, according to the feed, Unix milliseconds; `null`: when the feed was fetched. */
  checkedAtMs: number | null
  url: string
  link: LinkKind
  /** Set when the feed has no shop name and `merchant` is the host of `url`. */
  isNamedByHost?: true
}>

/** A product of a feed with at least one usable offer. The GTIN is padded to 14 digits. */
export type FeedProduct = Readonly<{
  gtin: string
  title: string
  brand: string | null
  images: readonly string[]
  offers: readonly FeedOffer[]
}>

/**
 * One line of the `.rejects` file. `row` counts lines or items of a JSON feed, records of a table (its header is 1) or
 * items of an XML feed, from 1. `field` is a path such as `offers[2].price`, a column, or `row` for the whole row.
 */
export type Reject = Readonly<{ row: number; field: string; reason: string; raw: string }>

export type ParsedRow = Readonly<{ product: FeedProduct | undefined; rejects: readonly Reject[] }>

/** A row of a feed. `parse` is expensive and is called only for new or changed rows. */
export type FeedRow = Readonly<{
  row: number
  bytes: number
  /** Return the probable GTIN without parsing the row. */
  guessGtin(): string | undefined
  /** Return a digest of everything that determines the product. */
  computeDigest(): string
  /** Never throw: unusable data becomes a reject. A blank row has no product and no rejects. */
  parse(): ParsedRow
}>

export type NameOverrides = Readonly<{ network?: string | undefined; merchant?: string | undefined }>

export const DEFAULT_NETWORK = 'feed'

/** Limit of a line, record or item. A longer JSON line is rejected; in other formats the import fails. */
export const MAX_ROW_BYTES: number = 8 * 1024 * 1024

export const MAX_RAW_CHARACTERS = 2_000

export const TOO_MANY_OFFERS: string = `more than ${MAX_READ_OFFERS} offers; the others are left out`

export const INVALID_PICTURE_URL = 'not an absolute http or https address; the picture is left out'

/** A record of a table, or an item of XML or JSON. Columns are normalized by `toColumnName`, and paths by `toXmlKey`. */
export type SourceRow = Readonly<{
  /** From 1; the header of a table is 1. */
  row: number
  bytes: number
  problem: Readonly<{ field: string; reason: string }> | undefined
  /** Whether one value may be a comma-separated list of addresses. In XML and JSON, values repeat instead. */
  hasLists: boolean
  /** Return the first non-empty value of the field, trimmed; `''` without one. */
  read(name: string): string
  readAll(name: string): readonly string[]
  /** Return the unchanged row for the rejects file, at most `MAX_RAW_CHARACTERS`. */
  toRawText(): string
  /** Return the whole content of the row with its column names, for the digest. */
  getContent(): string | Buffer
  /** The offers of a product with nested offers; `undefined`: the row is the offer. They inherit the fields of the product. */
  offers?: readonly SourceRow[] | undefined
}>

const DIGEST_CHARACTERS = 22

export function computeDigest(salt: string, content: string | Buffer): string {
  return salt + hash('sha256', content, 'base64url').slice(0, DIGEST_CHARACTERS)
}

/** Normalize the name of a column or element: `g:image link`, `Image-Link` and ` IMAGE_LINK ` give `image_link`. */
export function toColumnName(text: string): string {
  // Most names are normalized, and each element of XML has one.
  if (/^[a-z\d]+(?:_[a-z\d]+)*$/.test(text)) return text
  return text
    .trim()
    .toLowerCase()
    .replace(/^g:/, '')
    .trim()
    .replace(/[\s_-]+/g, '_')
}

/** Limits the rejects file: a row of 8 MB can have a great many faulty offers. */
const MAX_REJECTS_PER_ROW = 20

export function createRowRejects(row: number) {
  const rejects: Reject[] = []
  let omittedCount = 0
  return {
    /** Add a reject; beyond the limit, only count it without calling `describe`. */
    add(field: string, reason: string, describe: () => string): undefined {
      if (rejects.length < MAX_REJECTS_PER_ROW) rejects.push({ row, field, reason, raw: describe() })
      else omittedCount += 1
    },
    list(): readonly Reject[] {
      if (omittedCount === 0) return rejects
      return [
        ...rejects,
        { row, field: 'row', reason: `and ${omittedCount} more`, raw: rejects[0]?.raw ?? '' },
      ]
    },
  }
}

/** Truncate a text for a reject. Copy it, because a substring would keep the whole text in memory. */
export function truncateRaw(text: string): string {
  return Buffer.from(text.slice(0, MAX_RAW_CHARACTERS), 'utf16le').toString('utf16le')
}
