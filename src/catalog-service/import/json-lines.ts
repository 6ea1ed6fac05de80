import { ImportError } from '../../errors.ts'
import { MAX_ROW_BYTES } from './feed-row.ts'

/** Bytes of an overlong line that are kept for the reject. */
const HEAD_BYTES = 2_000

const LINE_FEED = 0x0a

/** A line without its line end, or an item of a JSON array. `row` counts from 1. An overlong one has only its first bytes. */
export type FeedLine = Readonly<{ row: number; bytes: Buffer; isTooLong: boolean }>

/** Joins the pieces of a line or item from several chunks. */
export function createLineCollector() {
  let pieces: Buffer[] = []
  let sizeBytes = 0
  let row = 0
  return {
    add(piece: Buffer): void {
      if (sizeBytes <= MAX_ROW_BYTES) pieces.push(piece)
      sizeBytes += piece.length
    },
    isEmpty: (): boolean => sizeBytes === 0,
    take(): FeedLine {
      const isTooLong = sizeBytes > MAX_ROW_BYTES
      const bytes = pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces)
      pieces = []
      sizeBytes = 0
      row += 1
      return { row, bytes: isTooLong ? bytes.subarray(0, HEAD_BYTES) : bytes, isTooLong }
    },
  }
}

/**
 * @yields the lines that end in each chunk, including blank ones
 * @throws ImportError when the last line has no line end and is the beginning of a JSON object
 */
export async function* readLines(chunks: AsyncIterable<Buffer>, file: string): AsyncGenerator<FeedLine[]> {
  const collector = createLineCollector()
  for await (const chunk of chunks) {
    const lines: FeedLine[] = []
    let start = 0
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      collector.add(chunk.subarray(start, end))
      lines.push(collector.take())
      start = end + 1
    }
    if (start < chunk.length) collector.add(chunk.subarray(start))
    yield lines
  }
  if (collector.isEmpty()) return
  const last = collector.take()
  if (isCut(last)) throw new ImportError(`${file} ends in the middle of line ${last.row}: it is not complete`)
  yield [last]
}

function isCut({ bytes, isTooLong }: FeedLine): boolean {
  const text = bytes.toString().trimStart()
  return !isTooLong && text.startsWith('{') && parseJson(text) === undefined
}

/** Return `undefined` when the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** Fatal, so that invalid UTF-8 is rejected instead of replaced. Removes a byte order mark. */
const decoder = new TextDecoder('utf-8', { fatal: true })

/** Return `undefined` when the bytes are not UTF-8. */
export function decodeUtf8(bytes: Buffer): string | undefined {
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}
