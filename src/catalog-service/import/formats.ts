import { ImportError, UsageError } from '../../errors.ts'
import { findUtf16Encoding } from './open-feed.ts'
import { toColumnName } from './feed-row.ts'

/** Values of `--format`. Each format may be gzipped. */
const FEED_FORMATS = ['ndjson', 'google-xml', 'google-tsv', 'google-csv', 'awin-csv'] as const

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

/** Detect the format of a feed by its first bytes; `file` is for messages. @throws ImportError when it is not recognised. */
export function detectFormat(head: Buffer, file: string): FeedFormat {
  const text = toHeadText(head)
  if (/^\s*</.test(text)) return 'google-xml'
  if (/^\s*\[/.test(text))
    throw new ImportError(`${file} is a single JSON array; write one product per line, without the brackets`)
  const { delimiter, awinNames, googleNames } = parseTableHead(text)
  if (awinNames > 0 && awinNames + googleNames >= MIN_KNOWN_COLUMNS) return 'awin-csv'
  if (googleNames >= MIN_KNOWN_COLUMNS) return delimiter === '\t' ? 'google-tsv' : 'google-csv'
  if (/^[ \t]*\{/m.test(text)) return 'ndjson'
  throw new ImportError(
    `the format of ${file} is not recognised: expected JSON with one product per line, XML, or a table whose first line has ` +
      'columns such as gtin, title, link, price (Google Merchant) or product_name, aw_deep_link, search_price (Awin); ' +
      `set --format to one of ${FEED_FORMATS.join(', ')}`,
  )
}

export function rejectArchive(head: Buffer, file: string): void {
  const firstBytes = head.subarray(0, 8).toString('hex')
  const archive = ARCHIVE_SIGNATURES.find(([hex]) => firstBytes.startsWith(hex))
  if (archive !== undefined) throw new ImportError(`${file} is a ${archive[1]} file: unpack it first`)
}

/** Decode the first bytes as UTF-16 or UTF-8; only the ASCII characters are reliable. */
export function toHeadText(head: Buffer): string {
  const encoding = findUtf16Encoding(head)
  const text = encoding === undefined ? head.toString('utf8') : new TextDecoder(encoding).decode(head)
  return text.replace(/^\ufeff/, '')
}

const DELIMITERS = [',', ';', '|', '\t'] as const

export type Delimiter = (typeof DELIMITERS)[number]

const AWIN_COLUMNS: ReadonlySet<string> = new Set(
  'aw_deep_link aw_product_id search_price store_price merchant_deep_link merchant_product_id deep_link product_url product_name'.split(
    ' ',
  ),
)

/** Columns of the product data specification. A single one is too common to identify the format. */
const GOOGLE_COLUMNS: ReadonlySet<string> = new Set(
  'id title description link image_link price sale_price availability gtin brand mpn condition'.split(' '),
)

const MIN_KNOWN_COLUMNS = 2

export function parseTableHead(text: string) {
  const line = /^\s*(?:"?sep=.?"?[ \t]*[\r\n]+)?\s*([^\r\n]*)/i.exec(text)?.[1] ?? ''
  const heads = DELIMITERS.map((delimiter) => {
    const names = line.split(delimiter).map((cell) => toColumnName(cell.replace(/^\s*"|"\s*$/g, '')))
    const awinNames = names.filter((name) => AWIN_COLUMNS.has(name)).length
    const googleNames = names.filter((name) => GOOGLE_COLUMNS.has(name)).length
    return {
      delimiter,
      awinNames,
      googleNames,
      score: (awinNames + googleNames) * line.length + names.length,
    }
  })
  return heads.reduce((best, head) => (head.score > best.score ? head : best))
}
