import { constants, isAscii } from 'node:buffer'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import {
  brotliDecompress,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  gunzip,
  inflate,
} from 'node:zlib'
import type { Dispatcher } from 'undici'
import { CatalogInvalidError, CatalogTooLargeError } from '../errors.ts'
import { type SkimmedPage, skimPage } from './skim-page.ts'

const decompressors = {
  gzip: promisify(gunzip),
  br: promisify(brotliDecompress),
  deflate: promisify(inflate),
}
const streamDecompressors = { gzip: createGunzip, br: createBrotliDecompress, deflate: createInflate }

const ZLIB_ERROR_CODE = /^(?:Z_|ERR__)/

const decoder = new TextDecoder('utf-8', { fatal: true })

type ResponseBody = Dispatcher.ResponseData['body']

/**
 * Read a response as JSON. `maxBytes` limits both the compressed and the decompressed size.
 * @throws CatalogInvalidError, CatalogTooLargeError
 */
export async function readJson(response: Dispatcher.ResponseData, maxBytes: number): Promise<unknown> {
  const rawBytes = await readBytes(response.body, maxBytes)
  const bytes = await decompress(rawBytes, getEncoding(response.headers), maxBytes)
  try {
    // Most responses are ASCII, which needs no decoder.
    return JSON.parse(isAscii(bytes) ? bytes.toString('latin1') : decoder.decode(bytes))
  } catch {
    throw new CatalogInvalidError('the response is not JSON in UTF-8')
  }
}

/** How much more of a page of one product is read than is parsed, to learn which product it is. */
const SKIMMED_FACTOR = 16

/**
 * Read GTIN and cursor of a page of one product that can be larger than `maxBytes`, without keeping the rest.
 * @throws CatalogInvalidError, CatalogTooLargeError
 */
export async function readSkimmedPage(
  { body, headers }: Dispatcher.ResponseData,
  maxBytes: number,
): Promise<SkimmedPage> {
  const encoding = getEncoding(headers)
  const skimmedBytes = SKIMMED_FACTOR * maxBytes
  let page: SkimmedPage | undefined
  const skim = async (chunks: AsyncIterable<Buffer>): Promise<void> => {
    page = await skimPage(limitBytes(chunks, skimmedBytes))
  }
  // The pipeline destroys the body; undici then raises an error without this listener.
  body.on('error', () => {})
  try {
    if (encoding === 'identity') await pipeline(body, skim)
    else await pipeline(body, streamDecompressors[encoding](), skim)
  } catch (error) {
    if (!ZLIB_ERROR_CODE.test(String((error as { code?: unknown }).code))) throw error
    throw new CatalogInvalidError(`the response is not valid ${encoding} data`)
  }
  if (page === undefined) throw new CatalogInvalidError('the response has no body')
  return page
}

/** @yields the chunks. @throws CatalogTooLargeError */
async function* limitBytes(chunks: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Buffer> {
  let bytes = 0
  for await (const chunk of chunks) {
    bytes += chunk.length
    if (bytes > maxBytes) throw new CatalogTooLargeError(`the response is larger than ${maxBytes} bytes`)
    yield chunk
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

/** Also accept the common encodings that were not requested: some servers ignore `Accept-Encoding`. @throws CatalogInvalidError */
function getEncoding(headers: Dispatcher.ResponseData['headers']): 'identity' | keyof typeof decompressors {
  const encoding = String(headers['content-encoding'] ?? '')
    .trim()
    .toLowerCase()
  if (encoding === '' || encoding === 'identity') return 'identity'
  if (encoding === 'gzip' || encoding === 'br' || encoding === 'deflate') return encoding
  if (encoding === 'x-gzip') return 'gzip'
  throw new CatalogInvalidError('the response has a content encoding that was not requested')
}

async function decompress(
  bytes: Buffer,
  encoding: ReturnType<typeof getEncoding>,
  maxBytes: number,
): Promise<Buffer> {
  if (encoding === 'identity') return bytes
  try {
    return await decompressors[encoding](bytes, {
      // Zlib rejects a limit above the maximum buffer length.
      maxOutputLength: Math.min(maxBytes, constants.MAX_LENGTH),
    })
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE') {
      throw new CatalogTooLargeError(`the response is larger than ${maxBytes} bytes, decompressed`)
    }
    throw new CatalogInvalidError(`the response is not valid ${encoding} data`)
  }
}
