import { open, stat } from 'node:fs/promises'
import { Readable, Writable, pipeline } from 'node:stream'
import { pipeline as finishPipeline } from 'node:stream/promises'
import { createGunzip, crc32 } from 'node:zlib'
import type { Entry } from 'yauzl'
import { ImportError } from '../../errors.ts'
import { limitBytes } from '../../outgoing/fetch.ts'

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
    const end = isGzip(buffer) ? await findGzipEnd(path, size, limit) : size
    const source = handle.createReadStream({ start: 0, end: end - 1 })
    return {
      chunks: unpack(readChunks(source, file), limit),
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
  const { chunks, close } = await openZip(path, limit.file)
  let readBytes = 0
  const counted = async function* (): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      readBytes += chunk.length
      yield chunk
    }
  }
  const chunksInside = unpack(counted(), limit)
  return { chunks: chunksInside, totalBytes, getReadBytes: () => readBytes, close }
}

/** Deeper ones are no mistake of a server. */
const MAX_NESTED_GZIPS = 3

/**
 * Decompress gzip. A server may compress a file for the transfer that was compressed already, and a zip may have a gzip in it.
 * @yields decompressed chunks
 */
async function* unpack(packed: AsyncIterable<Buffer>, limit: ByteLimit, depth = 0): AsyncGenerator<Buffer> {
  const { head, chunks } = await readHead(limitUnpacked(packed, limit), GZIP_MAGIC.length)
  if (!isGzip(head) || depth === MAX_NESTED_GZIPS) {
    yield* chunks
    return
  }
  // `pipeline` passes a read error of the file on to the decompressed stream.
  const unpacked = pipeline(Readable.from(chunks), createGunzip(), () => {})
  yield* unpack(readChunks(unpacked, limit.file), limit, depth + 1)
}

/** More is no padding. */
const MAX_PADDING_BYTES = 16

/** Return the size of a gzip file without the line ends that a script or server has added to it, which zlib does not accept. */
async function findGzipEnd(path: string, size: number, limit: ByteLimit): Promise<number> {
  const handle = await open(path, 'r')
  try {
    const start = Math.max(0, size - MAX_PADDING_BYTES)
    const { buffer } = await handle.read(Buffer.alloc(size - start), 0, size - start, start)
    // The last bytes of a complete file may be line ends by chance: they are a part of its size.
    for (let end = start + buffer.toString('latin1').trimEnd().length; end < size; end += 1) {
      const source = handle.createReadStream({ start: 0, end: end - 1, autoClose: false })
      if (await isCompleteGzip(source, limit)) return end
    }
    return size
  } finally {
    await handle.close()
  }
}

async function isCompleteGzip(source: Readable, limit: ByteLimit): Promise<boolean> {
  const sink = new Writable({ write: (_chunk, _encoding, done) => done() })
  try {
    await finishPipeline(source, createGunzip(), (chunks) => limitUnpacked(chunks, limit), sink)
    return true
  } catch {
    return false
  }
}

/** Bytes at the end of a file that show whether it ends with a row. */
export const END_BYTES = 100

/** Whether a file ends with a line end, and possibly spaces. In UTF-16, each character has a byte that is 0. */
export function endsWithLine(end: Buffer): boolean {
  return /[\r\n][\s\0]*$/.test(end.toString('latin1'))
}

/** Whether a file ends with a row: XML and JSON have their own end. */
export function endsWithRow(end: Buffer): boolean {
  return endsWithLine(end) || /[>\]}][\s\0]*$/.test(end.toString('latin1'))
}

type ByteLimit = Readonly<{ file: string; maxBytes: number }>

function computeMaxBytes(fileBytes: number): number {
  return Math.min(MAX_FEED_BYTES, Math.max(MIN_SUSPICIOUS_BYTES, MAX_GROWTH * fileBytes))
}

function limitUnpacked(chunks: AsyncIterable<Buffer>, { file, maxBytes }: ByteLimit): AsyncIterable<Buffer> {
  return limitBytes(
    chunks,
    maxBytes,
    () => new ImportError(`${file} has more than ${maxBytes} bytes when it is unpacked, which is too much`),
  )
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

/** Read at least `minBytes`, and further while `needsMore` is true for each chunk. */
export async function readHead(
  chunks: AsyncIterable<Buffer>,
  minBytes: number,
  needsMore: (chunk: Buffer, sizeBytes: number) => boolean = () => false,
): Promise<FeedHead> {
  const iterator = chunks[Symbol.asyncIterator]()
  const pieces: Buffer[] = []
  let [sizeBytes, isUndecided] = [0, true]
  while (sizeBytes < minBytes || isUndecided) {
    const next = await iterator.next()
    if (next.done === true) break
    pieces.push(next.value)
    sizeBytes += next.value.length
    isUndecided &&= needsMore(next.value, sizeBytes)
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

/** A zip file may list this many entries; one with more is not a feed. */
const MAX_ENTRIES = 100

/** Files that systems add to an archive. */
const SYSTEM_FILE = /^(?:__MACOSX\/|.*\/$|(?:.*\/)?\.DS_Store$)/

type ZippedFeed = Readonly<{
  /** The decompressed bytes. @throws ImportError at the end when they are damaged. */
  chunks: AsyncIterable<Buffer>
  close(): Promise<void>
}>

/** Open the only file in a zip archive. @throws ImportError when there are several, or none, or it is encrypted. */
async function openZip(path: string, label: string): Promise<ZippedFeed> {
  const { openPromise } = await import('yauzl')
  const zip = await openPromise(path, { autoClose: false }).catch((cause: unknown) => {
    throw new ImportError(`${label} is a damaged or truncated zip file`, { cause })
  })
  try {
    const entries: Entry[] = []
    for await (const entry of zip.eachEntry()) {
      if (entries.length === MAX_ENTRIES) break
      if (!SYSTEM_FILE.test(entry.fileName)) entries.push(entry)
    }
    const [entry] = entries
    if (entry === undefined) throw new ImportError(`${label} is a zip file without a file in it`)
    if (entries.length > 1)
      throw new ImportError(`${label} is a zip file with ${entries.length} files; it may have only one`)
    if (entry.isEncrypted()) throw new ImportError(`${label} is an encrypted zip file`)
    if (!entry.canDecodeFileData())
      throw new ImportError(`${label} is a zip file with a compression that is not supported`)
    const stream = await zip.openReadStreamPromise(entry)
    return {
      chunks: readChecked(stream, entry, label),
      close() {
        stream.on('error', () => {}).destroy()
        zip.close()
        return Promise.resolve()
      },
    }
  } catch (error) {
    zip.close()
    throw error instanceof ImportError
      ? error
      : new ImportError(`${label} is a damaged or truncated zip file`, { cause: error })
  }
}

async function* readChecked(stream: Readable, entry: Entry, label: string): AsyncGenerator<Buffer> {
  let checksum = 0
  try {
    for await (const chunk of stream) {
      checksum = crc32(chunk as Buffer, checksum)
      yield chunk as Buffer
    }
  } catch (error) {
    throw new ImportError(`${label} is a damaged zip file`, { cause: error })
  }
  if (checksum !== entry.crc32) throw new ImportError(`${label} is a damaged zip file`)
}
