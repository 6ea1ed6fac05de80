import { LRUCache } from 'lru-cache'
import { type Clock, MINUTE_MS, SECOND_MS, isPauseActive } from '../clock.ts'
import {
  CatalogCallBlockedError,
  CatalogInvalidError,
  CatalogRedirectError,
  CatalogTooLargeError,
} from '../errors.ts'

/** How long a failure that may pass in a moment is kept. A 429 and a refused key pause every call besides (catalog/call-gate.ts). */
const TRANSIENT_FAILURE_MS: number = 5 * SECOND_MS
/** How long an answer that cannot be used is kept: it will hardly be another one in a moment. */
const UNUSABLE_RESPONSE_MS: number = MINUTE_MS
const UNUSABLE_RESPONSE_ERRORS = [CatalogRedirectError, CatalogTooLargeError, CatalogInvalidError]
/** Up to this share is added, so that products that failed together are not tried together again. */
const JITTER_SHARE = 0.2
const MAX_RETENTION_MS: number = UNUSABLE_RESPONSE_MS * (1 + JITTER_SHARE)
/** Failures that are kept at most; the oldest goes first. By size: `max` would take the room of all of them at once. */
const MAX_FAILURES = 20_000

/** What failed a moment ago: the next visitor does not try it again. */
export type NegativeCache = ReturnType<typeof createNegativeCache>

/** Create an empty cache. `random` gives numbers from 0 to 1, for the jitter. */
export function createNegativeCache(clock: Clock, random: () => number = Math.random) {
  const expiresAtMs = new LRUCache<string, number>({ maxSize: MAX_FAILURES, sizeCalculation: () => 1 })
  return {
    has: (key: string): boolean =>
      isPauseActive({ untilMs: expiresAtMs.get(key) ?? 0, nowMs: clock.nowMs(), maxMs: MAX_RETENTION_MS }),
    /** `error` is `undefined` for an answer that is of no use to the next visitor. A call that was not made is no failure. */
    add(key: string, error: unknown): void {
      if (error instanceof CatalogCallBlockedError) return
      const isUnusable = UNUSABLE_RESPONSE_ERRORS.some((kind) => error instanceof kind)
      const retentionMs =
        (isUnusable ? UNUSABLE_RESPONSE_MS : TRANSIENT_FAILURE_MS) * (1 + JITTER_SHARE * random())
      expiresAtMs.set(key, clock.nowMs() + retentionMs)
    },
    delete: (key: string): boolean => expiresAtMs.delete(key),
  }
}
