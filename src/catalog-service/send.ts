import { hash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { CACHE_SECONDS } from '../catalog/contract.ts'
import type { ServiceError } from '../errors.ts'
import { type Encoding, chooseEncoding } from '../http/encodings.ts'
import { isNoneMatch } from '../http/etag.ts'
import type { FormatRefusal } from '../http/refusals.ts'

const CACHEABLE = `private, max-age=${CACHE_SECONDS}`

/** Headers of every answer; a 304 has them, too, but for the type of a body that it has not. */
const SHARED = [
  ['Vary', 'Authorization, Accept-Encoding'],
  ['X-Content-Type-Options', 'nosniff'],
  ['Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'"],
  ['Referrer-Policy', 'no-referrer'],
] as const
const TYPE = ['Content-Type', 'application/json; charset=utf-8'] as const

/** A shorter body fits into a packet or two as it is. */
const MIN_COMPRESSED_BYTES = 1_024

/** Levels at which a page of 200 products takes a fifth of a millisecond and becomes a tenth or less of its size. */
const BROTLI_OPTIONS = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }
const GZIP_OPTIONS = { level: 1 }

/** `body` is JSON; `nowMs`, Unix milliseconds, is the answer's `Date`; `compress`: where the request accepts it. */
type Found = Readonly<{ body: string; nowMs: number; compress: boolean }>

/** Sends what was found, or that whoever asks has it already. */
export function sendFound(request: IncomingMessage, response: ServerResponse, found: Found): void {
  const plain = Buffer.from(found.body)
  const encoding = chooseOwn(request, found.compress && plain.length >= MIN_COMPRESSED_BYTES)
  // A strong validator names one representation: each encoding has its own.
  const etag = `"${hash('sha1', found.body, 'base64url')}${encoding === null ? '' : `-${encoding}`}"`
  if (isNoneMatch(request.headers['if-none-match'], etag))
    return write(response, { status: 304, nowMs: found.nowMs, body: null, headers: ['ETag', etag] })
  const bytes = encode(plain, encoding)
  const ofEncoding = encoding === null ? [] : ['Content-Encoding', encoding]
  const headers = [...TYPE, ...ofEncoding, 'Content-Length', String(bytes.length), 'ETag', etag]
  write(response, {
    status: 200,
    nowMs: found.nowMs,
    body: request.method === 'HEAD' ? null : bytes,
    headers,
  })
}

/** `headers`: names and values in turn, beside those of every answer. */
type Message = Readonly<{ status: 200 | 304; nowMs: number; body: Buffer | null; headers: string[] }>

function write(response: ServerResponse, { headers, status, body }: Message): void {
  response.writeHead(status, ['Cache-Control', CACHEABLE, ...SHARED.flat(), ...headers])
  response.end(body ?? undefined)
}

function chooseOwn({ headers }: IncomingMessage, isWorthwhile: boolean): Encoding {
  return isWorthwhile ? chooseEncoding(headers['accept-encoding']) : null
}

function encode(bytes: Buffer, encoding: Encoding): Buffer {
  if (encoding === 'br') return brotliCompressSync(bytes, BROTLI_OPTIONS)
  return encoding === 'gzip' ? gzipSync(bytes, GZIP_OPTIONS) : bytes
}

/** Sends `{ "error": … }`. */
export function sendFailure(request: IncomingMessage, response: ServerResponse, failure: ServiceError): void {
  // The connection broke in the middle of an answer: nothing more can be said.
  if (response.headersSent) return void response.destroy()
  const { statusCode, publicMessage, retryAfterSeconds } = failure
  const bytes = Buffer.from(JSON.stringify({ error: publicMessage }))
  // A product that nobody sells is an answer like any other; every other error should be asked about again.
  const caching = statusCode === 404 ? CACHEABLE : 'no-store'
  const headers = ['Cache-Control', caching, ...SHARED.flat(), ...TYPE]
  if (statusCode === 401) headers.push('WWW-Authenticate', 'Bearer')
  if (retryAfterSeconds !== null) headers.push('Retry-After', String(retryAfterSeconds))
  // Nobody waits for the body that such a request may bring.
  if (statusCode === 405) headers.push('Allow', 'GET, HEAD', 'Connection', 'close')
  response.writeHead(statusCode, [...headers, 'Content-Length', String(bytes.length)])
  response.end(request.method === 'HEAD' ? undefined : bytes)
}

/** Format a refusal of a request that never reached the interface as `{ "error": … }`. */
export const formatRefusal: FormatRefusal = ({ message }) => ({
  headers: Object.fromEntries([['Cache-Control', 'no-store'], ...SHARED, TYPE]),
  body: JSON.stringify({ error: message }),
})
