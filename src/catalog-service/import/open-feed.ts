import { type FileHandle, open } from 'node:fs/promises'
import { type Readable, pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { ImportError } from '../../errors.ts'

/** First bytes of a gzip member (RFC 1952, section 2.3.1). */
const GZIP_MAGIC = [0x1f, 0x8b] as const

/** A feed being read. */
export type OpenFeed = Readonly<{
  /** The unpacked bytes. @throws ImportError while reading, when the file is truncated or unreadable. */
  chunks: AsyncIterable<Buffer>
  /** Size of the file as it lies there, packed or not. */
  totalBytes: number
  /** How much of the file has been read. */
  getReadBytes(): number
  /** Closes the file, read to its end or not. Closing twice does nothing. */
  close(): Promise<void>
}>

/**
 * Opens a feed, plain or gzip: told by its first bytes, because names lie.
 * @throws ImportError when there is no such file, or it is no file, or it is empty.
 */
export async function openFeed(file: string): Promise<OpenFeed> {
  const handle = await openFile(file)
  try {
    const stat = await handle.stat()
    if (!stat.isFile()) throw new ImportError(`${file} is not a file`)
    if (stat.size === 0) throw new ImportError(`${file} is empty`)
    const isGzip = await hasGzipMagic(handle)
    const source = handle.createReadStream({ start: 0 })
    return {
      chunks: readChunks(isGzip ? unpack(source) : source, file),
      totalBytes: stat.size,
      getReadBytes: () => source.bytesRead,
      close: () => closeStream(source),
    }
  } catch (error) {
    await handle.close()
    throw sayUnchanged(error)
  }
}

/** A file that cannot be read to its end changes nothing, whatever is wrong with it. */
export function sayUnchanged(error: unknown): unknown {
  return error instanceof ImportError
    ? new ImportError(`${error.message}; nothing was changed`, { cause: error })
    : error
}

async function openFile(file: string): Promise<FileHandle> {
  try {
    return await open(file, 'r')
  } catch (error) {
    throw sayUnchanged(new ImportError(`${file} cannot be opened (${toReason(error)})`, { cause: error }))
  }
}

async function hasGzipMagic(handle: FileHandle): Promise<boolean> {
  const head = Buffer.alloc(GZIP_MAGIC.length)
  await handle.read(head, 0, head.length, 0)
  return GZIP_MAGIC.every((byte, index) => head[index] === byte)
}

function unpack(source: Readable): Readable {
  const gunzip = createGunzip()
  // The pipeline hands a failure of the source to the one who reads `gunzip`.
  pipeline(source, gunzip, () => {})
  return gunzip
}

/** One who stops reading in the middle leaves a stream that fails with an `AbortError`, which is no failure here. */
async function closeStream(stream: Readable): Promise<void> {
  if (stream.closed) return
  await new Promise<void>((resolve) => {
    stream.on('error', () => {}).once('close', () => resolve())
    stream.destroy()
  })
}

async function* readChunks(stream: Readable, file: string): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of stream) yield chunk as Buffer
  } catch (error) {
    throw new ImportError(`${file} cannot be read to its end (${toReason(error)})`, { cause: error })
  }
}

/** What the codes of zlib and of the file system mean. */
const REASONS: ReadonlyMap<string, string> = new Map([
  ['Z_BUF_ERROR', 'it is cut off'],
  ['Z_DATA_ERROR', 'the packed data are damaged'],
  ['ENOENT', 'there is no such file'],
  ['ENOTDIR', 'there is no such file'],
  ['EACCES', 'this account may not read it'],
  ['EPERM', 'this account may not read it'],
  ['EISDIR', 'it is a folder'],
  ['EIO', 'the disk cannot read it'],
])

function toReason(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason'
  return REASONS.get(code) ?? code
}
