import { type Clock, HOUR_MS, MINUTE_MS, SECOND_MS, nextMidnightUtcMs } from '../clock.ts'
import {
  CallNotMadeError,
  type CatalogError,
  CatalogKeyRefusedError,
  CatalogRateLimitedError,
} from '../errors.ts'
import { createLookupBudget } from './lookup-budget.ts'

/** Why the catalog is called: the walk, a known product that is no longer fresh, an unknown one, the list of channels. */
export type CallPurpose = 'walk' | 'refresh' | 'lookup' | 'channels'

/** Pause after a 429 without a usable `Retry-After`; doubled at each further one, up to the longest. */
const RATE_LIMIT_PAUSE_MS: number = MINUTE_MS
const LONGEST_RATE_LIMIT_PAUSE_MS: number = HOUR_MS
/** No pause lasts beyond the reset at 00:00 UTC, with this slack for clocks that differ. */
const MIDNIGHT_SLACK_MS: number = 5 * MINUTE_MS
/** Pause after a refused key; doubled at each further one, up to the longest. */
const KEY_PAUSE_MS: number = 5 * SECOND_MS
const LONGEST_KEY_PAUSE_MS: number = 10 * MINUTE_MS

/** The one place that every catalog call passes, whatever its purpose. */
export type CallGate = Readonly<{
  /** @throws CallNotMadeError while calls are paused, or when the budget of the purpose is spent. */
  enter(purpose: CallPurpose): void
  /** Would `enter` let this call through now? Nothing is counted. */
  isOpen(purpose: CallPurpose): boolean
  /** Tells the gate that the catalog answered: pauses start short again. */
  noteAnswer(): void
  /** Tells the gate of a failure: a 429 and a refused key pause every call. */
  noteFailure(error: CatalogError): void
  /** Unix milliseconds until which nothing is called; in the past when calls may go. */
  pausedUntilMs(): number
  /** The same for the daily limit alone: a pause that holds for every thread and every key. */
  limitedUntilMs(): number
  /** Takes over a pause for the daily limit that another thread learned of. */
  pauseUntil(untilMs: number): void
  /** Ends the pause after a refused key: there is another one now. */
  liftKeyPause(): void
  /** From now on first look-ups count: the first complete copy is there. */
  startCountingLookups(): void
}>

/** What a gate is made of; `unknownLookupsPerHour` holds for any hour, not for clock hours. */
export type CallGateOptions = Readonly<{ clock: Clock; unknownLookupsPerHour: number }>

/** Makes the gate of one process. */
export function createCallGate({ clock, unknownLookupsPerHour }: CallGateOptions): CallGate {
  const budget = createLookupBudget(unknownLookupsPerHour, clock)
  const pause = createPause(clock)
  let isCounting = false
  const isSpent = (purpose: CallPurpose): boolean => purpose === 'lookup' && isCounting && !budget.hasLeft()
  return {
    enter(purpose) {
      if (pause.isOn()) throw new CallNotMadeError('calls to the catalog are paused')
      if (isSpent(purpose))
        throw new CallNotMadeError('the look-ups of unknown products for this hour are spent')
      if (purpose === 'lookup' && isCounting) budget.take()
    },
    isOpen: (purpose) => !pause.isOn() && !isSpent(purpose),
    noteAnswer: pause.forget,
    noteFailure: pause.note,
    pausedUntilMs: pause.untilMs,
    limitedUntilMs: pause.limitedUntilMs,
    pauseUntil: pause.extend,
    liftKeyPause: pause.liftKeyPause,
    startCountingLookups() {
      isCounting = true
    },
  }
}

type Pause = Readonly<{
  isOn(): boolean
  untilMs(): number
  limitedUntilMs(): number
  extend(untilMs: number): void
  liftKeyPause(): void
  note(error: CatalogError): void
  forget(): void
}>

function createPause(clock: Clock): Pause {
  let limitedUntilMs = 0
  let refusedUntilMs = 0
  let nextRateLimitPauseMs = RATE_LIMIT_PAUSE_MS
  let nextKeyPauseMs = KEY_PAUSE_MS
  const untilMs = (): number => Math.max(limitedUntilMs, refusedUntilMs)
  const extend = (newUntilMs: number): void => {
    limitedUntilMs = Math.max(limitedUntilMs, newUntilMs)
  }
  return {
    isOn: () => clock.nowMs() < untilMs(),
    untilMs,
    limitedUntilMs: () => limitedUntilMs,
    extend,
    liftKeyPause() {
      refusedUntilMs = 0
      nextKeyPauseMs = KEY_PAUSE_MS
    },
    note(error) {
      const nowMs = clock.nowMs()
      // Calls that left together fail together: during a pause they are the failure that began it, not further ones.
      const isFurther = nowMs >= untilMs()
      if (error instanceof CatalogRateLimitedError) {
        const lastMs = nextMidnightUtcMs(nowMs) + MIDNIGHT_SLACK_MS
        if (error.retryAfterMs !== null) extend(Math.min(nowMs + error.retryAfterMs, lastMs))
        else if (isFurther) extend(Math.min(nowMs + nextRateLimitPauseMs, lastMs))
        if (isFurther) nextRateLimitPauseMs = Math.min(nextRateLimitPauseMs * 2, LONGEST_RATE_LIMIT_PAUSE_MS)
      } else if (error instanceof CatalogKeyRefusedError && isFurther) {
        refusedUntilMs = nowMs + nextKeyPauseMs
        nextKeyPauseMs = Math.min(nextKeyPauseMs * 2, LONGEST_KEY_PAUSE_MS)
      }
    },
    forget() {
      nextRateLimitPauseMs = RATE_LIMIT_PAUSE_MS
      nextKeyPauseMs = KEY_PAUSE_MS
    },
  }
}
