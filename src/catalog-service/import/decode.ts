import { ImportError } from '../../errors.ts'
import type { FeedHead } from './feed-head.ts'

/** Characters of ISO-8859-1's 0x80 to 0x9F, which every file means as windows-1252 does (WHATWG Encoding, index). */
const WINDOWS_1252 = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ'

/** Names of it, and of what it contains. */
const WESTERN = /^(?:iso-?8859-?1|latin-?1|windows-?1252|cp-?1252|us-ascii|ascii)$/

/** Bytes in which an XML declaration ends. */
const DECLARATION_BYTES = 200

/** Turns the pieces of a stream into text. `decode(undefined)` ends it. Throws where the bytes are no such text. */
type Decode = (bytes: Buffer | undefined) => string

/** `utf-16le` or `utf-16be` by the byte order mark, or by an XML declaration without one. */
export function findWideEncoding(head: Buffer): 'utf-16le' | 'utf-16be' | undefined {
  const begin = head.subarray(0, 2).toString('hex')
  if (begin === 'fffe' || begin === '3c00') return 'utf-16le'
  return begin === 'feff' || begin === '003c' ? 'utf-16be' : undefined
}

/**
 * A feed of lines or a table as UTF-8 without a byte order mark. Bytes that are no UTF-8 go through: a row is told of
 * its own.
 * @yields the pieces of the file
 * @throws ImportError while reading, when a file that says that it is UTF-16 is not.
 */
export async function* toUtf8(feed: FeedHead, file: string): AsyncGenerator<Buffer> {
  const encoding = findWideEncoding(feed.head)
  if (encoding !== undefined) {
    for await (const text of decodeChunks(feed, file, encoding)) yield Buffer.from(text)
    return
  }
  let markBytes = feed.head.subarray(0, 3).toString('hex') === 'efbbbf' ? 3 : 0
  for await (const chunk of feed.chunks) {
    const cutBytes = Math.min(markBytes, chunk.length)
    markBytes -= cutBytes
    yield chunk.subarray(cutBytes)
  }
}

/**
 * An XML feed as text: by its byte order mark, else by its declaration, else UTF-8 (XML 1.0, appendix F).
 * @throws ImportError while reading, when the encoding is unknown or the bytes are not of it.
 */
export function decodeXml(feed: FeedHead, file: string): AsyncIterable<string> {
  const declaration = feed.head.subarray(0, DECLARATION_BYTES).toString('latin1')
  const declared = /^[^<]{0,3}<\?xml[^>]*\sencoding\s*=\s*["']([\w.:-]+)["']/.exec(declaration)?.[1]
  const isMarked = declaration.startsWith('\u00ef\u00bb\u00bf')
  // A declaration that can be read byte by byte is not UTF-16, whatever it says.
  const isWide = /^utf-?16/i.test(declared ?? '')
  const narrow = declared === undefined || isMarked || isWide ? 'utf-8' : declared.toLowerCase()
  return decodeChunks(feed, file, findWideEncoding(feed.head) ?? narrow)
}

async function* decodeChunks(feed: FeedHead, file: string, encoding: string): AsyncGenerator<string> {
  const decode = createDecode(file, encoding)
  const decodeOrThrow = (bytes: Buffer | undefined, where: string): string => {
    try {
      return decode(bytes)
    } catch (error) {
      throw new ImportError(`${file} is not ${encoding.toUpperCase()} throughout: see ${where}`, {
        cause: error,
      })
    }
  }
  let readBytes = 0
  for await (const chunk of feed.chunks) {
    yield decodeOrThrow(chunk, `bytes ${readBytes + 1} to ${readBytes + chunk.length}`)
    readBytes += chunk.length
  }
  yield decodeOrThrow(undefined, 'its last bytes')
}

function createDecode(file: string, encoding: string): Decode {
  if (WESTERN.test(encoding)) return decodeWestern
  try {
    const decoder = new TextDecoder(encoding, { fatal: true })
    return (bytes) => (bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true }))
  } catch (error) {
    throw new ImportError(`${file} is written in ${encoding}, which cannot be read`, { cause: error })
  }
}

/** By hand, because some releases of Node take windows-1252 for ISO-8859-1. */
function decodeWestern(bytes: Buffer | undefined): string {
  const text = bytes?.toString('latin1') ?? ''
  return text.replace(/[\u0080-\u009f]/g, (letter) => WINDOWS_1252[letter.charCodeAt(0) - 0x80] ?? letter)
}
