import type { IncomingMessage, ServerResponse } from 'node:http'
import { LRUCache } from 'lru-cache'
import { type Clock, MINUTE_MS, isFuture, isPauseActive } from '../clock.ts'
import type { CacheBounds } from '../lib/lru-cache.ts'
import { type SubTemplate, fillSubs } from '../lib/sub-template.ts'
import { type CacheLifetime, toCacheControl } from './cache-headers.ts'
import {
  type Encoding,
  type Headers,
  BODY_HEADERS,
  chooseEncoding,
  compressNow,
  isEtagMatch,
  listHeaders,
} from './response.ts'

/** Limits of the targets that are cached for each response. */
const TARGETS_PER_RESPONSE = 2
const MAX_TARGET_CHARACTERS = 256
/** Memory of a response in addition to its body and own headers: key, targets and map entries. */
const OVERHEAD_BYTES = 1_024

/** Longest reuse of a response: the largest `VITRINE_FRESH_SECONDS`. */
const MAX_REUSE_MS: number = 5 * MINUTE_MS

/** Alternating names and values for `writeHead`. Many responses share one block. */
export type HeaderBlock = Readonly<{ full: readonly string[]; notModified: readonly string[] }>

/** A body without the id of the placement in each encoding, as bytes (latin1); `template` has slots for the id. */
export type WidgetBodies = Readonly<{ template: SubTemplate; gzip?: string; br?: string }>

/** A response without the headers that depend on the current time, and without the id of the placement. */
export type PreparedResponse = Readonly<{
  headers: HeaderBlock
  /** Headers of this response only: alternating names and values. */
  ownHeaders: readonly string[]
  /** `null`: no revalidation. */
  etag: string | null
  bodies: WidgetBodies
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
    /** Count the products of the response for a placement, unless no reader sees it. */
    countProducts(request: IncomingMessage, sub: string | null): void
  }>

/** The address of a widget without the id of the placement, and that id. */
export type ResponseKey = Readonly<{ key: string; sub: string | null }>

/** `target`: the request target as it was received. */
type Exchange = Readonly<{ request: IncomingMessage; response: ServerResponse; target: string }>

/** Responses by cache key (normalized address) and by request target. */
export type ResponseCache = Readonly<{
  /** Send the cached response of exactly this target. `false`: nothing was sent. */
  sendByTarget(request: IncomingMessage, response: ServerResponse): boolean
  /** Send the cached response of a key and add the target to it. `false`: nothing was sent. */
  sendByKey(key: ResponseKey, exchange: Exchange): boolean
  /** Find a response that may have expired, because its bodies may be reused. */
  find(key: string): CachedResponse | undefined
  set(key: ResponseKey, cached: CachedResponse, target: string): void
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
  const keys = new LRUCache<string, ResponseKey>({ max: bounds.maxEntries * TARGETS_PER_RESPONSE })
  const addTarget = (key: ResponseKey, target: string): void => {
    if (target.length <= MAX_TARGET_CHARACTERS) keys.set(target, key)
  }
  const sendIfCurrent = (
    { key, sub }: ResponseKey,
    request: IncomingMessage,
    response: ServerResponse,
  ): boolean => {
    const cached = responses.get(key)
    const nowMs = clock.nowMs()
    if (cached === undefined) return false
    // The expiry is meaningless if the clock was set back.
    const isCurrent = isPauseActive({ untilMs: cached.expiresAtMs, nowMs, maxMs: MAX_REUSE_MS })
    if (!isCurrent || isFuture(cached.lifetime.asOfMs, nowMs)) return false
    cached.countResponse()
    cached.countProducts(request, sub)
    const cacheControl = toCacheControl(cached.lifetime, nowMs)
    sendPreparedResponse(request, response, cached, { cacheControl, cacheStatus: cached.cacheStatus, sub })
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
      responses.set(key.key, cached)
      addTarget(key, target)
    },
    entryCount: () => responses.size,
    byteCount: () => responses.calculatedSize,
  }
}

/** Memory of a slot. */
const SLOT_BYTES = 100

function computeSizeBytes({ bodies, ownHeaders }: CachedResponse, key: string): number {
  const { template, gzip = '', br = '' } = bodies
  const slotBytes = template.slots.length * SLOT_BYTES
  const ownBytes = ownHeaders.reduce((sum, text) => sum + text.length, slotBytes)
  return key.length + template.text.length + gzip.length + br.length + ownBytes + OVERHEAD_BYTES
}

export function toHeaderBlock(headers: Headers): HeaderBlock {
  const all = listHeaders(headers)
  return { full: all.flat(), notModified: all.filter(([name]) => !BODY_HEADERS.has(name)).flat() }
}

/** Send a prepared response, as 304 if the client has it, in the best encoding that it accepts. */
export function sendPreparedResponse(
  request: IncomingMessage,
  response: ServerResponse,
  { headers, ownHeaders, etag: plainEtag, bodies }: PreparedResponse,
  details: Readonly<{ cacheControl: string; cacheStatus: string; sub: string | null }>,
): void {
  const { cacheControl, cacheStatus, sub } = details
  const etag = toEtagOfSub(plainEtag, sub)
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
  const { encoding, body } = toBody(bodies, sub, request.headers['accept-encoding'])
  if (encoding !== null) list.push('Content-Encoding', encoding)
  list.push('Content-Length', String(body.length))
  response.writeHead(200, list)
  if (request.method === 'HEAD') response.end()
  else response.end(body, 'latin1')
}

/** Return the ETag of a response with the id of a placement; `null`: without one. */
export function toEtagOfSub(etag: string | null, sub: string | null): string | null {
  return etag === null || sub === null ? etag : `${etag.slice(0, -1)}.${sub}"`
}

/** Return the body of a response. One with the id of a placement is compressed anew. Fragments and newsletters are not compressed. */
function toBody(
  { template, gzip, br }: WidgetBodies,
  sub: string | null,
  acceptEncoding: string | undefined,
): Readonly<{ encoding: Encoding; body: string }> {
  const encoding = br === undefined ? null : chooseEncoding(acceptEncoding)
  if (sub !== null && template.slots.length > 0) {
    const text = fillSubs(template, sub)
    return { encoding, body: encoding === null ? text : compressNow(text, encoding) }
  }
  const body = encoding === null ? undefined : { gzip, br }[encoding]
  return body === undefined ? { encoding: null, body: template.text } : { encoding, body }
}
