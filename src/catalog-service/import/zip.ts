import type { Readable } from 'node:stream'
import { crc32 } from 'node:zlib'
import { type Entry, openPromise } from 'yauzl'
import { ImportError } from '../../errors.ts'

/** A zip file may list this many entries; more are no feed. */
const MAX_ENTRIES = 100

/** Files that systems add to an archive. */
const SYSTEM_FILE = /^(?:__MACOSX\/|.*\/$|(?:.*\/)?\.DS_Store$)/

export type ZippedFeed = Readonly<{
  /** The decompressed bytes. @throws ImportError at the end when they are damaged. */
  chunks: AsyncIterable<Buffer>
  close(): Promise<void>
}>

/** Open the only file in a zip archive. @throws ImportError when there are several, or none, or it is encrypted. */
export async function openZip(path: string, label: string): Promise<ZippedFeed> {
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
