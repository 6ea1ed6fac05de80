import { type Clock, MINUTE_MS, SECOND_MS } from '../clock.ts'
import { CatalogCallBlockedError, CatalogDeadlineError, CatalogUnreachableError } from '../errors.ts'
import { createPause } from '../lib/backoff.ts'

/** Consecutive connection failures that open the breaker. */
const FAILURE_THRESHOLD = 5
/** Jitter keeps processes from probing at the same time. */
const PAUSE_OPTIONS = { initialMs: 5 * SECOND_MS, maxMs: MINUTE_MS, jitterShare: 0.2 } as const

/**
 * - `closed`: calls are allowed
 * - `open`: the catalog is unreachable; calls are blocked
 * - `probing` (half-open): the pause is over; one call tests the catalog
 */
export type BreakerState = 'closed' | 'open' | 'probing'

export type CircuitBreaker = ReturnType<typeof createCircuitBreaker>

/** Block calls to an unreachable catalog and probe it with single calls. `random`: numbers from 0 to 1, for the jitter. */
export function createCircuitBreaker(clock: Pick<Clock, 'nowMs'>, random: () => number = Math.random) {
  const pause = createPause(clock, { ...PAUSE_OPTIONS, random })
  let failures = 0
  let isProbing = false
  const isClosed = (): boolean => failures < FAILURE_THRESHOLD
  const recordSuccess = (): void => {
    failures = 0
    pause.end()
  }
  const recordFailure = (error: unknown, isProbe: boolean): void => {
    if (error instanceof CatalogCallBlockedError) return
    if (!(error instanceof CatalogUnreachableError || error instanceof CatalogDeadlineError))
      return recordSuccess()
    // A call that started before the breaker opened must not affect the probe.
    if (!isClosed() && !isProbe) return
    failures += 1
    if (!isClosed()) pause.start()
  }
  const canCall = (): boolean => isClosed() || (!pause.isActive() && !isProbing)
  return {
    state: (): BreakerState => (isClosed() ? 'closed' : pause.isActive() ? 'open' : 'probing'),
    canCall,
    /**
     * Make the call. Only connection failures count: any response shows that the catalog is reachable.
     * @throws the call's error; CatalogCallBlockedError while the breaker is open or a probe is running
     */
    async run<T>(call: () => Promise<T>): Promise<T> {
      if (!canCall()) throw new CatalogCallBlockedError('the catalog could not be reached a moment ago')
      const isProbe = !isClosed()
      if (isProbe) isProbing = true
      try {
        const result = await call()
        recordSuccess()
        return result
      } catch (error) {
        recordFailure(error, isProbe)
        throw error
      } finally {
        if (isProbe) isProbing = false
      }
    },
  }
}
