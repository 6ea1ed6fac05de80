import { type IBackoff, CircuitState, ConsecutiveBreaker, circuitBreaker, handleWhen } from 'cockatiel'
import { type Clock, MINUTE_MS, SECOND_MS, isPauseOn } from '../clock.ts'
import { CatalogDeadlineError, CatalogUnreachableError } from '../errors.ts'

/** Failures of the connection in a row, of whatever products, that open the breaker. */
export const BREAKING_FAILURES = 5
/** How long it stays open at first; doubled after each probe that fails, up to the longest. */
const FIRST_PAUSE_MS: number = 5 * SECOND_MS
const LONGEST_PAUSE_MS: number = MINUTE_MS
/** Up to this share is added, so that several processes do not probe together. */
const JITTER_SHARE = 0.2
const LONGEST_MS: number = LONGEST_PAUSE_MS * (1 + JITTER_SHARE)

/**
 * - `closed`: calls go
 * - `open`: the catalog cannot be reached; nothing is called
 * - `probing`: the pause is over; the next call, or the one under way, tells
 */
export type BreakerState = 'closed' | 'open' | 'probing'

/** Stops calls to a catalog that cannot be reached, and finds out with single calls when it can. */
export type Breaker = Readonly<{
  /**
   * Runs a call. Only failures of the connection count: an answer, whatever it says, shows that there is one.
   * @throws what the call throws; without calling, cockatiel's BrokenCircuitError while the breaker is open.
   */
  run<T>(call: () => Promise<T>): Promise<T>
  state(): BreakerState
  /** May a call be begun now? Not while it is open, nor while a probe is under way. */
  isPassable(): boolean
  /**
   * Reserves the place of a call, before anything is counted: after a pause there is one for the probe. `undefined` while
   * there is none. Call what it gives when the call has ended, made or not.
   */
  enter(): (() => void) | undefined
}>

type Outcome<T> = Readonly<{ answer: T } | { failure: unknown }>

/** Makes a breaker on cockatiel's, with pauses on our clock. `random` gives numbers from 0 to 1, for the jitter. */
export function createBreaker(clock: Clock, random: () => number = Math.random): Breaker {
  const pause = createPause(clock, random)
  const policy = circuitBreaker(handleWhen(isOfConnection), {
    breaker: new ConsecutiveBreaker(BREAKING_FAILURES),
    halfOpenAfter: pause,
  })
  let isProbeReserved = false
  const isClosed = (): boolean => policy.state === CircuitState.Closed
  const isPassable = (): boolean =>
    isClosed() || (policy.state === CircuitState.Open && pause.isOver() && !isProbeReserved)
  return {
    async run<T>(call: () => Promise<T>) {
      const wasClosed = isClosed()
      // A call from before the opening that fails only now says nothing about the probe that may be under way.
      const outcome = await policy.execute(() => settle(call, () => wasClosed && !isClosed()))
      if ('failure' in outcome) throw outcome.failure
      return outcome.answer
    },
    state() {
      if (isClosed()) return 'closed'
      return policy.state === CircuitState.Open && !pause.isOver() ? 'open' : 'probing'
    },
    isPassable,
    enter() {
      if (!isPassable()) return undefined
      if (isClosed()) return () => {}
      isProbeReserved = true
      return () => {
        isProbeReserved = false
      }
    },
  }
}

/** Failures that show a connection are answers to the breaker: they end a row of those that do not. */
async function settle<T>(call: () => Promise<T>, isOutdated: () => boolean): Promise<Outcome<T>> {
  try {
    return { answer: await call() }
  } catch (failure) {
    if (isOfConnection(failure) && !isOutdated()) throw failure
    return { failure }
  }
}

function isOfConnection(error: unknown): boolean {
  return error instanceof CatalogUnreachableError || error instanceof CatalogDeadlineError
}

type Pause = IBackoff<unknown> & Readonly<{ isOver(): boolean }>

/**
 * Cockatiel compares a pause's duration with the machine's clock, which may be set back: ours has no end until it is over,
 * and is over then whatever that clock says.
 */
function createPause(clock: Clock, random: () => number): Pause {
  let openUntilMs = 0
  const pause: Pause = {
    isOver: () => !isPauseOn({ untilMs: openUntilMs, nowMs: clock.nowMs(), longestMs: LONGEST_MS }),
    get duration() {
      return pause.isOver() ? -Infinity : Infinity
    },
    next(context) {
      const { attempt } = context as Readonly<{ attempt: number }>
      const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), LONGEST_PAUSE_MS)
      openUntilMs = clock.nowMs() + pauseMs * (1 + JITTER_SHARE * random())
      return pause
    },
  }
  return pause
}
