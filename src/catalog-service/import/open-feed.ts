import { open, stat } from 'node:fs/promises'
import { Readable, pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { ImportError } from '../../errors.ts'

/** First bytes of a gzip member (RFC 1952, section 2.3.1) and of a zip archive. */
const GZIP_MAGIC: Buffer = Buffer.from([0x1f, 0x8b])
const ZIP_MAGICS: readonly Buffer[] = [Buffer.from('PK\u0003\u0004'), Buffer.from('PK\u0005\u0006')]

const MAGIC_BYTES = 4

function isGzip(head: Buffer): boolean {
  return head.subarray(0, GZIP_MAGIC.length).equals(GZIP_MAGIC)
}

function isZip(head: Buffer): boolean {
  return ZIP_MAGICS.some((magic) => head.subarray(0, MAGIC_BYTES).equals(magic))
}

/** Whether a file that begins with these bytes is gzip or zip. */
export function isCompressedFile(head: Buffer): boolean {
  return isGzip(head) || isZip(head)
}

/** Limit on a decompressed feed. */
const MAX_FEED_BYTES: number = 64 * 1024 ** 3

/** A file that grows more than this, beyond `MIN_SUSPICIOUS_BYTES`, is made to fill disks or memory: feeds grow 5 to 50 times. */
const MAX_GROWTH = 500
const MIN_SUSPICIOUS_BYTES: number = 256 * 1024 ** 2

export type OpenFeed = Readonly<{
  /** The decompressed bytes. @throws ImportError while reading, when the file is truncated, unreadable or too large. */
  chunks: AsyncIterable<Buffer>
  totalBytes: number
  getReadBytes(): number
  close(): Promise<void>
}>

/**
 * Open a file, decompressed. Its first bytes tell whether it is gzip or zip, because file names are unreliable. `file`: for
 * messages.
 * @throws ImportError when it is not a file, is empty, or is a zip archive without exactly one file.
 */
export async function openFeed(path: string, file: string = path): Promise<OpenFeed> {
  const toOpenError = (cause: unknown): never => {
    throw new ImportError(`${file} cannot be opened (${describeReadError(cause)})`, { cause })
  }
  // Opening a pipe would wait for its writer.
  const { isFile } = await stat(path).then((stats) => ({ isFile: stats.isFile() }), toOpenError)
  if (!isFile) throw new ImportError(`${file} is not a file`)
  const handle = await open(path, 'r').catch(toOpenError)
  try {
    const { size } = await handle.stat()
    if (size === 0) throw new ImportError(`${file} is empty`)
    const { buffer } = await handle.read(Buffer.alloc(MAGIC_BYTES), 0, MAGIC_BYTES, 0)
    const limit = { file, maxBytes: computeMaxBytes(size) }
    if (isZip(buffer)) {
      await handle.close()
      return openZipFeed(path, limit, size)
    }
    const source = handle.createReadStream({ start: 0 })
    const chunks = isGzip(buffer) ? gunzip(source, file) : readChunks(source, file)
    return {
      chunks: limitBytes(chunks, limit),
      totalBytes: size,
      getReadBytes: () => source.bytesRead,
      close: () => closeStream(source),
    }
  } catch (error) {
    await handle.close()
    throw error
  }
}

async function openZipFeed(path: string, limit: ByteLimit, totalBytes: number): Promise<OpenFeed> {
  const { openZip } = await import('./zip.ts')
  const { chunks, close } = await openZip(path, limit.file)
  let readBytes = 0
  const counted = async function* (): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      readBytes += chunk.length
      yield chunk
    }
  }
  return { chunks: limitBytes(counted(), limit), totalBytes, getReadBytes: () => readBytes, close }
}

/**
 * A server may compress a file for the transfer that was compressed already, so gzip may be in gzip.
 * @yields decompressed chunks
 */
async function* gunzip(source: Readable, file: string): AsyncGenerator<Buffer> {
  // `pipeline` passes a read error of the file on to the decompressed stream.
  const { head, chunks } = await readHead(
    readChunks(
      pipeline(source, createGunzip(), () => {}),
      file,
    ),
    GZIP_MAGIC.length,
  )
  if (isGzip(head))
    yield* readChunks(
      pipeline(Readable.from(chunks), createGunzip(), () => {}),
      file,
    )
  else yield* chunks
}

type ByteLimit = Readonly<{ file: string; maxBytes: number }>

function computeMaxBytes(fileBytes: number): number {
  return Math.min(MAX_FEED_BYTES, Math.max(MIN_SUSPICIOUS_BYTES, MAX_GROWTH * fileBytes))
}

async function* limitBytes(
  chunks: AsyncIterable<Buffer>,
  { file, maxBytes }: ByteLimit,
): AsyncGenerator<Buffer> {
  let bytes = 0
  for await (const chunk of chunks) {
    bytes += chunk.length
    if (bytes > maxBytes)
      throw new ImportError(`${file} has more than ${maxBytes} bytes when it is unpacked, which is too much`)
    yield chunk
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
    if (error instanceof ImportError) throw error
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
