import { LRUCache } from 'lru-cache'
import { type AdminAttempt, type AdminLimiter, WINDOW_MS } from '../http/admin-limiter.ts'
import { type Clock, isPauseOn } from '../clock.ts'
import { UnavailableError } from '../errors.ts'

/** Locked addresses that a worker remembers, so that a flood from them does not reach the primary. */
const MAX_LOCKED = 1_000

/**
 * A worker's limiter: the primary counts for all workers.
 * A lock cannot end early, so the worker remembers it until it ends.
 */
export function createRemoteLimiter(
  clock: Clock,
  ask: (attempt: AdminAttempt) => Promise<unknown>,
): AdminLimiter {
  const lockedUntilMs = new LRUCache<string, number>({ max: MAX_LOCKED })
  return {
    async admit(attempt) {
      const nowMs = clock.nowMs()
      const untilMs = lockedUntilMs.get(attempt.address) ?? 0
      if (isPauseOn({ untilMs, nowMs, longestMs: WINDOW_MS })) return untilMs - nowMs
      const lockedMs = await ask(attempt)
      if (typeof lockedMs !== 'number')
        throw new UnavailableError('the primary process did not say whether the address is locked')
      if (lockedMs > 0) lockedUntilMs.set(attempt.address, clock.nowMs() + lockedMs)
      return lockedMs
    },
  }
}
