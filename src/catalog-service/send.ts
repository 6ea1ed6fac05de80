import { hash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { CACHE_SECONDS } from '../catalog/contract.ts'
import type { ServiceError } from '../errors.ts'
import { isNoneMatch } from '../http/etag.ts'
import { writeAtOnce } from '../http/one-write.ts'
import type { FormatRefusal } from '../http/refusals.ts'

const CACHEABLE = `private, max-age=${CACHE_SECONDS}`

/** Headers of every answer; a 304 has them, too, but for the type of a body that it has not. */
const SHARED = [
  ['Vary', 'Authorization'],
  ['X-Content-Type-Options', 'nosniff'],
  ['Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'"],
  ['Referrer-Policy', 'no-referrer'],
] as const
const TYPE = ['Content-Type', 'application/json; charset=utf-8'] as const

const SHARED_TEXT: string = [['Cache-Control', CACHEABLE], ...SHARED]
  .map(([name, value]) => `${name}: ${value}\r\n`)
  .join('')
const TYPE_TEXT = `${TYPE[0]}: ${TYPE[1]}\r\n`

/** `body` is JSON; `nowMs`, Unix milliseconds, is the answer's `Date`. */
type Found = Readonly<{ body: string; nowMs: number }>

/** Sends what was found, or that whoever asks has it already. */
export function sendFound(request: IncomingMessage, response: ServerResponse, found: Found): void {
  const etag = `"${hash('sha1', found.body, 'base64url')}"`
  const isKnown = isNoneMatch(request.headers['if-none-match'], etag)
  const bytes = Buffer.from(found.body)
  const body = isKnown || request.method === 'HEAD' ? null : bytes
  const status = isKnown ? 304 : 200
  const length = isKnown ? '' : `${TYPE_TEXT}Content-Length: ${bytes.length}\r\n`
  const head = `${SHARED_TEXT}${length}ETag: ${etag}\r\n`
  if (writeAtOnce(response, { status, head, body, nowMs: found.nowMs })) return
  const ofBody = isKnown ? [] : [...TYPE, 'Content-Length', String(bytes.length)]
  response.writeHead(status, ['Cache-Control', CACHEABLE, ...SHARED.flat(), ...ofBody, 'ETag', etag])
  response.end(body ?? undefined)
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
