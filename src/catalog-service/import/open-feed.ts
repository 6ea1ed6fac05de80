import { open } from 'node:fs/promises'
import { type Readable, pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { ImportError } from '../../errors.ts'

/** First bytes of a gzip member (RFC 1952, section 2.3.1). */
const GZIP_MAGIC: Buffer = Buffer.from([0x1f, 0x8b])

export type OpenFeed = Readonly<{
  /** The decompressed bytes. @throws ImportError while reading, when the file is truncated or unreadable. */
  chunks: AsyncIterable<Buffer>
  totalBytes: number
  getReadBytes(): number
  close(): Promise<void>
}>

/** Detect gzip by the first bytes, because file names are unreliable. @throws ImportError when it is not a file or empty. */
export async function openFeed(file: string): Promise<OpenFeed> {
  const handle = await open(file, 'r').catch((cause: unknown) => {
    throw new ImportError(`${file} cannot be opened (${describeReadError(cause)})`, { cause })
  })
  try {
    const stat = await handle.stat()
    if (!stat.isFile()) throw new ImportError(`${file} is not a file`)
    if (stat.size === 0) throw new ImportError(`${file} is empty`)
    const { buffer } = await handle.read(Buffer.alloc(GZIP_MAGIC.length), 0, GZIP_MAGIC.length, 0)
    const source = handle.createReadStream({ start: 0 })
    // `pipeline` passes a read error of the file on to the decompressed stream.
    const decompressed = buffer.equals(GZIP_MAGIC) ? pipeline(source, createGunzip(), () => {}) : source
    return {
      chunks: readChunks(decompressed, file),
      totalBytes: stat.size,
      getReadBytes: () => source.bytesRead,
      close: () => closeStream(source),
    }
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** Ignore the `AbortError` of a stream that was not read to its end. */
async function closeStream(stream: Readable): Promise<void> {
  if (stream.closed) return
  const closed = new Promise((resolve) => stream.on('error', () => {}).once('close', resolve))
  stream.destroy()
  await closed
}

async function* readChunks(stream: Readable, file: string): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of stream) yield chunk as Buffer
  } catch (error) {
    throw new ImportError(`${file} cannot be read to its end (${describeReadError(error)})`, { cause: error })
  }
}

const REASONS_BY_CODE: ReadonlyMap<string, string> = new Map([
  ['Z_BUF_ERROR', 'it is truncated'],
  ['Z_DATA_ERROR', 'the compressed data is damaged'],
  ['ENOENT', 'there is no such file'],
  ['ENOTDIR', 'there is no such file'],
  ['EACCES', 'permission denied'],
  ['EPERM', 'permission denied'],
  ['EISDIR', 'it is a folder'],
  ['EIO', 'disk read error'],
])

function describeReadError(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason'
  return REASONS_BY_CODE.get(code) ?? code
}

/** A stream and its first bytes, which `chunks` includes. */
export type FeedHead = Readonly<{ head: Buffer; chunks: AsyncIterable<Buffer> }>

export async function readHead(chunks: AsyncIterable<Buffer>, minBytes: number): Promise<FeedHead> {
  const iterator = chunks[Symbol.asyncIterator]()
  const pieces: Buffer[] = []
  for (let sizeBytes = 0; sizeBytes < minBytes;) {
    const next = await iterator.next()
    if (next.done === true) break
    pieces.push(next.value)
    sizeBytes += next.value.length
  }
  return {
    head: Buffer.concat(pieces),
    chunks: concatChunks(pieces, { [Symbol.asyncIterator]: () => iterator }),
  }
}

async function* concatChunks(pieces: readonly Buffer[], rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield* pieces
  yield* rest
}
