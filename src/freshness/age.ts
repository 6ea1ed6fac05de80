import { SECOND_MS, isFuture } from '../clock.ts'
import type { FreshnessConfig } from '../config/config.ts'
import type { Channel } from '../catalog/contract.ts'
import type { ChannelList } from '../storage/store.ts'

/** `gone`: too old to show. `unknown`: dated by a wrong clock; shown without prices and time until it is fetched again. */
export type Age = 'fresh' | 'stale' | 'rescue' | 'gone' | 'unknown'

/**
 * - `hit`: younger than `freshSeconds`
 * - `miss`: fetched for this request
 * - `stale`: older than `freshSeconds`; refreshed in the background, unless a recent call failed or calls are not allowed
 * - `rescued`: the stored copy, because the catalog failed, is late or must not be called
 */
export type CacheStatus = 'hit' | 'miss' | 'stale' | 'rescued'

/** Catalog data with its age. */
export type Cached<T> = Readonly<{
  value: T
  /** When the catalog returned `value`, Unix milliseconds. Shown to readers as "prices checked". */
  asOfMs: number
  status: CacheStatus
  /** Until when `value` can be reused without a new check, Unix milliseconds; 0: not at all. */
  validUntilMs: number
}>

/** Maximum delay before a finished walk is visible, even one of another process: to grids, and to boxes of products that were missing. */
export const WALK_VISIBLE_WITHIN_MS: number = SECOND_MS

/** How long old data are reused while no call may replace them, at most until the known end of what prevents it. */
export const BLOCKED_VALID_MS: number = 30 * SECOND_MS

/** Compute when data of a time get another status, Unix milliseconds. */
export function computeStatusEndMs(
  asOfMs: number,
  status: CacheStatus,
  { freshSeconds, staleSeconds, rescueSeconds }: FreshnessConfig,
): number {
  if (status === 'hit' || status === 'miss') return asOfMs + freshSeconds * SECOND_MS
  return asOfMs + (status === 'stale' ? staleSeconds : rescueSeconds) * SECOND_MS + 1
}

export function classifyAge(asOfMs: number, nowMs: number, config: FreshnessConfig): Age {
  const ageMs = nowMs - asOfMs
  if (ageMs < config.freshSeconds * SECOND_MS) return isFuture(asOfMs, nowMs) ? 'unknown' : 'fresh'
  if (ageMs <= config.staleSeconds * SECOND_MS) return 'stale'
  return ageMs <= config.rescueSeconds * SECOND_MS ? 'rescue' : 'gone'
}

/** Return the listed channels, and those removed so recently that their copies are still shown. */
export function listVisibleChannels(
  { channels, gone }: ChannelList,
  nowMs: number,
  { rescueSeconds }: Pick<FreshnessConfig, 'rescueSeconds'>,
): readonly Channel[] {
  const goneSinceMs = nowMs - rescueSeconds * SECOND_MS
  const recentlyGone = gone.filter(({ goneAtMs }) => goneAtMs >= goneSinceMs).map(({ channel }) => channel)
  return [...channels, ...recentlyGone]
}
