import { constants, isAscii } from 'node:buffer'
import { promisify } from 'node:util'
import { brotliDecompress, gunzip } from 'node:zlib'
import type { Dispatcher } from 'undici'
import { CatalogInvalidError, CatalogTooLargeError } from '../errors.ts'

const decompressors = { gzip: promisify(gunzip), br: promisify(brotliDecompress) }

const decoder = new TextDecoder('utf-8', { fatal: true })

/** A body as undici gives it. */
type ResponseBody = Dispatcher.ResponseData['body']

/**
 * Read a whole answer as JSON; `maxBytes` holds for what travels and for what comes out of it.
 * @throws CatalogInvalidError when it is no JSON in UTF-8.
 */
export async function readJson(response: Dispatcher.ResponseData, maxBytes: number): Promise<unknown> {
  const rawBytes = await readBytes(response.body, maxBytes)
  const bytes = await decompress(rawBytes, String(response.headers['content-encoding'] ?? ''), maxBytes)
  try {
    // Most answers are plain ASCII, which needs no decoder.
    return JSON.parse(isAscii(bytes) ? bytes.toString('latin1') : decoder.decode(bytes))
  } catch {
    throw new CatalogInvalidError('the answer is not JSON in UTF-8')
  }
}

/**
 * Throw an unwanted body away. Without the listener, undici's destroy ends the whole process with an unhandled error
 * (docs/contribute/notes/dependencies.md).
 */
export function discardBody(body: ResponseBody): void {
  body.on('error', () => {})
  body.destroy()
}

async function readBytes(body: ResponseBody, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > maxBytes) {
      discardBody(body)
      throw new CatalogTooLargeError(`the answer is larger than ${maxBytes} bytes`)
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

async function decompress(bytes: Buffer, encoding: string, maxBytes: number): Promise<Buffer> {
  const contentEncoding = encoding.trim().toLowerCase()
  if (contentEncoding === '' || contentEncoding === 'identity') return bytes
  if (contentEncoding !== 'gzip' && contentEncoding !== 'br')
    throw new CatalogInvalidError('the answer has a content encoding that was not asked for')
  try {
    return await decompressors[contentEncoding](bytes, {
      // A limit beyond the longest buffer is refused by zlib, whatever the answer is.
      maxOutputLength: Math.min(maxBytes, constants.MAX_LENGTH),
    })
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE') {
      throw new CatalogTooLargeError(`the answer is larger than ${maxBytes} bytes, decompressed`)
    }
    throw new CatalogInvalidError(`the answer is no ${contentEncoding} data`)
  }
}
