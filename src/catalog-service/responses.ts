import { hash } from 'node:crypto'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { Request, RequestHandler, Response } from 'express'
import { CACHE_SECONDS } from '../catalog/contract.ts'
import { SECOND_MS } from '../clock.ts'
import { CatalogServiceError } from '../errors.ts'
import { type Encoding, chooseEncoding } from '../http/response.ts'
import type { FormatRefusal } from '../http/refusals.ts'

const CACHE_CONTROL = toCacheControl(CACHE_SECONDS)

const COMMON_HEADERS = {
  Vary: 'Authorization, Accept-Encoding',
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
}
const CONTENT_TYPE_HEADER = { 'Content-Type': 'application/json; charset=utf-8' }

/** A shorter body fits into one or two packets without compression. */
const MIN_COMPRESSED_BYTES = 1_024

/** At these levels a page of 200 products compresses to a tenth of its size in about 0.2 ms. */
const BROTLI_OPTIONS = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }
const GZIP_OPTIONS = { level: 1 }

/** `changesInMs`: until a sale in it begins or ends. */
export type Result = Readonly<{ value: unknown; changesInMs?: number | undefined }>

/** Send a result as JSON, or 304 if the client has it. `canCompress`: compress long bodies for clients that accept it. */
export function sendResult(
  request: Request,
  response: Response,
  { value, changesInMs = Infinity, canCompress }: Result & Readonly<{ canCompress: boolean }>,
): void {
  const text = JSON.stringify(value)
  const bytes = Buffer.from(text)
  const shouldCompress = canCompress && bytes.length >= MIN_COMPRESSED_BYTES
  const encoding = shouldCompress ? chooseEncoding(request.headers['accept-encoding']) : null
  // A strong ETag identifies one representation, so each encoding needs its own.
  const etag = `"${hash('sha1', text, 'base64url')}${encoding === null ? '' : `-${encoding}`}"`
  const cacheSeconds = Math.min(CACHE_SECONDS, Math.max(0, Math.floor(changesInMs / SECOND_MS)))
  response.set({ ...COMMON_HEADERS, 'Cache-Control': toCacheControl(cacheSeconds), ETag: etag })
  if (request.fresh) return void response.status(304).end()
  if (encoding !== null) response.set('Content-Encoding', encoding)
  response.set(CONTENT_TYPE_HEADER).send(compress(bytes, encoding))
}

function toCacheControl(maxAgeSeconds: number): string {
  return `private, max-age=${maxAgeSeconds}`
}

function compress(bytes: Buffer, encoding: Encoding): Buffer {
  if (encoding === 'br') return brotliCompressSync(bytes, BROTLI_OPTIONS)
  return encoding === 'gzip' ? gzipSync(bytes, GZIP_OPTIONS) : bytes
}

export function sendError(response: Response, error: CatalogServiceError): void {
  // The headers are already sent: close the connection so that the client notices the failure.
  if (response.headersSent) return void response.destroy()
  const { statusCode, publicMessage, retryAfterSeconds } = error
  // A 404 is a cacheable result; after any other error the client should retry.
  response.set({
    ...COMMON_HEADERS,
    ...CONTENT_TYPE_HEADER,
    'Cache-Control': statusCode === 404 ? CACHE_CONTROL : 'no-store',
  })
  if (statusCode === 401) response.set('WWW-Authenticate', 'Bearer')
  if (retryAfterSeconds !== null) response.set('Retry-After', String(retryAfterSeconds))
  // The server never reads a request body, so the connection cannot be reused.
  if (statusCode === 405) response.set({ Allow: 'GET, HEAD', Connection: 'close' })
  response.status(statusCode).send(Buffer.from(JSON.stringify({ error: publicMessage })))
}

export const rejectMethod: RequestHandler = () => {
  throw new CatalogServiceError(405, 'only GET and HEAD are allowed here')
}

/** Format the refusal of a request that did not reach the API as `{ "error": … }`. */
export const formatRefusal: FormatRefusal = ({ message }) => ({
  headers: { 'Cache-Control': 'no-store', ...COMMON_HEADERS, ...CONTENT_TYPE_HEADER },
  body: JSON.stringify({ error: message }),
})
