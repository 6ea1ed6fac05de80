import { ImportError, UsageError } from '../../errors.ts'
import { DELIMITERS, type Delimiter } from './feed-map.ts'
import { toColumnName } from './feed-row.ts'
import { toFeedText } from './feed-text.ts'
import { isRakuten } from './rakuten.ts'

/** Values of `--format`. Each format may be gzipped. */
export const FEED_FORMATS = [
  'ndjson',
  'json',
  'google-xml',
  'google-tsv',
  'google-csv',
  'awin-csv',
  'cj',
  'impact',
  'rakuten',
  'tradedoubler',
  'adtraction',
  'webgains',
  'tradetracker',
] as const

export type FeedFormat = (typeof FEED_FORMATS)[number]

export const HEAD_BYTES: number = 64 * 1024

/** First bytes of archives, and their names for messages. gzip is supported and not listed. */
const ARCHIVE_SIGNATURES: readonly (readonly [hex: string, name: string])[] = [
  ['504b0304', 'zip'],
  ['504b0506', 'zip'],
  ['425a68', 'bzip2'],
  ['fd377a585a', 'xz'],
  ['28b52ffd', 'zstd'],
  ['377abcaf', '7-zip'],
]

export function parseFeedFormat(name: string): FeedFormat {
  const format = FEED_FORMATS.find((known) => known === name)
  if (format === undefined) throw new UsageError(`--format accepts ${FEED_FORMATS.join(', ')}`)
  return format
}

/** Parts of XML and JSON that only one network has. */
const MARKERS: readonly (readonly [format: FeedFormat, pattern: RegExp])[] = [
  ['tradedoubler', /[<"](?:priceHistory|sourceProductUrl)[>"]/],
  ['tradetracker', /<properties>\s*<property name=/],
  ['adtraction', /<TrackingUrl>/i],
  ['webgains', /<european_article_number>/i],
  ['cj', /<(?:cj:)?(?:impression_?url|catalog_?name)>/i],
  ['impact', /[<"]CatalogItemId[>"]/],
]

/** An object of products: `items` is its first key, or follows the cursor of the contract. */
const ITEMS_OBJECT = /^\s*\{\s*(?:"next_cursor"\s*:\s*(?:null|"[^"]*")\s*,\s*)?"items"\s*:\s*\[/

/** Columns that only one network has, all of them together. */
const SIGNATURES: readonly (readonly [format: FeedFormat, columns: readonly string[]])[] = [
  ['cj', ['program_name', 'catalog_name', 'link']],
  ['cj', ['programname', 'buyurl']],
  ['impact', ['campaignname', 'currentprice']],
  ['impact', ['current_price', 'stock_availability']],
  ['adtraction', ['trackingurl', 'producturl']],
  ['webgains', ['european_article_number', 'deeplink']],
  ['webgains', ['program_id', 'deeplink']],
  ['tradetracker', ['product_id', 'producturl', 'imageurl', 'categories']],
]

const AWIN_COLUMNS: ReadonlySet<string> = new Set(
  'aw_deep_link aw_product_id search_price store_price merchant_deep_link merchant_product_id deep_link product_url product_name'.split(
    ' ',
  ),
)

/** Columns of the product data specification. A single one is too common to identify the format. */
const GOOGLE_COLUMNS: ReadonlySet<string> = new Set(
  'id title description link image_link price sale_price availability gtin brand mpn condition'.split(' '),
)

const KNOWN_COLUMNS: ReadonlySet<string> = new Set([
  ...AWIN_COLUMNS,
  ...GOOGLE_COLUMNS,
  ...SIGNATURES.flatMap(([, columns]) => columns),
])

const MIN_KNOWN_COLUMNS = 2

/** Detect the format of a feed by its first characters. @throws ImportError when it is not recognised. */
export function detectFormat(head: string, file: string): FeedFormat {
  const format = /^\s*[<[{]/.test(head) ? detectMarkup(head) : detectTable(head)
  if (format !== undefined) return format
  throw new ImportError(
    `the format of ${file} is not recognised: expected JSON, XML, or a table whose first line has columns such as gtin, title, ` +
      'link, price (Google Merchant) or product_name, aw_deep_link, search_price (Awin); ' +
      `set --format to one of ${FEED_FORMATS.join(', ')}, or describe the columns in a file for --map`,
  )
}

function detectMarkup(head: string): FeedFormat {
  const format = MARKERS.find(([, pattern]) => pattern.test(head))?.[0]
  if (format !== undefined) return format
  if (/^\s*</.test(head)) return 'google-xml'
  return /^\s*\[/.test(head) || ITEMS_OBJECT.test(head) ? 'json' : 'ndjson'
}

function detectTable(head: string): FeedFormat | undefined {
  if (isRakuten(head)) return 'rakuten'
  const { delimiter, names } = parseTableHead(head)
  const signed = SIGNATURES.find(([, columns]) => columns.every((name) => names.includes(name)))?.[0]
  if (signed !== undefined) return signed
  const awinCount = names.filter((name) => AWIN_COLUMNS.has(name)).length
  const googleCount = names.filter((name) => GOOGLE_COLUMNS.has(name)).length
  if (awinCount > 0 && awinCount + googleCount >= MIN_KNOWN_COLUMNS) return 'awin-csv'
  if (googleCount >= MIN_KNOWN_COLUMNS) return delimiter === '\t' ? 'google-tsv' : 'google-csv'
  return /^[ \t]*\{/m.test(head) ? 'ndjson' : undefined
}

/** @throws ImportError for an archive. */
export function rejectArchive(head: Buffer, file: string): void {
  const firstBytes = head.subarray(0, 8).toString('hex')
  const archive = ARCHIVE_SIGNATURES.find(([hex]) => firstBytes.startsWith(hex))
  if (archive !== undefined) throw new ImportError(`${file} is a ${archive[1]} file: unpack it first`)
}

const WEB_PAGE = /^\s*(?:<\?xml[^>]*>\s*)?(?:<!--[^]{0,2000}?-->\s*)?<(?:!doctype\s+html|html)[\s>]/i

/** @throws ImportError for a file without content, and for a web page such as a login form. */
export function rejectNonFeed(head: string, file: string): void {
  if (head.trim() === '') throw new ImportError(`${file} is empty`)
  if (!WEB_PAGE.test(head)) return
  const title = toFeedText(/<title[^>]{0,200}>([^<]{0,200})/i.exec(head)?.[1] ?? '')
  throw new ImportError(
    `${file} is a web page, not a feed: ${title === '' ? 'is the address complete, with its key?' : `"${title}"`}`,
  )
}

type TableHead = Readonly<{ delimiter: Delimiter; names: readonly string[] }>

/** Split the first line by the delimiter that gives the most known columns. */
export function parseTableHead(text: string, known: ReadonlySet<string> = KNOWN_COLUMNS): TableHead {
  const line = /^\s*(?:"?sep=.?"?[ \t]*[\r\n]+)?\s*([^\r\n]*)/i.exec(text)?.[1] ?? ''
  const heads = DELIMITERS.map((delimiter) => {
    const names = line.split(delimiter).map((cell) => toColumnName(cell.replace(/^\s*"|"\s*$/g, '')))
    const knownCount = names.filter((name) => known.has(name)).length
    return { delimiter, names, score: knownCount * line.length + names.length }
  })
  return heads.reduce((best, head) => (head.score > best.score ? head : best))
}
