import { constants, isAscii } from 'node:buffer'
import { promisify } from 'node:util'
import { brotliDecompress, gunzip } from 'node:zlib'
import type { Dispatcher } from 'undici'
import { CatalogInvalidError, CatalogTooLargeError } from '../errors.ts'

const decompressors = { gzip: promisify(gunzip), br: promisify(brotliDecompress) }

const decoder = new TextDecoder('utf-8', { fatal: true })

type ResponseBody = Dispatcher.ResponseData['body']

/**
 * Read a response as JSON. `maxBytes` limits both the compressed and the decompressed size.
 * @throws CatalogInvalidError, CatalogTooLargeError
 */
export async function readJson(response: Dispatcher.ResponseData, maxBytes: number): Promise<unknown> {
  const rawBytes = await readBytes(response.body, maxBytes)
  const bytes = await decompress(rawBytes, String(response.headers['content-encoding'] ?? ''), maxBytes)
  try {
    // Most responses are ASCII, which needs no decoder.
    return JSON.parse(isAscii(bytes) ? bytes.toString('latin1') : decoder.decode(bytes))
  } catch {
    throw new CatalogInvalidError('the response is not JSON in UTF-8')
  }
}

/** Discard a body. Without the listener, undici's `destroy` raises an unhandled error (docs/contribute/notes/dependencies.md). */
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
      throw new CatalogTooLargeError(`the response is larger than ${maxBytes} bytes`)
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

async function decompress(bytes: Buffer, encoding: string, maxBytes: number): Promise<Buffer> {
  const contentEncoding = encoding.trim().toLowerCase()
  if (contentEncoding === '' || contentEncoding === 'identity') return bytes
  if (contentEncoding !== 'gzip' && contentEncoding !== 'br')
    throw new CatalogInvalidError('the response has a content encoding that was not requested')
  try {
    return await decompressors[contentEncoding](bytes, {
      // Zlib rejects a limit above the maximum buffer length.
      maxOutputLength: Math.min(maxBytes, constants.MAX_LENGTH),
    })
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE') {
      throw new CatalogTooLargeError(`the response is larger than ${maxBytes} bytes, decompressed`)
    }
    throw new CatalogInvalidError(`the response is not valid ${contentEncoding} data`)
  }
}
