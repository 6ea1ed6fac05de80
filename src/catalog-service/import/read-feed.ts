import { isAscii } from 'node:buffer'
import { hash } from 'node:crypto'
import { ImportError } from '../../errors.ts'
import { VERSION } from '../../lib/files.ts'
import type { Feed } from '../store/feeds.ts'
import {
  type ColumnMap,
  type ValueSettings,
  findMissingColumns,
  toColumnMap,
  type FeedMap,
  type FeedMapChanges,
  checkPaths,
  parseFeedMap,
} from './column-map.ts'
import { chooseEncoding, decodeHead, decodeText, toUtf8 } from './encoding.ts'
import { type FeedRow, type NameOverrides, type SourceRow, toColumnName } from './feed-row.ts'
import {
  type FeedFormat,
  HEAD_BYTES,
  detectFormat,
  parseTableHead,
  rejectArchive,
  rejectNonFeed,
  readJsonHead,
  addRakutenHeader,
  parseFeedFormat,
} from './formats.ts'
import { readJsonArray, type FeedLine, readLines } from './json-items.ts'
import { toJsonSourceRows, readJsonRows } from './json-rows.ts'
import { type RowContext, toFeedRow } from './map-row.ts'
import { type FeedHead, readHead } from './open-feed.ts'
import { type FoundPreset, findPreset, listPresetFormats } from './presets.ts'
import { readTable } from './table.ts'
import { createGoogleCollector, readXmlItems, type PathOptions, createPathCollector } from './xml-items.ts'

/**
 * A whole `map` replaces `format`; changes apply to the map of the format. Without both, the first bytes decide the format. `charset`: of the HTTP response, used when the file declares no
 * encoding. `encoding`, `currency` and `decimal` are set for the feed.
 */
export type ReadFeedOptions = Readonly<{
  file: string
  chunks: AsyncIterable<Buffer>
  format: FeedFormat | undefined
  names: NameOverrides
  map?: FeedMap | FeedMapChanges | undefined
  charset?: string | undefined
  encoding?: string | undefined
}> &
  ValueSettings

export type FeedRows = Readonly<{
  /** `map`: a column map. */
  format: FeedFormat | 'map'
  /** Which of several layouts of the format it is. */
  layout: string | undefined
  /** Canonical name in lower case, such as `utf-8` or `windows-1252`. */
  encoding: string
  /** Whether the encoding was guessed by the letters, because the file is not UTF-8 and declares nothing. */
  isEncodingGuessed: boolean
  /** Columns or paths in which the format or map expects a tracking link. */
  trackingColumns: readonly string[]
  /** The rows of each chunk of the file, which may be none. One promise per row would double the cost of reading. */
  batches: AsyncIterable<readonly FeedRow[]>
}>

/** Read to find the first letter beyond ASCII. */
const MAX_ENCODING_HEAD_BYTES: number = 1024 * 1024

/** The file, and its first characters. */
type Source = Readonly<{ feed: FeedHead; file: string; encoding: string; head: string }>

/**
 * Detect the format and read the rows.
 * @throws ImportError when it is unknown or, while reading, when the file is unusable or not complete.
 */
export async function readFeed(options: ReadFeedOptions): Promise<FeedRows> {
  const { file, names, charset, currency, decimal } = options
  const values = { currency, decimal }
  // An ASCII beginning does not tell the encoding.
  const feed = await readHead(
    options.chunks,
    HEAD_BYTES,
    (chunk, sizeBytes) => sizeBytes < MAX_ENCODING_HEAD_BYTES && isAscii(chunk),
  )
  rejectArchive(feed.head, file)
  const { encoding, isGuessed } = chooseEncoding(feed.head, {
    encoding: options.encoding ?? options.map?.encoding,
    charset,
  })
  const source = { feed, file, encoding, head: decodeHead(feed.head.subarray(0, HEAD_BYTES), encoding) }
  rejectNonFeed(source.head, file)
  const { format, layout, map } = chooseMap(options, source)
  const found = { format, layout, encoding, isEncodingGuessed: isGuessed }
  // Another version of Vitrine may parse the same bytes differently.
  const salt = hash(
    'sha256',
    JSON.stringify([VERSION, format, map, names, encoding, values]),
    'base64url',
  ).slice(0, 6)
  if (map === undefined)
    return {
      ...found,
      trackingColumns: ['affiliate_url'],
      batches: readJsonRows(readJsonItems(source, findItemsPath(format, source)), names, salt),
    }
  const columns = toColumnMap(map, format, values)
  const rows = readSourceRows(source, { format, map, columns })
  return {
    ...found,
    trackingColumns: columns.fields.trackingLink.columns,
    batches: toFeedRows(rows, { columns, names, salt }),
  }
}

/** `map` is `undefined` for products of the contract. */
type ChosenMap = Readonly<{
  format: FeedRows['format']
  layout: string | undefined
  map: FeedMap | undefined
}>

function chooseMap({ map: given, format: givenFormat }: ReadFeedOptions, source: Source): ChosenMap {
  if (given?.format !== undefined) return { format: 'map', layout: undefined, map: given }
  const format = givenFormat ?? detectFormat(source.head, source.file, listColumns(given))
  const preset = findMap(format, source)
  if (given === undefined) return { format, layout: preset?.layout, map: preset?.map }
  if (preset === undefined)
    throw new ImportError(`${source.file} is in the format ${format}, which needs no column map`)
  checkPaths(preset.map.format, given)
  return { format, layout: preset.layout, map: applyChanges(preset.map, given) }
}

function listColumns(changes: FeedMapChanges | undefined): ReadonlySet<string> {
  const columns = Object.values(changes?.fields ?? {}).flat()
  return new Set(columns.flatMap((column) => (typeof column === 'string' ? [toColumnName(column)] : [])))
}

function applyChanges(map: FeedMap, { fields, ...others }: FeedMapChanges): FeedMap {
  return { ...map, ...others, format: map.format, fields: { ...map.fields, ...fields } }
}

/** Return the map of a format; `undefined` for products of the contract. @throws ImportError */
function findMap(format: FeedRows['format'], { head, file }: Source): FoundPreset | undefined {
  if (format === 'ndjson' || format === 'json' || format === 'map') return undefined
  const content = /^\s*</.test(head) ? 'xml' : /^\s*[[{]/.test(head) ? 'json' : 'table'
  const formats = listPresetFormats(format)
  const preset = findPreset(format, formats.length === 1 ? (formats[0] ?? content) : content, head)
  if (preset !== undefined)
    return format === 'rakuten' ? { ...preset, map: addRakutenHeader(preset.map, head, file) } : preset
  throw new ImportError(`${file} is not a feed of the format ${format}: expected ${formats.join(' or ')}`)
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
  if (map.format === 'xml') {
    const options = toPathOptions(map, columns)
    const collector = format === 'google-xml' ? createGoogleCollector(options) : createPathCollector(options)
    return readXmlItems(decodeText(feed, encoding), file, collector)
  }
  if (map.format === 'table') return readTableRows(source, { format, map, columns })
  const path = format === 'map' || map.items !== undefined ? toItemsPath(map) : findItemsPath(format, source)
  return toJsonSourceRows(readJsonItems(source, path), {
    offersPath: map.offers,
    decimal: columns.decimal,
  })
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

function toItemsPath({ items }: FeedMap): readonly string[] | undefined {
  return items === undefined ? undefined : String(items).split('.')
}

/** Find the array of a format without a fixed one; `undefined`: there is one item per line. */
function findItemsPath(format: FeedRows['format'], { head }: Source): readonly string[] | undefined {
  if (format === 'ndjson') return undefined
  return readJsonHead(head).path ?? (format === 'json' ? ['items'] : undefined)
}

/** A file that begins with `[` is an array. Others have the array at `path`, or one item per line. */
function readJsonItems(
  { feed, file, encoding, head }: Source,
  path: readonly string[] | undefined,
): AsyncIterable<FeedLine[]> {
  const chunks = toUtf8(feed, encoding)
  if (/^\s*\[/.test(head)) return readJsonArray(chunks, file, [])
  if (path === undefined && /^\s*\{[ \t]*[\r\n]/.test(head))
    throw new ImportError(`${file} has objects of several lines: expected one object per line, or an array`)
  return path === undefined ? readLines(chunks, file) : readJsonArray(chunks, file, path)
}

function readTableRows(source: Source, { format, map, columns }: Layout): AsyncIterable<SourceRow[]> {
  const { feed, file, encoding, head } = source
  const checkHeader = (header: ReadonlySet<string>): void => {
    const missing = findMissingColumns(columns, header)
    if (missing.length > 0) throw new ImportError(describeMissingColumns(file, { format, missing, header }))
  }
  if (map.columns !== undefined) checkHeader(new Set(map.columns.map(toColumnName)))
  const { delimiter, skippedLines } = findHeader(head, map, columns)
  return readTable(toUtf8(feed, encoding), {
    file,
    delimiter,
    skippedLines: map.columns === undefined && format !== 'rakuten' ? skippedLines : 0,
    hasBareCarriageReturns: !head.includes('\n'),
    columnNames: map.columns,
    isFramed: format === 'rakuten',
    checkHeader,
  })
}

const MAX_LISTED_COLUMNS = 40

type MissingColumns = Readonly<{
  format: FeedRows['format']
  missing: readonly string[]
  header: ReadonlySet<string>
}>

function describeMissingColumns(file: string, { format, missing, header }: MissingColumns): string {
  const names = missing.map((name) => `"${name}"`).join(' or ')
  const found = [...header].slice(0, MAX_LISTED_COLUMNS).join(', ')
  return format === 'map'
    ? `${file} has no column ${names} that the map names; its columns are ${found}`
    : `${file} has no column ${names}, which the format ${format} or its map needs; its columns are ${found}. If another column has it, name that column in a file for --map`
}

function findHeader(head: string, map: FeedMap, { fields }: ColumnMap) {
  const columns = map.columns ?? Object.values(fields).flatMap((source) => source.columns)
  const found = parseTableHead(head, new Set(columns))
  return { ...found, delimiter: map.delimiter ?? found.delimiter }
}

/**
 * How to read a file. `network` and `merchant` replace those of every offer. `map` is a column map as JSON; without it and
 * `format`, the format is detected.
 */
export type ReadSettings = Readonly<{
  format?: FeedFormat | undefined
  map?: string | undefined
  network?: string | undefined
  merchant?: string | undefined
  /** Of prices that name none, as three letters. */
  currency?: string | undefined
  /** Decimal sign of prices. */
  decimal?: '.' | ',' | undefined
  encoding?: string | undefined
}>

type Nullable<Settings> = { readonly [Name in keyof Settings]-?: Exclude<Settings[Name], undefined> | null }

/** Return the settings of a feed. */
export function toReadSettings(feed: Feed): ReadSettings {
  const { format, map, network, merchant, currency, decimal, encoding } = feed
  return {
    map: map ?? undefined,
    format: format === null ? undefined : parseFeedFormat(format),
    network: network ?? undefined,
    merchant: merchant ?? undefined,
    currency: currency ?? undefined,
    decimal: decimal ?? undefined,
    encoding: encoding ?? undefined,
  }
}

/** Return the settings as a feed stores them. */
export function toStoredSettings(settings: ReadSettings): Nullable<ReadSettings> {
  const { format = null, map = null, network = null, merchant = null } = settings
  const { currency = null, decimal = null, encoding = null } = settings
  return { format, map, network, merchant, currency, decimal, encoding }
}

/** @throws UsageError for an invalid map */
export function toReaderOptions({ format, map, network, merchant, ...reading }: ReadSettings) {
  return {
    format,
    map: map === undefined ? undefined : parseFeedMap(JSON.parse(map)),
    names: { network, merchant },
    ...reading,
  }
}
