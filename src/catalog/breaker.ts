import { type Clock, MINUTE_MS, SECOND_MS } from '../clock.ts'
import { CallNotMadeError, CatalogDeadlineError, CatalogUnreachableError } from '../errors.ts'
import { createPause } from '../lib/backoff.ts'

/** Failures of the connection in a row, of whatever products, that open the breaker. */
export const BREAKING_FAILURES = 5
/** The jitter keeps several processes from probing together. */
const PAUSES = { firstMs: 5 * SECOND_MS, longestMs: MINUTE_MS, jitterShare: 0.2 } as const

/**
 * - `closed`: calls go
 * - `open`: the catalog cannot be reached; nothing is called
 * - `probing`: the pause is over; the next call, or the one under way, decides
 */
export type BreakerState = 'closed' | 'open' | 'probing'

/** The permission for one call. */
export type Permit = Readonly<{
  /**
   * Run the call. Only failures of the connection count: an answer, whatever it says, shows that there is one.
   * @throws what the call throws; CallNotMadeError when other calls have opened the breaker since `enter`
   */
  run<T>(call: () => Promise<T>): Promise<T>
  /** Give the permission back, whether the call was made or not. */
  leave(): void
}>

/** Stops calls to a catalog that cannot be reached, and finds out with single calls when it can. */
export type Breaker = Readonly<{
  state(): BreakerState
  /** Would `enter` give a permit now? */
  isPassable(): boolean
  /** Return a permit for one call; `undefined` while the breaker is open or a probe is under way. */
  enter(): Permit | undefined
}>

/** Create a closed breaker. `random` gives numbers from 0 to 1, for the jitter. */
export function createBreaker(clock: Pick<Clock, 'nowMs'>, random?: () => number): Breaker {
  const pause = createPause(clock, { ...PAUSES, ...(random && { random }) })
  let failures = 0
  let isProbing = false
  const isClosed = (): boolean => failures < BREAKING_FAILURES
  const isPassable = (): boolean => isClosed() || (!pause.isOn() && !isProbing)
  const noteConnected = (): void => {
    failures = 0
    pause.end()
  }
  const noteFailure = (isProbe: boolean): void => {
    // A call from before the opening says nothing about the probe that may be under way.
    if (!isClosed() && !isProbe) return
    failures += 1
    if (!isClosed()) pause.start()
  }
  return {
    state: () => (isClosed() ? 'closed' : pause.isOn() ? 'open' : 'probing'),
    isPassable,
    enter() {
      if (!isPassable()) return undefined
      const isProbe = !isClosed()
      if (isProbe) isProbing = true
      return {
        async run(call) {
          if (!isProbe && !isClosed())
            throw new CallNotMadeError('the catalog could not be reached a moment ago')
          try {
            const answer = await call()
            noteConnected()
            return answer
          } catch (error) {
            if (isOfConnection(error)) noteFailure(isProbe)
            else noteConnected()
            throw error
          }
        },
        leave() {
          if (isProbe) isProbing = false
        },
      }
    },
  }
}

function isOfConnection(error: unknown): boolean {
  return error instanceof CatalogUnreachableError || error instanceof CatalogDeadlineError
}
