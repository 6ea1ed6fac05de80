import { createHash, hash } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { promisify } from 'node:util'
import {
  brotliCompress,
  brotliCompressSync,
  brotliDecompress,
  brotliDecompressSync,
  constants,
  gunzip,
  gunzipSync,
  gzip,
  gzipSync,
} from 'node:zlib'
import { LRUCache } from 'lru-cache'

/** Headers by name; `undefined` values are omitted. */
export type Headers = Readonly<Record<string, string | undefined>>

export type ResponseDetails = Readonly<{
  /** 200 if absent. */
  status?: number
  headers: Headers
  /** `null` or absent: no revalidation. */
  etag?: string | null
  /** A function is called only if the body is sent. */
  body: string | Buffer | (() => Buffer)
}>

export const HTML_TYPE = 'text/html; charset=utf-8'
export const JSON_TYPE = 'application/json; charset=utf-8'
export const TEXT_TYPE = 'text/plain; charset=utf-8'

/** Headers that a 304 omits: a cache would apply them to a stored body of another encoding. */
export const BODY_HEADERS: ReadonlySet<string> = new Set(['Content-Type', 'Content-Encoding'])

/** Send any response of both servers but a cached widget. Bypass Express, so that nothing adds `Vary`, an encoding or a redirect. */
export function sendResponse(
  request: IncomingMessage,
  response: ServerResponse,
  { status = 200, headers, etag = null, body }: ResponseDetails,
): void {
  const pairs = listHeaders({ ...headers, ETag: etag ?? undefined })
  if (etag !== null && status === 200 && isEtagMatch(request.headers['if-none-match'], etag)) {
    response.writeHead(304, pairs.filter(([name]) => !BODY_HEADERS.has(name)).flat()).end()
    return
  }
  const bytes = toBytes(body)
  response.writeHead(status, [...pairs, ['Content-Length', String(bytes.length)]].flat())
  response.end(request.method === 'HEAD' ? undefined : bytes)
}

/** Send a value as JSON that no cache may store. */
export function sendJson(
  request: IncomingMessage,
  response: ServerResponse,
  value: unknown,
  { status, headers }: Readonly<{ status?: number; headers?: Headers }> = {},
): void {
  sendResponse(request, response, {
    ...(status !== undefined && { status }),
    headers: { 'Cache-Control': 'no-store', ...headers, 'Content-Type': JSON_TYPE },
    body: JSON.stringify(value),
  })
}

function toBytes(body: ResponseDetails['body']): Buffer {
  if (typeof body === 'function') return body()
  return typeof body === 'string' ? Buffer.from(body) : body
}

/** Return the headers that have a value, as pairs of name and value. */
export function listHeaders(headers: Headers): (readonly [name: string, value: string])[] {
  return Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  )
}

/** Proxies limit the total size of headers. */
const MAX_HEADER_CHARACTERS = 500

/** Convert text to a header value of printable ASCII: accents are removed, other characters become question marks. */
export function toHeaderText(text: string): string {
  const ascii = text
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .replace(/[\u2018\u2019]/g, "'")
    .replace(/[^ -~]/gu, '?')
  return ascii.length > MAX_HEADER_CHARACTERS ? `${ascii.slice(0, MAX_HEADER_CHARACTERS - 3)}...` : ascii
}

/** Return a strong ETag. It identifies one representation, so each encoding needs its own. */
export function createEtag(body: string | Buffer, encoding: Encoding = null): string {
  const digest = hash('sha256', body, 'base64url').slice(0, 27)
  return encoding === null ? `"${digest}"` : `"${digest}-${encoding}"`
}

/** Whether `If-None-Match` contains the tag by weak comparison (RFC 9110, 13.1.2), with lists and `*`. */
export function isEtagMatch(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false
  if (header === etag) return true
  const tag = etag.replace(/^W\//, '')
  return header.split(',').some((part) => {
    const candidate = part.trim()
    return candidate === '*' || candidate.replace(/^W\//, '') === tag
  })
}

/** Hash the contents of all files in the folders. */
export function hashFolders(folders: readonly string[]): string {
  const files = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .sort(),
  )
  const digest = createHash('sha256')
  for (const file of files) digest.update(readFileSync(file)).update('\0')
  return digest.digest('base64url').slice(0, 16)
}

/** A file in each encoding. */
export type Bodies = Readonly<Record<Compression | 'identity', Buffer>>

/** Reused because allocating a buffer costs as much as encoding a body. */
const sharedBuffer = Buffer.allocUnsafe(64 * 1_024)

/** Return the UTF-8 bytes of a text as a latin1 string. */
export function toUtf8ByteString(text: string): string {
  // A UTF-16 code unit has at most three bytes in UTF-8.
  if (text.length * 3 > sharedBuffer.length) return Buffer.from(text).toString('latin1')
  return sharedBuffer.toString('latin1', 0, sharedBuffer.write(text))
}

export type Compression = 'br' | 'gzip'

/** Value of `Content-Encoding`; `null`: not encoded. */
export type Encoding = Compression | null

/** At these levels, compressing 10 kB takes 0.1 ms. */
const BROTLI_LEVEL = 5
const GZIP_LEVEL = 6

const compressGzip = promisify(gzip)
const compressBrotli = promisify(brotliCompress)
const expandGzip = promisify(gunzip)
const expandBrotli = promisify(brotliDecompress)

/** For bodies that are compressed for one request: a third of the time. */
const FAST_LEVEL = 1

function toBrotliOptions(bytes: Buffer, level: number) {
  return {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: level,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  }
}

/** Compress a body, given as bytes (latin1), in the thread pool. `isOnce`: for one request, so faster and larger. */
export function compress(body: string, encoding: Compression, isOnce = false): Promise<Buffer> {
  const bytes = Buffer.from(body, 'latin1')
  return encoding === 'br'
    ? compressBrotli(bytes, toBrotliOptions(bytes, isOnce ? FAST_LEVEL : BROTLI_LEVEL))
    : compressGzip(bytes, { level: isOnce ? FAST_LEVEL : GZIP_LEVEL })
}

/** Expand a compressed body in the thread pool. */
export function expand(body: Buffer, encoding: Compression): Promise<Buffer> {
  return encoding === 'br' ? expandBrotli(body) : expandGzip(body)
}

export function expandNow(body: Buffer, encoding: Compression): Buffer {
  return encoding === 'br' ? brotliDecompressSync(body) : gunzipSync(body)
}

/** Compress a body for one request. A page of 200 products becomes a tenth. */
export function compressNow(bytes: Buffer, encoding: Compression): Buffer {
  return encoding === 'br'
    ? brotliCompressSync(bytes, toBrotliOptions(bytes, FAST_LEVEL))
    : gzipSync(bytes, { level: FAST_LEVEL })
}

/** Return the best body that `Accept-Encoding` allows, and its encoding. */
export function pickBody(
  bodies: Bodies,
  acceptEncoding: string | undefined,
): Readonly<{ encoding: Encoding; body: Buffer }> {
  const encoding = chooseEncoding(acceptEncoding)
  return { encoding, body: bodies[encoding ?? 'identity'] }
}

/** Parsed `Accept-Encoding` headers; few variants exist in practice. */
const cachedEncodings = new LRUCache<string, 'br' | 'gzip' | 'identity'>({ max: 100 })

const MAX_CACHED_CHARACTERS = 100

/** Return the best encoding that `Accept-Encoding` allows (RFC 9110, 12.5.3); `q=0` excludes one. */
export function chooseEncoding(acceptEncoding: string = ''): Encoding {
  const cached = cachedEncodings.get(acceptEncoding)
  if (cached !== undefined) return cached === 'identity' ? null : cached
  const encoding = parseAcceptEncoding(acceptEncoding)
  if (acceptEncoding.length <= MAX_CACHED_CHARACTERS)
    cachedEncodings.set(acceptEncoding, encoding ?? 'identity')
  return encoding
}

function parseAcceptEncoding(acceptEncoding: string): Encoding {
  const accepted = new Set<string>()
  for (const part of acceptEncoding.toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map((piece) => piece.trim())
    if (!parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter))) accepted.add(name)
  }
  if (accepted.has('br')) return 'br'
  return accepted.has('gzip') ? 'gzip' : null
}
