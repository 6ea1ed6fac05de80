import type { IncomingMessage, ServerResponse } from 'node:http'
import { LRUCache } from 'lru-cache'
import { type Clock, isFuture } from '../clock.ts'
import type { CacheBounds } from '../lib/lru-cache.ts'
import { type CacheLifetime, toCacheControl } from './cache-headers.ts'
import { type Bodies, type Headers, BODY_HEADERS, isEtagMatch, listHeaders, pickBody } from './response.ts'

/** Limits of the targets that are cached for each response. */
const TARGETS_PER_RESPONSE = 2
const MAX_TARGET_CHARACTERS = 256
/** Memory of a response in addition to its body and own headers: key, targets and map entries. */
const OVERHEAD_BYTES = 1_024

/** Alternating names and values for `writeHead`. Many responses share one block. */
export type HeaderBlock = Readonly<{ full: readonly string[]; notModified: readonly string[] }>

/** A response without the headers that depend on the current time. */
export type PreparedResponse = Readonly<{
  headers: HeaderBlock
  /** Headers of this response only: alternating names and values. */
  ownHeaders: readonly string[]
  /** `null`: no revalidation. */
  etag: string | null
  bodies: Bodies
}>

/** A response that may be sent until `expiresAtMs`, Unix milliseconds. */
export type CachedResponse = PreparedResponse &
  Readonly<{
    /** Equal if the bodies of one address are equal. */
    digest: string
    isShown: boolean
    lifetime: CacheLifetime
    cacheStatus: string
    expiresAtMs: number
    countResponse(): void
  }>

/** `target`: the request target as it was received. */
type Exchange = Readonly<{ request: IncomingMessage; response: ServerResponse; target: string }>

/** Responses by cache key (normalized address) and by request target. */
export type ResponseCache = Readonly<{
  /** Send the cached response of exactly this target. `false`: nothing was sent. */
  sendByTarget(request: IncomingMessage, response: ServerResponse): boolean
  /** Send the cached response of a key and add the target to it. `false`: nothing was sent. */
  sendByKey(key: string, exchange: Exchange): boolean
  /** Find a response that may have expired, because its bodies may be reused. */
  find(key: string): CachedResponse | undefined
  set(key: string, cached: CachedResponse, target: string): void
  entryCount(): number
  byteCount(): number
}>

/** Create the cache of one process. Its bounds include bodies and headers. */
export function createResponseCache(bounds: CacheBounds, clock: Clock): ResponseCache {
  const responses = new LRUCache<string, CachedResponse>({
    max: bounds.maxEntries,
    maxSize: bounds.maxBytes,
    sizeCalculation: computeSizeBytes,
  })
  const keys = new LRUCache<string, string>({ max: bounds.maxEntries * TARGETS_PER_RESPONSE })
  const addTarget = (key: string, target: string): void => {
    if (target.length <= MAX_TARGET_CHARACTERS) keys.set(target, key)
  }
  const sendIfCurrent = (key: string, request: IncomingMessage, response: ServerResponse): boolean => {
    const cached = responses.get(key)
    const nowMs = clock.nowMs()
    // The expiry is meaningless if the clock was set back.
    if (cached === undefined || nowMs >= cached.expiresAtMs || isFuture(cached.lifetime.asOfMs, nowMs))
      return false
    cached.countResponse()
    const cacheControl = toCacheControl(cached.lifetime, nowMs)
    sendPreparedResponse(request, response, cached, { cacheControl, cacheStatus: cached.cacheStatus })
    return true
  }
  return {
    sendByTarget(request, response) {
      const { method, url = '' } = request
      if (method !== 'GET' && method !== 'HEAD') return false
      const key = keys.get(url)
      return key !== undefined && sendIfCurrent(key, request, response)
    },
    sendByKey(key, { request, response, target }) {
      if (!sendIfCurrent(key, request, response)) return false
      addTarget(key, target)
      return true
    },
    find: (key) => responses.get(key),
    set(key, cached, target) {
      responses.set(key, cached)
      addTarget(key, target)
    },
    entryCount: () => responses.size,
    byteCount: () => responses.calculatedSize,
  }
}

function computeSizeBytes({ bodies: { identity, gzip = '', br = '' }, ownHeaders }: CachedResponse): number {
  const ownBytes = ownHeaders.reduce((sum, text) => sum + text.length, 0)
  return identity.length + gzip.length + br.length + ownBytes + OVERHEAD_BYTES
}

export function toHeaderBlock(headers: Headers): HeaderBlock {
  const all = listHeaders(headers)
  return { full: all.flat(), notModified: all.filter(([name]) => !BODY_HEADERS.has(name)).flat() }
}

/** Send a prepared response, as 304 if the client has it, in the best encoding that it accepts. */
export function sendPreparedResponse(
  request: IncomingMessage,
  response: ServerResponse,
  { headers, ownHeaders, etag, bodies }: PreparedResponse,
  { cacheControl, cacheStatus }: Readonly<{ cacheControl: string; cacheStatus: string }>,
): void {
  const isNotModified = etag !== null && isEtagMatch(request.headers['if-none-match'], etag)
  const shared = isNotModified ? headers.notModified : headers.full
  const list = shared.slice()
  list.push('Cache-Control', cacheControl, 'Cache-Status', cacheStatus, ...ownHeaders)
  if (etag !== null) list.push('ETag', etag)
  if (isNotModified) {
    response.writeHead(304, list)
    response.end()
    return
  }
  const { encoding, body } = pickBody(bodies, request.headers['accept-encoding'])
  if (encoding !== null) list.push('Content-Encoding', encoding)
  list.push('Content-Length', String(body.length))
  response.writeHead(200, list)
  if (request.method === 'HEAD') response.end()
  else response.end(body, 'latin1')
}
