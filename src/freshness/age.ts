import { SECOND_MS, isFuture } from '../clock.ts'
import type { FreshnessConfig } from '../config/config.ts'
import type { Channel } from '../catalog/contract.ts'
import type { ChannelList } from '../storage/store.ts'

/**
 * Where an age stands on the three clocks. `gone`: it may not be shown any more. `unknown`: it was dated while a clock was
 * wrong; it is asked for again, and until then shown without prices and without a time.
 */
export type Age = 'fresh' | 'stale' | 'rescue' | 'gone' | 'unknown'

/**
 * - `hit`: younger than `freshSeconds`
 * - `miss`: fetched for this call
 * - `stale`: older than `freshSeconds`; a refresh runs behind, unless a failure is remembered
 * - `rescued`: the catalog failed, is late or may not be called; the stored copy is served
 */
export type CacheStatus = 'hit' | 'miss' | 'stale' | 'rescued'

/** Data of the catalog and their age. Never `undefined`: with nothing usable, `get…` throws. */
export type Cached<T> = Readonly<{
  value: T
  /** When the catalog gave `value`, Unix milliseconds. Readers see it as "prices checked". */
  asOfMs: number
  status: CacheStatus
  /** Until when, Unix milliseconds, a request would get the same; 0: the next one has to look again. */
  validUntilMs: number
}>

/** Judge data of the catalog by their age. */
export function classifyAge(asOfMs: number, nowMs: number, config: FreshnessConfig): Age {
  const ageMs = nowMs - asOfMs
  if (ageMs < config.freshSeconds * SECOND_MS) return isFuture(asOfMs, nowMs) ? 'unknown' : 'fresh'
  if (ageMs <= config.staleSeconds * SECOND_MS) return 'stale'
  return ageMs <= config.rescueSeconds * SECOND_MS ? 'rescue' : 'gone'
}

/** Return the channels of the list, and those that have gone from it so lately that their copies are still shown. */
export function listVisibleChannels(
  { channels, gone }: ChannelList,
  nowMs: number,
  { rescueSeconds }: Pick<FreshnessConfig, 'rescueSeconds'>,
): readonly Channel[] {
  const goneSinceMs = nowMs - rescueSeconds * SECOND_MS
  const recentlyGone = gone.filter(({ goneAtMs }) => goneAtMs >= goneSinceMs).map(({ channel }) => channel)
  return [...channels, ...recentlyGone]
}
