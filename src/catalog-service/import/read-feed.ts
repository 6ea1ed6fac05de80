import { hash } from 'node:crypto'
import { ImportError } from '../../errors.ts'
import { VERSION } from '../../lib/paths.ts'
import { type ColumnMap, findMissingColumns, toColumnMap } from './column-map.ts'
import { chooseEncoding, decodeHead, decodeText, toUtf8 } from './encoding.ts'
import type { Delimiter, FeedMap } from './feed-map.ts'
import { type FeedRow, type NameOverrides, type SourceRow, toColumnName } from './feed-row.ts'
import {
  type FeedFormat,
  HEAD_BYTES,
  detectFormat,
  parseTableHead,
  rejectArchive,
  rejectNonFeed,
} from './formats.ts'
import { readJsonArray } from './json-array.ts'
import { type FeedLine, readLines } from './json-lines.ts'
import { toJsonSourceRows } from './json-paths.ts'
import { readJsonRows } from './json-rows.ts'
import { type RowContext, toFeedRow } from './map-row.ts'
import { type FeedHead, readHead } from './open-feed.ts'
import { findPresetMap, listPresetFormats } from './presets.ts'
import { addRakutenHeader } from './rakuten.ts'
import { readTable } from './table.ts'
import { readXmlItems } from './xml-items.ts'
import { type PathOptions, createPathCollector } from './xml-paths.ts'

/**
 * `map` replaces `format`; without both, the first bytes decide. `charset`: of the HTTP response, used when the file declares no
 * encoding.
 */
export type ReadFeedOptions = Readonly<{
  file: string
  chunks: AsyncIterable<Buffer>
  format: FeedFormat | undefined
  names: NameOverrides
  map?: FeedMap | undefined
  charset?: string | undefined
}>

export type FeedRows = Readonly<{
  /** `map`: a column map. */
  format: FeedFormat | 'map'
  /** Canonical name in lower case, such as `utf-8` or `windows-1252`. */
  encoding: string
  /** The rows of each chunk of the file, which may be none. One promise per row would double the cost of reading. */
  batches: AsyncIterable<readonly FeedRow[]>
}>

/** The file, and its first characters. */
type Source = Readonly<{ feed: FeedHead; file: string; encoding: string; head: string }>

/**
 * Detect the format and read the rows.
 * @throws ImportError when it is unknown or, while reading, when the file is unusable or not complete.
 */
export async function readFeed(options: ReadFeedOptions): Promise<FeedRows> {
  const { file, names, charset } = options
  const feed = await readHead(options.chunks, HEAD_BYTES)
  rejectArchive(feed.head, file)
  const encoding = chooseEncoding(feed.head, file, { encoding: options.map?.encoding, charset })
  const source = { feed, file, encoding, head: decodeHead(feed.head, encoding) }
  rejectNonFeed(source.head, file)
  const format = options.map === undefined ? (options.format ?? detectFormat(source.head, file)) : 'map'
  const map = options.map ?? findMap(format, source)
  // Another version of Vitrine may parse the same bytes differently.
  const salt = hash('sha256', JSON.stringify([VERSION, format, map, names, encoding]), 'base64url').slice(
    0,
    6,
  )
  if (map === undefined) {
    const path = format === 'ndjson' ? undefined : ['items']
    return { format, encoding, batches: readJsonRows(readJsonItems(source, path), names, salt) }
  }
  const columns = toColumnMap(map, format)
  const rows = readSourceRows(source, { format, map, columns })
  return { format, encoding, batches: toFeedRows(rows, { columns, names, salt }) }
}

/** Return the map of a format; `undefined` for products of the contract. @throws ImportError */
function findMap(format: FeedRows['format'], { head, file }: Source): FeedMap | undefined {
  if (format === 'ndjson' || format === 'json' || format === 'map') return undefined
  const content = /^\s*</.test(head) ? 'xml' : /^\s*[[{]/.test(head) ? 'json' : 'table'
  const formats = listPresetFormats(format)
  const map = findPresetMap(format, formats.length === 1 ? (formats[0] ?? content) : content)
  if (map !== undefined) return format === 'rakuten' ? addRakutenHeader(map, head, file) : map
  throw new ImportError(`${file} is no feed of the format ${format}: expected ${formats.join(' or ')}`)
}

async function* toFeedRows(
  rowBatches: AsyncIterable<SourceRow[]>,
  context: RowContext,
): AsyncGenerator<FeedRow[]> {
  for await (const rows of rowBatches) yield rows.map((row) => toFeedRow(row, context))
}

type Layout = Readonly<{ format: FeedRows['format']; map: FeedMap; columns: ColumnMap }>

function readSourceRows(source: Source, { format, map, columns }: Layout): AsyncIterable<SourceRow[]> {
  const { feed, file, encoding } = source
  if (format === 'google-xml') return readXmlItems(decodeText(feed, file, encoding), file)
  if (map.format === 'xml')
    return readXmlItems(
      decodeText(feed, file, encoding),
      file,
      createPathCollector(toPathOptions(map, columns)),
    )
  if (map.format === 'table') return readTableRows(source, { format, map, columns })
  const path = map.items === undefined ? undefined : String(map.items).split('.')
  const { offers: offersPath, decimal } = map
  return toJsonSourceRows(readJsonItems(source, path), { offersPath, decimal })
}

function toPathOptions({ items = [], offers }: FeedMap, { fields }: ColumnMap): PathOptions {
  const { title, brand, merchant } = fields
  return {
    items: [items].flat(),
    offers,
    keys: Object.values(fields).flatMap((source) => source.columns),
    markupKeys: new Set([title, brand, merchant].flatMap((source) => source.columns)),
  }
}

/** A file that begins with `[` is an array. Others are lines, or have the array at `path`. */
function readJsonItems(
  { feed, file, encoding, head }: Source,
  path: readonly string[] | undefined,
): AsyncIterable<FeedLine[]> {
  const chunks = toUtf8(feed, file, encoding)
  if (/^\s*\[/.test(head)) return readJsonArray(chunks, file, [])
  return path === undefined ? readLines(chunks, file) : readJsonArray(chunks, file, path)
}

function readTableRows(source: Source, { format, map, columns }: Layout): AsyncIterable<SourceRow[]> {
  const { feed, file, encoding, head } = source
  const checkHeader = (header: ReadonlySet<string>): void => {
    const missing = findMissingColumns(columns, header)
    if (missing.length > 0)
      throw new ImportError(
        `${file} has no column ${missing.map((name) => `"${name}"`).join(' or ')} that the map names`,
      )
  }
  if (map.columns !== undefined) checkHeader(new Set(map.columns.map(toColumnName)))
  return readTable(toUtf8(feed, file, encoding), {
    file,
    delimiter: map.delimiter ?? findDelimiter(head, map, columns),
    hasBareCarriageReturns: !head.includes('\n'),
    columnNames: map.columns,
    isFramed: format === 'rakuten',
    // Google and Awin have many variants, whose rows are rejected with reasons.
    checkHeader: /^(?:google|awin)-/.test(format) ? undefined : checkHeader,
  })
}

function findDelimiter(head: string, map: FeedMap, { fields }: ColumnMap): Delimiter {
  const columns = map.columns ?? Object.values(fields).flatMap((source) => source.columns)
  return parseTableHead(head, new Set(columns)).delimiter
}
