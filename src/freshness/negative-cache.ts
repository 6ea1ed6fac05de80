import { LRUCache } from 'lru-cache'
import { type Clock, MINUTE_MS, SECOND_MS, isPauseActive } from '../clock.ts'
import {
  CatalogCallBlockedError,
  CatalogInvalidError,
  CatalogRedirectError,
  CatalogTooLargeError,
} from '../errors.ts'

/** Retention of a transient failure. A 429 or a refused key also pauses every call (catalog/call-policy.ts). */
const TRANSIENT_FAILURE_MS: number = 5 * SECOND_MS
/** Retention of an unusable response, which is unlikely to change soon. */
const UNUSABLE_RESPONSE_MS: number = MINUTE_MS
const UNUSABLE_RESPONSE_ERRORS = [CatalogRedirectError, CatalogTooLargeError, CatalogInvalidError]
/** Jitter of up to this share, so that products that failed together are not retried together. */
const JITTER_SHARE = 0.2
const MAX_RETENTION_MS: number = UNUSABLE_RESPONSE_MS * (1 + JITTER_SHARE)
/** Used as `maxSize`, because `max` would allocate memory for all entries at once. */
const MAX_FAILURES = 20_000

/** Remembers recent failures, so that the next visitor does not repeat the call. */
export type NegativeCache = ReturnType<typeof createNegativeCache>

/** `random`: numbers from 0 to 1, for the jitter. */
export function createNegativeCache(clock: Clock, random: () => number = Math.random) {
  const expiresAtMs = new LRUCache<string, number>({ maxSize: MAX_FAILURES, sizeCalculation: () => 1 })
  const getEndMs = (key: string): number => {
    const untilMs = expiresAtMs.get(key) ?? 0
    return isPauseActive({ untilMs, nowMs: clock.nowMs(), maxMs: MAX_RETENTION_MS }) ? untilMs : 0
  }
  return {
    has: (key: string): boolean => getEndMs(key) > 0,
    /** Return until when a failure is remembered, Unix milliseconds; 0: there is none. */
    getEndMs,
    /** `error`: `undefined` for a response that is already too old. A blocked call does not count as a failure. */
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
