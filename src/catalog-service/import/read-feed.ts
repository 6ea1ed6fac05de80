import { hash } from 'node:crypto'
import { VERSION } from '../../lib/paths.ts'
import type { FeedRow, NameOverrides, SourceRow } from './feed-row.ts'
import {
  type FeedFormat,
  HEAD_BYTES,
  detectFormat,
  parseTableHead,
  rejectArchive,
  toHeadText,
} from './formats.ts'
import { readJsonRows } from './json-rows.ts'
import { type RowContext, toFeedRow } from './map-row.ts'
import { type FeedHead, decodeXml, readHead, toUtf8 } from './open-feed.ts'
import { readTable } from './table.ts'
import { readXmlItems } from './xml-items.ts'

/** `format`: detected by the first bytes when `undefined`. */
export type ReadFeedOptions = Readonly<{
  file: string
  chunks: AsyncIterable<Buffer>
  format: FeedFormat | undefined
  names: NameOverrides
  nowMs: number
}>

export type FeedRows = Readonly<{
  format: FeedFormat
  /** The rows of each chunk of the file, which may be none. One promise per row would double the cost of reading. */
  batches: AsyncIterable<readonly FeedRow[]>
}>

/** Detect the format and read the rows. @throws ImportError when it is unknown or, while reading, when the file is unusable. */
export async function readFeed(options: ReadFeedOptions): Promise<FeedRows> {
  const { file, names, nowMs } = options
  const feed = await readHead(options.chunks, HEAD_BYTES)
  rejectArchive(feed.head, file)
  const format = options.format ?? detectFormat(feed.head, file)
  // Another version of Vitrine may parse the same bytes differently.
  const salt = hash('sha256', JSON.stringify([VERSION, format, names]), 'base64url').slice(0, 6)
  if (format === 'ndjson') return { format, batches: readJsonRows(toUtf8(feed, file), names, salt) }
  const rows = readSourceRows(feed, format, file)
  const context = { isAwin: format === 'awin-csv', names, nowMs, salt }
  return { format, batches: toFeedRows(rows, context) }
}

async function* toFeedRows(
  rowBatches: AsyncIterable<SourceRow[]>,
  context: RowContext,
): AsyncGenerator<FeedRow[]> {
  for await (const rows of rowBatches) yield rows.map((row) => toFeedRow(row, context))
}

function readSourceRows(feed: FeedHead, format: FeedFormat, file: string): AsyncIterable<SourceRow[]> {
  if (format === 'google-xml') return readXmlItems(decodeXml(feed, file), file)
  const head = toHeadText(feed.head)
  const delimiter = format === 'google-tsv' ? '\t' : parseTableHead(head).delimiter
  const hasBareCarriageReturns = !head.includes('\n')
  return readTable(toUtf8(feed, file), { file, delimiter, hasBareCarriageReturns })
}
