import { mapAwinRow } from './awin.ts'
import { readTableHead } from './columns.ts'
import { decodeXml, toUtf8 } from './decode.ts'
import { type FeedHead, readHead } from './feed-head.ts'
import type { ParsedRow, RowNames } from './feed-product.ts'
import { type FeedFormat, HEAD_BYTES, detectFormat, refusePacked, toHeadText } from './formats.ts'
import { mapGoogleRow } from './google.ts'
import { MAX_LINE_BYTES, readLines } from './lines.ts'
import { sayUnchanged } from './open-feed.ts'
import { parseRow } from './parse-row.ts'
import { type RowContext, type RowMapper, type SourceRow, readSourceRow } from './source-row.ts'
import { readTable } from './table.ts'
import { readXmlItems } from './xml-items.ts'

/** What a row gave, its number, and its size for batches of even weight. */
export type ReadRow = Readonly<{ row: number; parsed: ParsedRow; bytes: number }>

/** How a feed is read. `file` is for messages. */
export type ReadFeedOptions = Readonly<{
  file: string
  /** The unpacked bytes. */
  chunks: AsyncIterable<Buffer>
  /** `undefined`: told by the first bytes. */
  format: FeedFormat | undefined
  names: RowNames
  nowMs: number
  /** Longest line, record or item. Default 8 MiB. */
  maxRowBytes?: number | undefined
}>

/** A feed in its format, row by row. */
export type FeedRows = Readonly<{
  format: FeedFormat
  /** The rows of each piece of the file, which may be none: a promise a row would cost as much as reading it. */
  batches: AsyncIterable<readonly ReadRow[]>
  /** Was a shop named after the host of a link so far, as the feed names none? */
  hasLinkMerchants(): boolean
}>

const MAPPERS: Readonly<Record<Exclude<FeedFormat, 'ndjson'>, RowMapper>> = {
  'google-xml': mapGoogleRow,
  'google-tsv': mapGoogleRow,
  'google-csv': mapGoogleRow,
  'awin-csv': mapAwinRow,
}

/**
 * Looks at the first bytes of a feed and reads it by its format.
 * @throws ImportError when the format is not known; and while reading, when the file as a whole cannot be used.
 */
export async function readFeed(options: ReadFeedOptions): Promise<FeedRows> {
  try {
    const feed = await openFormat(options)
    return { ...feed, batches: sayUnchangedWhenBroken(feed.batches) }
  } catch (error) {
    throw sayUnchanged(error)
  }
}

async function* sayUnchangedWhenBroken<T>(batches: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* batches
  } catch (error) {
    throw sayUnchanged(error)
  }
}

async function openFormat(options: ReadFeedOptions): Promise<FeedRows> {
  const feed = await readHead(options.chunks, HEAD_BYTES)
  refusePacked(feed.head, options.file)
  const format = options.format ?? detectFormat(feed.head, options.file)
  let hasLinkMerchants = false
  const context: RowContext = {
    names: options.names,
    nowMs: options.nowMs,
    noteLinkMerchant: () => {
      hasLinkMerchants = true
    },
  }
  const batches =
    format === 'ndjson'
      ? readJson(toUtf8(feed, options.file), options)
      : readRows(openRows(feed, format, options), MAPPERS[format], context)
  return { format, batches, hasLinkMerchants: () => hasLinkMerchants }
}

function openRows(
  feed: FeedHead,
  format: FeedFormat,
  { file, maxRowBytes = MAX_LINE_BYTES }: ReadFeedOptions,
): AsyncIterable<SourceRow[]> {
  if (format === 'google-xml')
    return readXmlItems(decodeXml(feed, file), { file, maxItemCharacters: maxRowBytes })
  const head = toHeadText(feed.head)
  const delimiter = format === 'google-tsv' ? '\t' : readTableHead(head).delimiter
  const hasBareReturns = !head.includes('\n')
  return readTable(toUtf8(feed, file), { file, delimiter, hasBareReturns, maxRowBytes })
}

async function* readRows(
  batches: AsyncIterable<readonly SourceRow[]>,
  mapper: RowMapper,
  context: RowContext,
): AsyncGenerator<ReadRow[]> {
  for await (const rows of batches)
    yield rows.map((row) => ({
      row: row.row,
      parsed: readSourceRow(row, mapper, context),
      bytes: row.bytes,
    }))
}

async function* readJson(
  chunks: AsyncIterable<Buffer>,
  { names, maxRowBytes }: ReadFeedOptions,
): AsyncGenerator<ReadRow[]> {
  for await (const lines of readLines(chunks, maxRowBytes))
    yield lines.map((line) => ({ row: line.row, parsed: parseRow(line, names), bytes: line.bytes.length }))
}
