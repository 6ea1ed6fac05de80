import { type Clock, MINUTE_MS, SECOND_MS } from '../clock.ts'
import { CatalogCallBlockedError, CatalogDeadlineError, CatalogUnreachableError } from '../errors.ts'
import { createPause } from '../lib/backoff.ts'

/** Failures of the connection in a row, of whatever products, that open the breaker. */
const FAILURE_THRESHOLD = 5
/** The jitter keeps several processes from probing together. */
const PAUSE_OPTIONS = { initialMs: 5 * SECOND_MS, maxMs: MINUTE_MS, jitterShare: 0.2 } as const

/**
 * - `closed`: calls go
 * - `open`: the catalog cannot be reached; nothing is called
 * - `probing`: the pause is over; the next call, or the one under way, decides
 */
export type BreakerState = 'closed' | 'open' | 'probing'

/** Stops calls to a catalog that cannot be reached, and finds out with single calls when it can. */
export type CircuitBreaker = ReturnType<typeof createCircuitBreaker>

/** Create a closed breaker. `random` gives numbers from 0 to 1, for the jitter. */
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
    // A call from before the opening says nothing about the probe that may be under way.
    if (!isClosed() && !isProbe) return
    failures += 1
    if (!isClosed()) pause.start()
  }
  /** Would `run` make a call now? */
  const canCall = (): boolean => isClosed() || (!pause.isOn() && !isProbing)
  return {
    state: (): BreakerState => (isClosed() ? 'closed' : pause.isOn() ? 'open' : 'probing'),
    canCall,
    /**
     * Make the call. Only failures of the connection count: an answer, whatever it says, shows that there is one.
     * @throws what the call throws; CatalogCallBlockedError while the breaker is open or a probe is under way
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
