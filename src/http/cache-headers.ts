import { LRUCache } from 'lru-cache'
import { MINUTE_SECONDS, SECOND_MS, isFuture } from '../clock.ts'
import type { FreshnessConfig } from '../config/config.ts'
import type { CacheTagHeader } from '../config/settings.ts'
import type { Headers } from './response.ts'

/** Shortest and longest `max-age` of a box: what is about to expire still spares a minute of requests. */
const MIN_AGE_SECONDS: number = MINUTE_SECONDS
const MAX_AGE_SECONDS: number = 5 * MINUTE_SECONDS

/** How long caches may go on with an old answer: while they renew it, and while this server fails (RFC 5861). */
const WHILE_REVALIDATE_SECONDS = 600
const IF_ERROR_SECONDS = 86_400

/** What the lifetime of an answer depends on beside the time: a few numbers, and nothing of the answer. */
export type Ages = Readonly<{
  asOfMs: number
  /** When the oldest price in it was given; `null`: it has none that could grow too old. */
  oldestPriceMs: number | null
  config: FreshnessConfig
  priceMaxAgeSeconds: number
  /** A grid comes from the copy, so its own freshness does not count down. */
  isGrid: boolean
}>

/**
 * `Cache-Control` of boxes and grids. Never `s-maxage`: it switches the stale directives off in strict caches (RFC 9111,
 * section 5.2.2.10). Both stale times are cut to what is left of the price age.
 */
export function toCacheControl(ages: Ages, nowMs: number): string {
  const { oldestPriceMs } = ages
  const maxAgeSeconds = Math.min(
    MAX_AGE_SECONDS,
    Math.max(MIN_AGE_SECONDS, computeFreshLeftSeconds(ages, nowMs)),
  )
  const priceLeftSeconds =
    oldestPriceMs === null ? Infinity : ages.priceMaxAgeSeconds - computeAgeSeconds(oldestPriceMs, nowMs)
  return toText(maxAgeSeconds, Math.max(0, priceLeftSeconds))
}

/** An answer of unknown age is asked for again soon, as one that is about to expire. */
function computeFreshLeftSeconds({ asOfMs, config, isGrid }: Ages, nowMs: number): number {
  if (isFuture(asOfMs, nowMs)) return 0
  return isGrid ? MAX_AGE_SECONDS : config.freshSeconds - computeAgeSeconds(asOfMs, nowMs)
}

/** Answers are of few ages at a time: all of one age have one text. */
const texts = new LRUCache<number, string>({ max: 1_000 })

function toText(maxAgeSeconds: number, priceLeftSeconds: number): string {
  const whileRevalidate = Math.min(WHILE_REVALIDATE_SECONDS, priceLeftSeconds)
  const ifError = Math.min(IF_ERROR_SECONDS, priceLeftSeconds)
  // Both stale times follow from the longer one.
  const key = maxAgeSeconds * (IF_ERROR_SECONDS + 1) + ifError
  const known = texts.get(key)
  if (known !== undefined) return known
  const text = `public, max-age=${maxAgeSeconds}, stale-while-revalidate=${whileRevalidate}, stale-if-error=${ifError}`
  texts.set(key, text)
  return text
}

function computeAgeSeconds(asOfMs: number, nowMs: number): number {
  return Math.max(0, Math.floor((nowMs - asOfMs) / SECOND_MS))
}

/** `Cache-Status` in the terms of RFC 9211. */
export function toCacheStatus(
  status: 'hit' | 'miss' | 'stale' | 'rescued' | 'unavailable' | 'invalid',
): string {
  switch (status) {
    case 'hit':
      return 'vitrine; hit'
    case 'miss':
      return 'vitrine; fwd=miss; stored'
    case 'stale':
      return 'vitrine; fwd=stale; detail=stale'
    case 'rescued':
      return 'vitrine; fwd=stale; detail=rescued'
    default:
      return `vitrine; fwd=miss; detail=${status}`
  }
}

/** On every tagged answer: whoever purges it empties the cache of all widgets. */
const EVERYTHING = 'vitrine'

/**
 * Whose answer it is. Both come from what was looked up or checked and never from a visitor's text: `channelId` is a uuid in
 * lower case (`null`: of no channel), `gtin` has 14 digits (`null`: not of one product).
 */
export type Tagged = Readonly<{ channelId: string | null; gtin: string | null; isGrid: boolean }>

/** The tags of an answer as a header; `Surrogate-Key` and `xkey` part tags by a space, the others by a comma. `null`: no header. */
export function toCacheTags(header: CacheTagHeader | null, tagged: Tagged): Headers {
  if (header === null) return {}
  const isSpaced = header === 'Surrogate-Key' || header === 'xkey'
  return { [header]: listTags(tagged).join(isSpaced ? ' ' : ',') }
}

function listTags({ channelId, gtin, isGrid }: Tagged): readonly string[] {
  const tags = [EVERYTHING]
  if (channelId !== null) tags.push(`channel-${channelId}`)
  if (gtin !== null) tags.push(`product-${gtin}`)
  if (channelId !== null && gtin !== null) tags.push(`box-${channelId}-${gtin}`)
  if (channelId !== null && isGrid) tags.push(`deals-${channelId}`)
  return tags
}

/** A channel's id in the place where addresses have it. */
const CHANNEL = /^\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\//i

/**
 * The channel that a path below `/fragments` or `/embeds` names, in lower case; `null` where its form is not that of an id. The
 * channel need not exist.
 */
export function findChannelId(path: string): string | null {
  return CHANNEL.exec(path)?.[1]?.toLowerCase() ?? null
}
