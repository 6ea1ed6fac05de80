import { LRUCache } from 'lru-cache'
import { type Clock, MINUTE_MS, SECOND_MS, isPauseOn } from '../clock.ts'
import { CallNotMadeError, CatalogError } from '../errors.ts'

/** How long a failure that may pass in a moment is remembered. */
const PASSING_MS: number = 5 * SECOND_MS
/** How long an answer that cannot be used is remembered: it will hardly be another one in a moment. */
const UNUSABLE_MS: number = MINUTE_MS

/** What is remembered for how long, by class. A 429 and a refused key pause every call besides (catalog/call-gate.ts). */
const MEMORY_MS: Readonly<Record<string, number>> = {
  VITRINE_CATALOG_UNREACHABLE: PASSING_MS,
  VITRINE_CATALOG_DEADLINE: PASSING_MS,
  VITRINE_CATALOG_STATUS: PASSING_MS,
  VITRINE_CATALOG_KEY_REFUSED: PASSING_MS,
  VITRINE_CATALOG_RATE_LIMITED: PASSING_MS,
  VITRINE_CATALOG_REDIRECT: UNUSABLE_MS,
  VITRINE_CATALOG_TOO_LARGE: UNUSABLE_MS,
  VITRINE_CATALOG_INVALID: UNUSABLE_MS,
}
/** Up to this share is added, so that products that failed together are not tried together again. */
const JITTER_SHARE = 0.2
const LONGEST_MS: number = UNUSABLE_MS * (1 + JITTER_SHARE)
/** Remembered failures at most; the oldest goes first. */
const MAX_FAILURES = 20_000

/** What failed a moment ago is not tried again by the next visitor. */
export type Failures = Readonly<{
  isRemembered(key: string): boolean
  remember(key: string, error: unknown): void
  forget(key: string): void
}>

/** Makes a memory of failures. `random` gives numbers from 0 to 1, for the jitter. */
export function createFailures(clock: Clock, random: () => number = Math.random): Failures {
  const untilMs = new LRUCache<string, number>({ max: MAX_FAILURES })
  return {
    isRemembered: (key) =>
      isPauseOn({ untilMs: untilMs.get(key) ?? 0, nowMs: clock.nowMs(), longestMs: LONGEST_MS }),
    remember(key, error) {
      if (error instanceof CallNotMadeError) return
      untilMs.set(key, clock.nowMs() + toMemoryMs(error) * (1 + JITTER_SHARE * random()))
    },
    forget(key) {
      untilMs.delete(key)
    },
  }
}

function toMemoryMs(error: unknown): number {
  return (error instanceof CatalogError ? MEMORY_MS[error.code] : undefined) ?? PASSING_MS
}
