import iconv from 'iconv-lite'
import { ImportError } from '../../errors.ts'
import type { FeedHead } from './open-feed.ts'

/** Labels that mean windows-1252 in practice, ISO-8859-1 too (WHATWG Encoding). */
const WINDOWS_1252_LABELS = /^(?:iso-?8859-?1|latin-?1|windows-?1252|cp-?1252|us-ascii|ascii)$/

const DECLARATION_BYTES = 200

export type EncodingHints = Readonly<{
  /** Of the column map. */
  encoding: string | undefined
  /** Of the HTTP response. */
  charset: string | undefined
}>

/** Return the canonical name of an encoding; `undefined` when it is unknown. */
export function findEncoding(label: string): string | undefined {
  const name = label.trim().toLowerCase()
  // Some Node releases decode windows-1252 as ISO-8859-1, so its labels do not go through `TextDecoder`.
  if (WINDOWS_1252_LABELS.test(name)) return 'windows-1252'
  try {
    return new TextDecoder(name).encoding
  } catch {
    return undefined
  }
}

/**
 * Choose the encoding of a feed: byte order mark, column map, XML declaration, HTTP response, else UTF-8. A table or JSON that
 * declares none and is not UTF-8 is windows-1252.
 * @throws ImportError for an unknown encoding.
 */
export function chooseEncoding(head: Buffer, file: string, hints: EncodingHints): string {
  const marked = findMarkedEncoding(head)
  if (marked !== undefined) return marked
  const label = hints.encoding ?? findDeclaredEncoding(head) ?? hints.charset
  if (label === undefined) return isWindows1252(head) ? 'windows-1252' : 'utf-8'
  const encoding = findEncoding(label)
  if (encoding === undefined) throw new ImportError(`${file} has the unsupported encoding ${label}`)
  return encoding
}

/** Detect the encoding by the byte order mark, or UTF-16 by the first `<` of an XML file. */
function findMarkedEncoding(head: Buffer): string | undefined {
  const firstBytes = head.subarray(0, 3).toString('hex')
  if (firstBytes === 'efbbbf') return 'utf-8'
  if (/^(?:fffe|3c00)/.test(firstBytes)) return 'utf-16le'
  return /^(?:feff|003c)/.test(firstBytes) ? 'utf-16be' : undefined
}

/** Find the encoding of an XML declaration (XML 1.0, appendix F). If it is readable as single bytes, it cannot be UTF-16. */
function findDeclaredEncoding(head: Buffer): string | undefined {
  const declaration = head.subarray(0, DECLARATION_BYTES).toString('latin1')
  const declared = /^<\?xml[^>]*\sencoding\s*=\s*["']([\w.:-]+)["']/.exec(declaration)?.[1]
  return declared !== undefined && /^utf-?16/i.test(declared) ? 'utf-8' : declared
}

/** More invalid bytes than characters of UTF-8 beyond ASCII. A few invalid bytes in UTF-8 are damage: they reject their rows. */
function isWindows1252(head: Buffer): boolean {
  const text = new TextDecoder().decode(head, { stream: true })
  const invalidCount = text.match(/\ufffd/g)?.length ?? 0
  if (invalidCount === 0 || /^\s*</.test(text)) return false
  return invalidCount > (text.match(/[^\p{ASCII}\ufffd]/gu)?.length ?? 0)
}

/** Decode the first bytes for the detection of the format. */
export function decodeHead(head: Buffer, encoding: string): string {
  if (encoding === 'windows-1252') return head.toString('latin1')
  return new TextDecoder(encoding).decode(head, { stream: true })
}

/**
 * Convert a feed to UTF-8 without a byte order mark. Invalid UTF-8 is passed on, so that each bad row can be rejected alone.
 * @yields the chunks of the file
 * @throws ImportError while reading, when the file is not valid in another encoding.
 */
export async function* toUtf8(feed: FeedHead, file: string, encoding: string): AsyncGenerator<Buffer> {
  if (encoding !== 'utf-8') {
    for await (const text of decodeText(feed, file, encoding)) yield Buffer.from(text)
    return
  }
  let bomBytes = feed.head.subarray(0, 3).toString('hex') === 'efbbbf' ? 3 : 0
  for await (const chunk of feed.chunks) {
    const cutBytes = Math.min(bomBytes, chunk.length)
    bomBytes -= cutBytes
    yield chunk.subarray(cutBytes)
  }
}

/**
 * @yields the text of each chunk
 * @throws ImportError while reading, when the file is not valid in this encoding.
 */
export async function* decodeText(feed: FeedHead, file: string, encoding: string): AsyncGenerator<string> {
  const decode = createDecoder(encoding)
  let readBytes = 0
  let location = ''
  try {
    for await (const chunk of feed.chunks) {
      location = `bytes ${readBytes + 1} to ${readBytes + chunk.length}`
      yield decode(chunk)
      readBytes += chunk.length
    }
    location = 'its last bytes'
    yield decode(undefined)
  } catch (error) {
    if (error instanceof ImportError) throw error
    throw new ImportError(`${file} is not valid ${encoding.toUpperCase()}: see ${location}`, {
      cause: error,
    })
  }
}

/** Create a streaming decoder; `undefined` ends the stream. It throws on invalid bytes. */
function createDecoder(encoding: string): (bytes: Buffer | undefined) => string {
  if (encoding === 'windows-1252')
    return (bytes) => (bytes === undefined ? '' : iconv.decode(bytes, 'windows-1252'))
  const decoder = new TextDecoder(encoding, { fatal: true })
  return (bytes) => (bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true }))
}
