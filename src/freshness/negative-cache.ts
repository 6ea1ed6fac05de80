import { LRUCache } from 'lru-cache'
import { type Clock, MINUTE_MS, SECOND_MS, isPauseOn } from '../clock.ts'
import {
  CatalogCallBlockedError,
  CatalogInvalidError,
  CatalogRedirectError,
  CatalogTooLargeError,
} from '../errors.ts'

/** How long a failure that may pass in a moment is kept. A 429 and a refused key pause every call besides (catalog/call-gate.ts). */
const PASSING_MS: number = 5 * SECOND_MS
/** How long an answer that cannot be used is kept: it will hardly be another one in a moment. */
const UNUSABLE_MS: number = MINUTE_MS
const UNUSABLE = [CatalogRedirectError, CatalogTooLargeError, CatalogInvalidError]
/** Up to this share is added, so that products that failed together are not tried together again. */
const JITTER_SHARE = 0.2
const LONGEST_MS: number = UNUSABLE_MS * (1 + JITTER_SHARE)
/** Failures that are kept at most; the oldest goes first. By size: `max` would take the room of all of them at once. */
const MAX_FAILURES = 20_000

/** What failed a moment ago: the next visitor does not try it again. */
export type NegativeCache = ReturnType<typeof createNegativeCache>

/** Create an empty cache. `random` gives numbers from 0 to 1, for the jitter. */
export function createNegativeCache(clock: Clock, random: () => number = Math.random) {
  const untilMs = new LRUCache<string, number>({ maxSize: MAX_FAILURES, sizeCalculation: () => 1 })
  return {
    has: (key: string): boolean =>
      isPauseOn({ untilMs: untilMs.get(key) ?? 0, nowMs: clock.nowMs(), longestMs: LONGEST_MS }),
    /** `error` is `undefined` for an answer that is of no use to the next visitor. A call that was not made is no failure. */
    add(key: string, error: unknown): void {
      if (error instanceof CatalogCallBlockedError) return
      const isUnusable = UNUSABLE.some((kind) => error instanceof kind)
      const keptMs = (isUnusable ? UNUSABLE_MS : PASSING_MS) * (1 + JITTER_SHARE * random())
      untilMs.set(key, clock.nowMs() + keptMs)
    },
    delete: (key: string): boolean => untilMs.delete(key),
  }
}
