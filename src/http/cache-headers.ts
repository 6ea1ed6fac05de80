import { MINUTE_SECONDS, SECOND_MS, isFuture } from '../clock.ts'
import type { CacheTagHeader } from '../config/settings.ts'
import type { Headers } from './response.ts'

/** Bounds of the `max-age` of a box. A minimum limits the requests for a box that is about to expire. */
const MIN_AGE_SECONDS: number = MINUTE_SECONDS
const MAX_AGE_SECONDS: number = 5 * MINUTE_SECONDS

/** How long caches may serve a stale response during revalidation and during errors (RFC 5861). */
const STALE_WHILE_REVALIDATE_SECONDS = 600
const STALE_IF_ERROR_SECONDS = 86_400

/** Data that determine the lifetime of a response. */
export type CacheLifetime = Readonly<{
  asOfMs: number
  /** Time of the oldest price; `null`: no price can expire. */
  oldestPriceMs: number | null
  /** When the first sale ends, Unix milliseconds; `null`: none does. */
  saleEndMs: number | null
  freshSeconds: number
  priceMaxAgeSeconds: number
  /** A grid is read from the copy, so its freshness does not count down. */
  isGrid: boolean
}>

/**
 * `s-maxage` would disable the stale directives (RFC 9111, 5.2.2.10). The price age limits both stale times. No time reaches
 * beyond the end of a sale.
 */
export function toCacheControl(lifetime: CacheLifetime, nowMs: number): string {
  const { oldestPriceMs, saleEndMs, priceMaxAgeSeconds } = lifetime
  const remainingFreshSeconds = computeRemainingFreshSeconds(lifetime, nowMs)
  const remainingSaleSeconds =
    saleEndMs === null ? Infinity : Math.max(0, Math.floor((saleEndMs - nowMs) / SECOND_MS))
  const maxAgeSeconds = Math.min(
    MAX_AGE_SECONDS,
    Math.max(MIN_AGE_SECONDS, remainingFreshSeconds),
    remainingSaleSeconds,
  )
  const remainingPriceSeconds =
    oldestPriceMs === null
      ? Infinity
      : Math.max(0, priceMaxAgeSeconds - computeAgeSeconds(oldestPriceMs, nowMs))
  const longestStaleSeconds = Math.min(remainingPriceSeconds, remainingSaleSeconds - maxAgeSeconds)
  const whileRevalidate = Math.min(STALE_WHILE_REVALIDATE_SECONDS, longestStaleSeconds)
  const ifError = Math.min(STALE_IF_ERROR_SECONDS, longestStaleSeconds)
  return `public, max-age=${maxAgeSeconds}, stale-while-revalidate=${whileRevalidate}, stale-if-error=${ifError}`
}

/** If the age is unknown, 0 makes caches revalidate soon. */
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

/** Return `Cache-Status` (RFC 9211). */
export function toCacheStatus(status: keyof typeof CACHE_STATUSES): string {
  return CACHE_STATUSES[status]
}

/** Validated ids: `channelId` is a lower-case UUID or `null`; `gtins` have 14 digits. */
type TaggedResource = Readonly<{ channelId: string | null; gtins: readonly string[]; isGrid: boolean }>

/** Return the purge tags as a header. All widgets share the tag `vitrine`. */
export function toCacheTags(
  header: CacheTagHeader | null,
  { channelId, gtins, isGrid }: TaggedResource,
): Headers {
  if (header === null) return {}
  const tags = ['vitrine']
  if (channelId !== null) tags.push(`channel-${channelId}`)
  for (const gtin of gtins) {
    tags.push(`product-${gtin}`)
    if (channelId !== null) tags.push(`box-${channelId}-${gtin}`)
  }
  if (channelId !== null && isGrid) tags.push(`deals-${channelId}`)
  const isSpaced = header === 'Surrogate-Key' || header === 'xkey'
  return { [header]: tags.join(isSpaced ? ' ' : ',') }
}

const CHANNEL_PATH = /^\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\//i

/** Return the channel id in a path below the prefix of a surface, in lower case; `null`: no UUID. The channel may not exist. */
export function findChannelId(path: string): string | null {
  return CHANNEL_PATH.exec(path)?.[1]?.toLowerCase() ?? null
}
