/** Longest line that is read, in bytes: a feed without line ends must not fill the memory. */
export const MAX_LINE_BYTES: number = 8 * 1024 * 1024

/** Bytes of a line that is too long which are kept, to show where it begins. */
const HEAD_BYTES = 2_000

const LINE_FEED = 0x0a

/** A line of a feed without its end. `row` counts from 1. Of a line that is too long only the head is there. */
export type FeedLine = Readonly<{ row: number; bytes: Buffer; isTooLong: boolean }>

/**
 * Splits a stream of bytes into lines; memory is bounded by `maxLineBytes` and one chunk.
 * @yields the lines that end in each chunk, blank ones too
 */
export async function* readLines(
  chunks: AsyncIterable<Buffer>,
  maxLineBytes: number = MAX_LINE_BYTES,
): AsyncGenerator<FeedLine[]> {
  const collector = createCollector(maxLineBytes)
  for await (const chunk of chunks) {
    const lines: FeedLine[] = []
    let start = 0
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      collector.add(chunk.subarray(start, end))
      lines.push(collector.take())
      start = end + 1
    }
    collector.add(chunk.subarray(start))
    yield lines
  }
  if (!collector.isEmpty()) yield [collector.take()]
}

type Collector = Readonly<{ add(piece: Buffer): void; take(): FeedLine; isEmpty(): boolean }>

function createCollector(maxLineBytes: number): Collector {
  let pieces: Buffer[] = []
  let sizeBytes = 0
  let row = 0
  return {
    add(piece) {
      if (piece.length === 0) return
      // Once over the limit nothing more is kept; the count goes on, so that the line is known to be too long.
      if (sizeBytes <= maxLineBytes) pieces.push(piece)
      sizeBytes += piece.length
    },
    take() {
      const isTooLong = sizeBytes > maxLineBytes
      const bytes = pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces)
      pieces = []
      sizeBytes = 0
      row += 1
      return { row, bytes: isTooLong ? bytes.subarray(0, HEAD_BYTES) : bytes, isTooLong }
    },
    isEmpty: () => sizeBytes === 0,
  }
}
