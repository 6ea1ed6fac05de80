import { MINUTE_SECONDS, SECOND_MS, isFuture } from '../clock.ts'
import type { CacheTagHeader } from '../config/settings.ts'
import type { Headers } from './response.ts'

/** Shortest and longest `max-age` of a box: what is about to expire still spares a minute of requests. */
const MIN_AGE_SECONDS: number = MINUTE_SECONDS
const MAX_AGE_SECONDS: number = 5 * MINUTE_SECONDS

/** How long caches may go on with an old answer: while they renew it, and while this server fails (RFC 5861). */
const STALE_WHILE_REVALIDATE_SECONDS = 600
const STALE_IF_ERROR_SECONDS = 86_400

/** What the lifetime of an answer depends on beside the time: a few numbers, and nothing of the answer. */
export type CacheLifetime = Readonly<{
  asOfMs: number
  /** When the oldest price in it was given; `null`: it has none that could grow too old. */
  oldestPriceMs: number | null
  freshSeconds: number
  priceMaxAgeSeconds: number
  /** A grid comes from the copy, so its own freshness does not count down. */
  isGrid: boolean
}>

/**
 * `Cache-Control` of boxes and grids. Never `s-maxage`: it switches the stale directives off in strict caches (RFC 9111,
 * section 5.2.2.10). Both stale times are cut to what is left of the price age.
 */
export function toCacheControl(lifetime: CacheLifetime, nowMs: number): string {
  const { oldestPriceMs, priceMaxAgeSeconds } = lifetime
  const remainingFreshSeconds = computeRemainingFreshSeconds(lifetime, nowMs)
  const maxAgeSeconds = Math.min(MAX_AGE_SECONDS, Math.max(MIN_AGE_SECONDS, remainingFreshSeconds))
  const remainingPriceSeconds =
    oldestPriceMs === null
      ? Infinity
      : Math.max(0, priceMaxAgeSeconds - computeAgeSeconds(oldestPriceMs, nowMs))
  const whileRevalidate = Math.min(STALE_WHILE_REVALIDATE_SECONDS, remainingPriceSeconds)
  const ifError = Math.min(STALE_IF_ERROR_SECONDS, remainingPriceSeconds)
  return `public, max-age=${maxAgeSeconds}, stale-while-revalidate=${whileRevalidate}, stale-if-error=${ifError}`
}

/** An answer of unknown age is asked for again soon, as one that is about to expire. */
function computeRemainingFreshSeconds(
  { asOfMs, freshSeconds, isGrid }: CacheLifetime,
  nowMs: number,
): number {
  if (isFuture(asOfMs, nowMs)) return 0
  return isGrid ? MAX_AGE_SECONDS : freshSeconds - computeAgeSeconds(asOfMs, nowMs)
}

function computeAgeSeconds(asOfMs: number, nowMs: number): number {
  return Math.max(0, Math.floor((nowMs - asOfMs) / SECOND_MS))
}

const CACHE_STATUSES = {
  hit: 'vitrine; hit',
  miss: 'vitrine; fwd=miss; stored',
  stale: 'vitrine; fwd=stale; detail=stale',
  rescued: 'vitrine; fwd=stale; detail=rescued',
  unavailable: 'vitrine; fwd=miss; detail=unavailable',
  invalid: 'vitrine; fwd=miss; detail=invalid',
} as const

/** `Cache-Status` in the terms of RFC 9211. */
export function toCacheStatus(status: keyof typeof CACHE_STATUSES): string {
  return CACHE_STATUSES[status]
}

/**
 * Whose response it is. Both come from what was looked up or checked and never from a visitor's text: `channelId` is a uuid in
 * lower case (`null`: of no channel), `gtin` has 14 digits (`null`: not of one product).
 */
type TaggedResource = Readonly<{ channelId: string | null; gtin: string | null; isGrid: boolean }>

/** The tags of a response as a header; `null`: no header. A purge by the tag `vitrine` empties the cache of all widgets. */
export function toCacheTags(
  header: CacheTagHeader | null,
  { channelId, gtin, isGrid }: TaggedResource,
): Headers {
  if (header === null) return {}
  const tags = ['vitrine']
  if (channelId !== null) tags.push(`channel-${channelId}`)
  if (gtin !== null) tags.push(`product-${gtin}`)
  if (channelId !== null && gtin !== null) tags.push(`box-${channelId}-${gtin}`)
  if (channelId !== null && isGrid) tags.push(`deals-${channelId}`)
  const isSpaced = header === 'Surrogate-Key' || header === 'xkey'
  return { [header]: tags.join(isSpaced ? ' ' : ',') }
}

/** A channel's id in the place where addresses have it. */
const CHANNEL_PATH = /^\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\//i

/**
 * The channel that a path below `/fragments` or `/embeds` names, in lower case; `null` where its form is not that of an id. The
 * channel need not exist.
 */
export function findChannelId(path: string): string | null {
  return CHANNEL_PATH.exec(path)?.[1]?.toLowerCase() ?? null
}
