import type { IncomingMessage, ServerResponse } from 'node:http'
import { LRUCache } from 'lru-cache'
import { type Clock, MINUTE_MS, isFuture, isPauseActive } from '../clock.ts'
import type { CacheBounds } from '../lib/lru-cache.ts'
import { type SubTemplate, fillSubs } from '../lib/sub-template.ts'
import { type CacheLifetime, toCacheControl } from './cache-headers.ts'
import {
  type Compression,
  type Encoding,
  type Headers,
  BODY_HEADERS,
  chooseEncoding,
  compress,
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

/**
 * Bodies as bytes (latin1), which Node sends with the headers in one write. `template` has slots for the id of the placement.
 * `compressed`: without an id, by encoding, added when a client first needs one; `null`: the response is never compressed.
 */
export type WidgetBodies = Readonly<{ template: SubTemplate; compressed: Map<Compression, string> | null }>

/** What a response is made of besides its data: the id of the placement and the encoding. */
export type BodyForm = Readonly<{ sub: string | null; encoding: Encoding }>

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
  /** Send a response of the cache. `body`: `null` if the client has it. */
  send(
    cached: CachedResponse,
    details: Exchange & Readonly<{ sub: string | null; body: string | null }>,
  ): void
  /** Find a response that is current, but may not have been compressed as a client needs it. */
  findCurrent(key: string): CachedResponse | undefined
  /** Find a response that may have expired, because its bodies may be reused. */
  find(key: string): CachedResponse | undefined
  /** Add a response, unless one with data that were read later is in the cache. */
  set(key: string, cached: CachedResponse): void
  /** Compute the size of a response again, because a compressed body was added. */
  recount(key: string): void
  /** Let requests for a target use the response of a key. */
  addTarget(key: ResponseKey, target: string): void
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
  const findCurrent = (key: string): CachedResponse | undefined => {
    const cached = responses.get(key)
    const nowMs = clock.nowMs()
    if (cached === undefined) return undefined
    // The expiry is meaningless if the clock was set back.
    const isCurrent = isPauseActive({ untilMs: cached.expiresAtMs, nowMs, maxMs: MAX_REUSE_MS })
    return isCurrent && !isFuture(cached.lifetime.asOfMs, nowMs) && !cached.isOutdated() ? cached : undefined
  }
  const send: ResponseCache['send'] = (cached, { request, response, sub, body }) => {
    cached.countResponse()
    cached.countProducts(request, sub)
    sendPreparedResponse(request, response, cached, {
      cacheControl: toCacheControl(cached.lifetime, clock.nowMs()),
      cacheStatus: cached.cacheStatus,
      sub,
      encoding: findEncoding(request, cached.bodies),
      body,
    })
  }
  const sendByKey: ResponseCache['sendByKey'] = ({ key, sub }, { request, response }) => {
    const cached = findCurrent(key)
    if (cached === undefined) return false
    const form = { sub, encoding: findEncoding(request, cached.bodies) }
    const body = isBodyKnown(request, cached.etag, sub) ? null : findBodyNow(cached.bodies, form)
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
    find: (key) => responses.get(key),
    set(key, cached) {
      const { sequence = 0 } = responses.get(key) ?? {}
      if (cached.sequence >= sequence) responses.set(key, cached)
    },
    recount(key) {
      const cached = responses.get(key)
      if (cached !== undefined) responses.set(key, { ...cached })
    },
    addTarget,
    entryCount: () => responses.size,
    byteCount: () => responses.calculatedSize,
  }
}

/** Memory of a slot. */
const SLOT_BYTES = 100

function computeSizeBytes({ bodies, ownHeaders }: CachedResponse, key: string): number {
  const { template, compressed } = bodies
  const slotBytes = template.slots.length * SLOT_BYTES
  const ownBytes = ownHeaders.reduce((sum, text) => sum + text.length, slotBytes)
  const compressedBytes = [...(compressed?.values() ?? [])].reduce((sum, body) => sum + body.length, 0)
  return key.length + template.text.length + compressedBytes + ownBytes + OVERHEAD_BYTES
}

export function toHeaderBlock(headers: Headers): HeaderBlock {
  const all = listHeaders(headers)
  return { full: all.flat(), notModified: all.filter(([name]) => !BODY_HEADERS.has(name)).flat() }
}

/** Send a prepared response. `body`: `null` if the client has it. */
export function sendPreparedResponse(
  request: IncomingMessage,
  response: ServerResponse,
  { headers, ownHeaders, etag: plainEtag }: Omit<PreparedResponse, 'bodies'>,
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
function findEncoding(
  { headers }: IncomingMessage,
  { compressed }: Pick<WidgetBodies, 'compressed'>,
): Encoding {
  return compressed === null ? null : chooseEncoding(headers['accept-encoding'])
}

/** A larger body with the id of a placement is compressed in the thread pool, so that it delays no other request. */
const MAX_COMPRESSED_NOW_BYTES = 32_768

/** Find a body that need not be compressed. */
export function findBody(bodies: WidgetBodies, { sub, encoding }: BodyForm): string | undefined {
  if (encoding === null) return fillSubs(bodies.template, sub)
  return isFilled(bodies, sub) ? undefined : bodies.compressed?.get(encoding)
}

/** Find a body of a cached response, and compress a small one. */
function findBodyNow(bodies: WidgetBodies, form: BodyForm): string | undefined {
  const { template } = bodies
  const { sub, encoding } = form
  const isSmall = isFilled(bodies, sub) && template.text.length <= MAX_COMPRESSED_NOW_BYTES
  return encoding !== null && isSmall
    ? compressNow(Buffer.from(fillSubs(template, sub), 'latin1'), encoding).toString('latin1')
    : findBody(bodies, form)
}

/** Compress a body. One without an id is kept for other requests. */
export async function compressBody(
  bodies: WidgetBodies,
  sub: string | null,
  encoding: Compression,
): Promise<string> {
  const isOwn = isFilled(bodies, sub)
  const body = await compress(fillSubs(bodies.template, sub), encoding, isOwn)
  if (!isOwn) bodies.compressed?.set(encoding, body)
  return body
}

/** Whether a body has the id of a placement, so that no other response has it. */
function isFilled({ template }: WidgetBodies, sub: string | null): boolean {
  return sub !== null && template.slots.length > 0
}
