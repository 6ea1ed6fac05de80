import { createHash, hash } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { LRUCache } from 'lru-cache'

/** Headers by name; `undefined` leaves one out. */
export type Headers = Readonly<Record<string, string | undefined>>

/** A whole response; `etag` is `null` where there is nothing to revalidate. */
export type ResponseDetails = Readonly<{
  status: number
  headers: Headers
  etag: string | null
  /** Called only when the body is sent. */
  getBody(): Buffer
}>

/** Headers that say something of a body: a cache that updates what it holds would take them for another encoding's. */
export const BODY_HEADERS: ReadonlySet<string> = new Set(['Content-Type', 'Content-Encoding'])

/**
 * Send a response with its exact length, without the help of Express: no `Vary`, no encoding, no redirect, no reading of the
 * visitor's headers but `If-None-Match`.
 */
export function sendResponse(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, etag, getBody }: ResponseDetails,
): void {
  const list = listHeaders({ ...headers, ETag: etag ?? undefined })
  if (etag !== null && isEtagMatch(request.headers['if-none-match'], etag)) {
    response.writeHead(304, list.filter(([name]) => !BODY_HEADERS.has(name)).flat()).end()
    return
  }
  const body = getBody()
  response.writeHead(status, [...list, ['Content-Length', String(body.length)]].flat())
  response.end(request.method === 'HEAD' ? undefined : body)
}

/** Names and values in pairs, without what is left out. */
export function listHeaders(headers: Headers): (readonly [name: string, value: string])[] {
  return Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  )
}

/** Longest text of ours in a header: proxies limit all headers together. */
const MAX_HEADER_CHARACTERS = 500

/**
 * A text as the value of a header: printable ASCII and nothing else, since headers are written as single bytes and a name of a feed
 * or an address may hold any character. Accents go; what has no plain letter becomes a question mark.
 */
export function toHeaderText(text: string): string {
  const plain = text
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .replace(/[\u2018\u2019]/g, "'")
    .replace(/[^ -~]/gu, '?')
  return plain.length > MAX_HEADER_CHARACTERS ? `${plain.slice(0, MAX_HEADER_CHARACTERS - 3)}...` : plain
}

/** Return a strong validator of a text. */
export function createEtag(text: string): string {
  return `"${hash('sha256', text, 'base64url').slice(0, 27)}"`
}

/** Does `If-None-Match` hold the tag (RFC 9110, section 13.1.2)? Weak comparison, lists and `*` included. */
export function isEtagMatch(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false
  if (header === etag) return true
  const tag = etag.replace(/^W\//, '')
  return header.split(',').some((part) => {
    const candidate = part.trim()
    return candidate === '*' || candidate.replace(/^W\//, '') === tag
  })
}

/** Hash every file below some folders: a response that other templates or other code made is another response. */
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

/** A body in each encoding. Strings hold bytes (latin1): Node sends such a string together with the head in one write. */
export type Bodies<Bytes = string> = Readonly<{ identity: Bytes; gzip?: Bytes; br?: Bytes }>

/** Most bodies fit in here: a buffer of its own for each costs as much as encoding it. */
const sharedBuffer = Buffer.allocUnsafe(64 * 1_024)

/** Return the bytes of a text in UTF-8 as a string. */
export function toByteString(text: string): string {
  // A UTF-16 unit has at most three bytes.
  if (text.length * 3 > sharedBuffer.length) return Buffer.from(text).toString('latin1')
  return sharedBuffer.toString('latin1', 0, sharedBuffer.write(text))
}

/** An encoding by its name in headers; `null`: as it is. */
export type Encoding = 'br' | 'gzip' | null

/** Brotli and gzip levels at which ten kilobytes take a tenth of a millisecond. */
const BROTLI_LEVEL = 5
const GZIP_LEVEL = 6

const compressGzip = promisify(gzip)
const compressBrotli = promisify(brotliCompress)

/** Encode a body in the thread pool. */
export async function encodeBody(text: string): Promise<Required<Bodies>> {
  const identity = Buffer.from(text)
  const parameters = {
    [constants.BROTLI_PARAM_QUALITY]: BROTLI_LEVEL,
    [constants.BROTLI_PARAM_SIZE_HINT]: identity.length,
  }
  const bodies = await Promise.all([
    compressGzip(identity, { level: GZIP_LEVEL }),
    compressBrotli(identity, { params: parameters }),
  ])
  const [zipped, brotli] = bodies.map((bytes) => bytes.toString('latin1')) as [string, string]
  return { identity: identity.toString('latin1'), gzip: zipped, br: brotli }
}

/** Return the best body that `Accept-Encoding` allows, and its encoding. */
export function pickBody<Bytes>(
  bodies: Bodies<Bytes>,
  acceptEncoding: string | undefined,
): Readonly<{ encoding: Encoding; body: Bytes }> {
  const encoding = bodies.br === undefined ? null : chooseEncoding(acceptEncoding)
  const body = encoding === null ? undefined : bodies[encoding]
  return body === undefined ? { encoding: null, body: bodies.identity } : { encoding, body }
}

/** What was chosen for the few forms that the header has in practice; others are read each time. */
const cachedEncodings = new LRUCache<string, 'br' | 'gzip' | 'identity'>({ max: 100 })

/** Longest `Accept-Encoding` whose reading is kept. */
const MAX_CACHED_CHARACTERS = 100

/** The best encoding that `Accept-Encoding` allows (RFC 9110, section 12.5.3); one with `q=0` is refused. */
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
