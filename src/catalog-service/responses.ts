import type { Request, RequestHandler, Response } from 'express'
import { CACHE_SECONDS } from '../catalog/contract.ts'
import { SECOND_MS } from '../clock.ts'
import { CatalogServiceError } from '../errors.ts'
import { JSON_TYPE, chooseEncoding, compressNow, createEtag, sendResponse } from '../http/response.ts'
import type { FormatRefusal } from '../http/refusals.ts'

const CACHE_CONTROL = toCacheControl(CACHE_SECONDS)

const COMMON_HEADERS = {
  Vary: 'Authorization, Accept-Encoding',
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
}
const CONTENT_TYPE_HEADER = { 'Content-Type': JSON_TYPE }

/** A shorter body fits into one or two packets without compression. */
const MIN_COMPRESSED_BYTES = 1_024

/** `changesInMs`: until a sale in it begins or ends. */
export type Result = Readonly<{ value: unknown; changesInMs?: number | undefined }>

/** Send a result as JSON, or 304 if the client has it. `canCompress`: compress long bodies for clients that accept it. */
export function sendResult(
  request: Request,
  response: Response,
  { value, changesInMs = Infinity, canCompress }: Result & Readonly<{ canCompress: boolean }>,
): void {
  const bytes = Buffer.from(JSON.stringify(value))
  const shouldCompress = canCompress && bytes.length >= MIN_COMPRESSED_BYTES
  const encoding = shouldCompress ? chooseEncoding(request.headers['accept-encoding']) : null
  const cacheSeconds = Math.min(CACHE_SECONDS, Math.max(0, Math.floor(changesInMs / SECOND_MS)))
  sendResponse(request, response, {
    headers: {
      ...COMMON_HEADERS,
      ...CONTENT_TYPE_HEADER,
      'Cache-Control': toCacheControl(cacheSeconds),
      'Content-Encoding': encoding ?? undefined,
    },
    etag: createEtag(bytes, encoding),
    body: () => (encoding === null ? bytes : compressNow(bytes, encoding)),
  })
}

function toCacheControl(maxAgeSeconds: number): string {
  return `private, max-age=${maxAgeSeconds}`
}

export function sendError(request: Request, response: Response, error: CatalogServiceError): void {
  // The headers are already sent: close the connection so that the client notices the failure.
  if (response.headersSent) return void response.destroy()
  const { statusCode, publicMessage, retryAfterSeconds } = error
  const body = JSON.stringify({ error: publicMessage })
  sendResponse(request, response, {
    status: statusCode,
    headers: {
      ...COMMON_HEADERS,
      ...CONTENT_TYPE_HEADER,
      // A 404 is a cacheable result; after any other error the client should retry.
      'Cache-Control': statusCode === 404 ? CACHE_CONTROL : 'no-store',
      'WWW-Authenticate': statusCode === 401 ? 'Bearer' : undefined,
      'Retry-After': retryAfterSeconds === null ? undefined : String(retryAfterSeconds),
      // The server never reads a request body, so the connection cannot be reused.
      ...(statusCode === 405 && { Allow: 'GET, HEAD', Connection: 'close' }),
    },
    etag: createEtag(body),
    body,
  })
}

export const rejectMethod: RequestHandler = () => {
  throw new CatalogServiceError(405, 'only GET and HEAD are allowed here')
}

/** Format the refusal of a request that did not reach the API as `{ "error": … }`. */
export const formatRefusal: FormatRefusal = ({ message }) => ({
  headers: { 'Cache-Control': 'no-store', ...COMMON_HEADERS, ...CONTENT_TYPE_HEADER },
  body: JSON.stringify({ error: message }),
})
