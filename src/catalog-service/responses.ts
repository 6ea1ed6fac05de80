import { hash } from 'node:crypto'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { Request, RequestHandler, Response } from 'express'
import { CACHE_SECONDS } from '../catalog/contract.ts'
import { CatalogServiceError } from '../errors.ts'
import { type Encoding, chooseEncoding } from '../http/response.ts'
import type { FormatRefusal } from '../http/refusals.ts'

const CACHE_CONTROL = `private, max-age=${CACHE_SECONDS}`

/** Headers of every response; a 304 does not have the type. */
const COMMON_HEADERS = {
  Vary: 'Authorization, Accept-Encoding',
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
}
const CONTENT_TYPE_HEADER = { 'Content-Type': 'application/json; charset=utf-8' }

/** A shorter body fits into a packet or two as it is. */
const MIN_COMPRESSED_BYTES = 1_024

/** Levels at which a page of 200 products takes a fifth of a millisecond and becomes a tenth or less of its size. */
const BROTLI_OPTIONS = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }
const GZIP_OPTIONS = { level: 1 }

/** Send what was found, or 304. `canCompress`: compressing is worth the time for those who accept it. */
export function sendResult(
  request: Request,
  response: Response,
  { value, canCompress }: Readonly<{ value: unknown; canCompress: boolean }>,
): void {
  const text = JSON.stringify(value)
  const plain = Buffer.from(text)
  const shouldCompress = canCompress && plain.length >= MIN_COMPRESSED_BYTES
  const encoding = shouldCompress ? chooseEncoding(request.headers['accept-encoding']) : null
  // A strong validator names one representation: each encoding has its own.
  const etag = `"${hash('sha1', text, 'base64url')}${encoding === null ? '' : `-${encoding}`}"`
  response.set({ ...COMMON_HEADERS, 'Cache-Control': CACHE_CONTROL, ETag: etag })
  if (request.fresh) return void response.status(304).end()
  if (encoding !== null) response.set('Content-Encoding', encoding)
  response.set(CONTENT_TYPE_HEADER).send(compress(plain, encoding))
}

function compress(bytes: Buffer, encoding: Encoding): Buffer {
  if (encoding === 'br') return brotliCompressSync(bytes, BROTLI_OPTIONS)
  return encoding === 'gzip' ? gzipSync(bytes, GZIP_OPTIONS) : bytes
}

export function sendError(response: Response, error: CatalogServiceError): void {
  // The connection broke in the middle of a response: nothing more can be said.
  if (response.headersSent) return void response.destroy()
  const { statusCode, publicMessage, retryAfterSeconds } = error
  // A product that nobody sells is an answer like any other; every other error should be asked about again.
  response.set({
    ...COMMON_HEADERS,
    ...CONTENT_TYPE_HEADER,
    'Cache-Control': statusCode === 404 ? CACHE_CONTROL : 'no-store',
  })
  if (statusCode === 401) response.set('WWW-Authenticate', 'Bearer')
  if (retryAfterSeconds !== null) response.set('Retry-After', String(retryAfterSeconds))
  // The body that such a request may bring is not read.
  if (statusCode === 405) response.set({ Allow: 'GET, HEAD', Connection: 'close' })
  response.status(statusCode).send(Buffer.from(JSON.stringify({ error: publicMessage })))
}

/** Refuse every method that has no handler before it. */
export const rejectMethod: RequestHandler = () => {
  throw new CatalogServiceError(405, 'only GET is possible here')
}

/** Format a refusal of a request that never reached the interface as `{ "error": … }`. */
export const formatRefusal: FormatRefusal = ({ message }) => ({
  headers: { 'Cache-Control': 'no-store', ...COMMON_HEADERS, ...CONTENT_TYPE_HEADER },
  body: JSON.stringify({ error: message }),
})
