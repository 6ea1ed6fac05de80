import { hash } from 'node:crypto'

/**
 * What the link of an offer is:
 * - `tracked`: the publisher's own tracking link, which serves only the network channel that the feed was imported for
 * - `page`: the shop's own page. A network with a link template makes tracking links of it, for every channel; without
 *   one it is all that the feed has, and is taken like a tracked link
 */
export type LinkKind = 'tracked' | 'page'

export type FeedOffer = Readonly<{
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
  isNamedByHost?: true
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

export type ParsedRow = Readonly<{ product: FeedProduct | undefined; rejects: readonly Reject[] }>

/** A row of a feed. It is only read into a product when it is not known. */
export type FeedRow = Readonly<{
  row: number
  bytes: number
  /** Return the GTIN of its product, as far as can be told before it is parsed. */
  guessGtin(): string | undefined
  /** Return a digest of the row and of all that it is read with; `undefined` when it gives something else on another day. */
  computeDigest(): string | undefined
  /** Never throws: what cannot be used is a reject. Blank rows give nothing. */
  parse(): ParsedRow
}>

export type NameOverrides = Readonly<{ network?: string | undefined; merchant?: string | undefined }>

export const DEFAULT_NETWORK = 'feed'

/** Longest line, record or item: a line above it is rejected, and of others the file, whose next row nobody can find. */
export const MAX_ROW_BYTES: number = 8 * 1024 * 1024

/** Characters of a rejected row or offer that are written down. */
export const MAX_RAW_CHARACTERS = 2_000

export const INVALID_PICTURE_URL = 'not an absolute http or https address; the picture is left out'

/** A record of a table or an item of an XML feed. Names are those of `toColumnName`. */
export type SourceRow = Readonly<{
  /** From 1; the header of a table is 1. */
  row: number
  bytes: number
  problem: Readonly<{ field: string; reason: string }> | undefined
  /** May one value be a list of addresses with commas between them? Elements of XML repeat instead. */
  hasLists: boolean
  /** The first value under the name that is not empty, without white space around; `''` when there is none. */
  read(name: string): string
  /** Every value under the name that is not empty, without white space around. */
  readAll(name: string): readonly string[]
  /** The row as it came, for the rejects file: at most `MAX_RAW_CHARACTERS`. */
  toRawText(): string
  /** All that the row says, and the names of its columns. */
  getContent(): string
}>

export type RowTask = Readonly<{
  row: SourceRow
  names: NameOverrides
  nowMs: number
  /** Write a reject down and return `undefined`. */
  reject(field: string, reason: string): undefined
}>

/** Characters of a digest: 132 bits of it. */
const DIGEST_CHARACTERS = 22

export function computeDigest(salt: string, content: string | Buffer): string {
  return salt + hash('sha256', content, 'base64url').slice(0, DIGEST_CHARACTERS)
}

/** `image_link` from `g:image link`, `Image_Link` and ` IMAGE LINK `: the names of columns and elements are written freely. */
export function toColumnName(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replace(/^g:/, '')
    .trim()
    .replace(/[\s_]+/g, '_')
}

/** Faults of one row that get a line each: a row of eight megabytes must not become a file of gigabytes. */
const MAX_REJECTS_PER_ROW = 20

export function createRowRejects(row: number) {
  const rejects: Reject[] = []
  let omittedCount = 0
  return {
    /** Add a reject, or only count it when there are twenty. `describe` is called for those that are written. */
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

/** Cut a text to what a reject shows. It is a copy: a piece of a long text would keep all of that in memory. */
export function truncateRaw(text: string): string {
  return Buffer.from(text.slice(0, MAX_RAW_CHARACTERS), 'utf16le').toString('utf16le')
}
