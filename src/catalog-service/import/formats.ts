import { ImportError, UsageError } from '../../errors.ts'
import { findUtf16Encoding } from './open-feed.ts'
import { toColumnName } from './feed-row.ts'

/** Formats of feeds, as `--format` names them. Each of them plain or gzip. */
const FEED_FORMATS = ['ndjson', 'google-xml', 'google-tsv', 'google-csv', 'awin-csv'] as const

export type FeedFormat = (typeof FEED_FORMATS)[number]

/** Bytes of a feed that are looked at to tell its format. */
export const HEAD_BYTES: number = 64 * 1024

/** What packed files begin with, and what unpacks them. gzip is not among them: it is read as it is. */
const ARCHIVE_SIGNATURES: readonly (readonly [hex: string, name: string])[] = [
  ['504b0304', 'zip'],
  ['504b0506', 'zip'],
  ['425a68', 'bzip2'],
  ['fd377a585a', 'xz'],
  ['28b52ffd', 'zstd'],
  ['377abcaf', '7-zip'],
]

/** @throws UsageError, which lists the names, for one that is not among them. */
export function parseFeedFormat(name: string): FeedFormat {
  const format = FEED_FORMATS.find((known) => known === name)
  if (format === undefined) throw new UsageError(`--format accepts ${FEED_FORMATS.join(', ')}`)
  return format
}

/**
 * Return the format of a feed that begins with `head`; `file` is for messages.
 * @throws ImportError that says what was looked for.
 */
export function detectFormat(head: Buffer, file: string): FeedFormat {
  const text = toHeadText(head)
  if (/^\s*</.test(text)) return 'google-xml'
  if (/^\s*\[/.test(text))
    throw new ImportError(`${file} is one JSON list; write its products one a line, without the brackets`)
  const { delimiter, awinNames, googleNames } = parseTableHead(text)
  if (awinNames > 0 && awinNames + googleNames >= MIN_KNOWN_COLUMNS) return 'awin-csv'
  if (googleNames >= MIN_KNOWN_COLUMNS) return delimiter === '\t' ? 'google-tsv' : 'google-csv'
  if (/^[ \t]*\{/m.test(text)) return 'ndjson'
  throw new ImportError(
    `${file} is no feed that is known: no JSON with one product a line, no XML, and no table whose first line names columns ` +
      'such as gtin, title, link, price (Google Merchant) or product_name, aw_deep_link, search_price (Awin); ' +
      `--format names one of ${FEED_FORMATS.join(', ')}`,
  )
}

export function rejectArchive(head: Buffer, file: string): void {
  const firstBytes = head.subarray(0, 8).toString('hex')
  const archive = ARCHIVE_SIGNATURES.find(([hex]) => firstBytes.startsWith(hex))
  if (archive !== undefined) throw new ImportError(`${file} is a ${archive[1]} file: unpack it first`)
}

/** The first bytes as text, whatever its encoding, for what is in ASCII there. */
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

/** Names of the product data specification, one of which alone says nothing. */
const GOOGLE_COLUMNS: ReadonlySet<string> = new Set(
  'id title description link image_link price sale_price availability gtin brand mpn condition'.split(' '),
)

/** Known names that a table needs, so that it is taken for one of a kind. */
const MIN_KNOWN_COLUMNS = 2

/** Split a header by each delimiter, and take the one that finds the most known names, and then the most names. */
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
