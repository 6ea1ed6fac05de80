import type { IncomingMessage, ServerResponse } from 'node:http'
import { LRUCache } from 'lru-cache'
import { type Clock, SECOND_MS, isFuture } from '../clock.ts'
import type { CacheBounds } from '../lib/lru-cache.ts'
import { type CacheLifetime, toCacheControl } from './cache-headers.ts'
import {
  type Encoding,
  type Headers,
  BODY_HEADERS,
  chooseEncoding,
  isEtagMatch,
  listHeaders,
} from './response.ts'
import type { BodyForm, WidgetBodies } from './widget-bodies.ts'

/** Limits of the targets that are cached for each response. */
const TARGETS_PER_RESPONSE = 2
const MAX_TARGET_CHARACTERS = 256
/** Memory of a response in addition to its bodies and own headers: key, targets and map entries. */
const RESPONSE_BYTES = 1_024
/** The largest part of the memory that responses get. Bodies get the rest. */
const RESPONSES_SHARE = 1 / 4

/** From this step back on, the clock was set, and not only corrected. */
const CLOCK_STEP_MS: number = SECOND_MS

/** Alternating names and values for `writeHead`. Many responses share one block. */
export type HeaderBlock = Readonly<{ full: readonly string[]; notModified: readonly string[] }>

/** A response without the headers that depend on the current time, and without the id of the placement. */
export type PreparedResponse = Readonly<{
  headers: HeaderBlock
  /** Headers of this response only: alternating names and values. */
  ownHeaders: readonly string[]
  /** `null`: no revalidation. */
  etag: string | null
  /** Whether the bodies are compressed for clients that accept it. */
  isCompressed: boolean
}>

/** A response that may be sent until `expiresAtMs`, Unix milliseconds. */
export type CachedResponse = PreparedResponse &
  Readonly<{
    /** Of its bodies. */
    digest: string
    /** Larger for responses of an address whose data were read later. */
    sequence: number
    isShown: boolean
    lifetime: CacheLifetime
    cacheStatus: string
    expiresAtMs: number
    /** Whether there may be newer data before that time. */
    isOutdated(): boolean
    countResponse(): void
    /** Count the products of the response for a placement, unless no reader sees it. */
    countProducts(request: IncomingMessage, sub: string | null): void
  }>

/** The address of a widget without the id of the placement, and that id. */
export type ResponseKey = Readonly<{ key: string; sub: string | null }>

type Exchange = Readonly<{ request: IncomingMessage; response: ServerResponse }>

/** Responses by cache key (normalized address) and by request target. */
export type ResponseCache = Readonly<{
  /** Send the cached response of exactly this target. `false`: nothing was sent. */
  sendByTarget(request: IncomingMessage, response: ServerResponse): boolean
  /** Send the cached response of a key and add the target to it. `false`: nothing was sent. */
  sendByKey(key: ResponseKey, exchange: Exchange): boolean
  /** Send a response. `body`: `null` if the client has it. */
  send(
    cached: CachedResponse,
    details: Exchange & Readonly<{ sub: string | null; body: string | null }>,
  ): void
  /** Find a response that is current, but may not have been compressed as a client needs it. */
  findCurrent(key: string): CachedResponse | undefined
  /** Find the last response, which may have expired. */
  findLast(key: string): CachedResponse | undefined
  /** Add a response, unless one with data that were read later is in the cache. */
  set(key: string, cached: CachedResponse): void
  /** Find bodies by their digest: also those of responses that have expired, or were evicted. */
  findBodies(digest: string): WidgetBodies | undefined
  /** Add bodies, or compute their size again because one was made. */
  setBodies(digest: string, bodies: WidgetBodies): void
  /** Let requests for a target use the response of a key. */
  addTarget(key: ResponseKey, target: string): void
  entryCount(): number
  byteCount(): number
}>

/** Create the cache of one process. `maxEntries` bounds the responses; bodies are bounded only by their bytes. */
export function createResponseCache({ maxEntries, maxBytes }: CacheBounds, clock: Clock): ResponseCache {
  const maxResponseBytes = Math.ceil(Math.min(maxBytes * RESPONSES_SHARE, maxEntries * 2 * RESPONSE_BYTES))
  const responses = new LRUCache<string, CachedResponse>({
    max: maxEntries,
    maxSize: maxResponseBytes,
    sizeCalculation: ({ ownHeaders }, key) =>
      ownHeaders.reduce((sum, text) => sum + text.length, key.length + RESPONSE_BYTES),
  })
  const bodiesByDigest = new LRUCache<string, WidgetBodies>({
    maxSize: Math.max(1, maxBytes - maxResponseBytes),
    sizeCalculation: (bodies) => bodies.byteCount(),
  })
  const keys = new LRUCache<string, ResponseKey>({ max: maxEntries * TARGETS_PER_RESPONSE })
  const addTarget = (key: ResponseKey, target: string): void => {
    if (target.length <= MAX_TARGET_CHARACTERS) keys.set(target, key)
  }
  // Expired responses must not become current again: newer data may have been shown since.
  const readClock = watchClock(clock, () => responses.clear())
  const findCurrent = (key: string): CachedResponse | undefined => {
    const nowMs = readClock()
    const cached = responses.get(key)
    if (cached === undefined || nowMs >= cached.expiresAtMs) return undefined
    return isFuture(cached.lifetime.asOfMs, nowMs) || cached.isOutdated() ? undefined : cached
  }
  const send: ResponseCache['send'] = (cached, { request, response, sub, body }) => {
    cached.countResponse()
    cached.countProducts(request, sub)
    sendPreparedResponse(request, response, cached, {
      cacheControl: toCacheControl(cached.lifetime, clock.nowMs()),
      cacheStatus: cached.cacheStatus,
      sub,
      encoding: findEncoding(request, cached),
      body,
    })
  }
  const setBodies = (digest: string, bodies: WidgetBodies): void => {
    // The size of a value that is set again would not be computed.
    bodiesByDigest.delete(digest)
    bodiesByDigest.set(digest, bodies)
  }
  const findBody = (digest: string, form: BodyForm): string | undefined => {
    const bodies = bodiesByDigest.get(digest)
    const known = bodies?.find(form)
    if (bodies === undefined || known !== undefined) return known
    const made = bodies.makeNow(form)
    if (made !== undefined && form.encoding !== null) setBodies(digest, bodies)
    return made
  }
  const sendByKey: ResponseCache['sendByKey'] = ({ key, sub }, { request, response }) => {
    const cached = findCurrent(key)
    if (cached === undefined) return false
    const form = { sub, encoding: findEncoding(request, cached) }
    const body = isBodyKnown(request, cached.etag, sub) ? null : findBody(cached.digest, form)
    if (body === undefined) return false
    send(cached, { request, response, sub, body })
    return true
  }
  return {
    sendByTarget(request, response) {
      const { method, url = '' } = request
      if (method !== 'GET' && method !== 'HEAD') return false
      const key = keys.get(url)
      return key !== undefined && sendByKey(key, { request, response })
    },
    sendByKey,
    send,
    findCurrent,
    findLast: (key) => responses.get(key),
    set(key, cached) {
      const { sequence = 0 } = responses.get(key) ?? {}
      if (cached.sequence >= sequence) responses.set(key, cached)
    },
    findBodies: (digest) => bodiesByDigest.get(digest),
    setBodies,
    addTarget,
    entryCount: () => responses.size,
    byteCount: () => responses.calculatedSize + bodiesByDigest.calculatedSize,
  }
}

/** Return a function that reads the clock, and calls `onSetBack` first if the clock was set back since the last time. */
function watchClock(clock: Clock, onSetBack: () => void): () => number {
  let latestMs = -Infinity
  return () => {
    const nowMs = clock.nowMs()
    if (latestMs - nowMs > CLOCK_STEP_MS) onSetBack()
    latestMs = nowMs
    return nowMs
  }
}

export function toHeaderBlock(headers: Headers): HeaderBlock {
  const all = listHeaders(headers)
  return { full: all.flat(), notModified: all.filter(([name]) => !BODY_HEADERS.has(name)).flat() }
}

/** Send a prepared response. `body`: `null` if the client has it. */
export function sendPreparedResponse(
  request: IncomingMessage,
  response: ServerResponse,
  { headers, ownHeaders, etag: plainEtag }: PreparedResponse,
  details: Readonly<{ cacheControl: string; cacheStatus: string; body: string | null }> & BodyForm,
): void {
  const { cacheControl, cacheStatus, sub, encoding, body } = details
  const etag = toEtagOfSub(plainEtag, sub)
  const shared = body === null ? headers.notModified : headers.full
  const list = shared.slice()
  list.push('Cache-Control', cacheControl, 'Cache-Status', cacheStatus, ...ownHeaders)
  if (etag !== null) list.push('ETag', etag)
  if (body === null) {
    response.writeHead(304, list)
    response.end()
    return
  }
  if (encoding !== null) list.push('Content-Encoding', encoding)
  list.push('Content-Length', String(body.length))
  response.writeHead(200, list)
  if (request.method === 'HEAD') response.end()
  else response.end(body, 'latin1')
}

/** Whether the client has the body of a response. */
export function isBodyKnown(
  { headers }: IncomingMessage,
  plainEtag: string | null,
  sub: string | null,
): boolean {
  const etag = toEtagOfSub(plainEtag, sub)
  return etag !== null && isEtagMatch(headers['if-none-match'], etag)
}

/** Return the ETag of a response with the id of a placement; `null`: without one. */
function toEtagOfSub(etag: string | null, sub: string | null): string | null {
  return etag === null || sub === null ? etag : `${etag.slice(0, -1)}.${sub}"`
}

/** Return the encoding of a response. Fragments and newsletters are never compressed. */
export function findEncoding(
  { headers }: IncomingMessage,
  { isCompressed }: Pick<PreparedResponse, 'isCompressed'>,
): Encoding {
  return isCompressed ? chooseEncoding(headers['accept-encoding']) : null
}
