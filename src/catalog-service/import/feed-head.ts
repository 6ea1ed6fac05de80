/** A stream whose beginning has been looked at. */
export type FeedHead = Readonly<{
  /** The first bytes; fewer than asked for when the stream ends before. */
  head: Buffer
  /** All of the stream, the head as well. */
  chunks: AsyncIterable<Buffer>
}>

/** Reads at least so many bytes ahead, or to the end. */
export async function readHead(chunks: AsyncIterable<Buffer>, minBytes: number): Promise<FeedHead> {
  const iterator = chunks[Symbol.asyncIterator]()
  const pieces: Buffer[] = []
  let sizeBytes = 0
  while (sizeBytes < minBytes) {
    const next = await iterator.next()
    if (next.done === true) break
    pieces.push(next.value)
    sizeBytes += next.value.length
  }
  return { head: Buffer.concat(pieces), chunks: chain(pieces, iterator) }
}

async function* chain(pieces: readonly Buffer[], rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* pieces
    for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value
  } finally {
    await rest.return?.()
  }
}
