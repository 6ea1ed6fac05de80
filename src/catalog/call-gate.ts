import { BrokenCircuitError } from 'cockatiel'
import { SECOND_MS } from '../clock.ts'
import { CallNotMadeError, CatalogKeyRefusedError, CatalogRateLimitedError } from '../errors.ts'
import { type Breaker, type BreakerState, createBreaker } from './breaker.ts'
import { type Governor, type GovernorOptions, type QuotaReport, createGovernor } from './governor.ts'
import { type KeyPause, createKeyPause } from './key-pause.ts'
import type { CallPurpose } from './quota.ts'
import { createSemaphore } from '../lib/semaphore.ts'

/** Calls of one purpose under way or in line: beyond, a visitor gets the copy at once instead of a place in the line. */
const MAX_UNDER_WAY = 500
/** Calls that go at the same time; one connection each. */
export const MAX_CALLS_AT_ONCE = 64
/** Who waits longer in line is not called for any more: that the line is long says nothing about the catalog. */
const MAX_WAIT_MS: number = 5 * SECOND_MS

const PURPOSES: readonly CallPurpose[] = ['walk', 'refresh', 'lookup', 'channels']

/** The one place that every catalog call passes, whatever its purpose (ADR 0009). */
export type CallGate = Readonly<{
  /**
   * Makes the call, or does not.
   * @throws CallNotMadeError while calls are paused, or when what the purpose may use is spent; else what the call throws.
   */
  pass<T>(purpose: CallPurpose, call: () => Promise<T>): Promise<T>
  /** Would a call go, as far as is known here? Nothing is counted and nothing is asked. */
  isOpen(purpose: CallPurpose): boolean
  /** What all processes know of the quota, and what this one does of key and connection. */
  readState(): Promise<GateState>
  /** The same as far as is known here; nothing is asked. */
  readSeenState(): GateState
  /** Unix milliseconds until which the catalog's limit lets nothing pass, as far as is known here. */
  limitedUntilMs(): number
  /** Takes over a pause that another thread learned of, where the store could not hand it on. */
  pauseUntil(untilMs: number): Promise<void>
  /** Ends the pause after a refused key: there is another one now. */
  liftKeyPause(): void
  /**
   * How long the walk waits before its next call, in milliseconds, so that `callsToGo` do not use up a share before the
   * day is over; 0 when they fit into it, or when no limit is known.
   */
  computeWalkWaitMs(callsToGo: number): number
}>

/** What an operator sees of the gate. */
export type GateState = QuotaReport &
  Readonly<{
    /** Unix milliseconds; in the past when the key is not refused. */
    keyRefusedUntilMs: number
    breaker: BreakerState
  }>

/** What a gate is made of; `random` gives numbers from 0 to 1, for the breaker's jitter. */
export type CallGateOptions = GovernorOptions & Readonly<{ random?: () => number }>

/** Makes the gate of one process or thread. */
export function createCallGate(options: CallGateOptions): CallGate {
  const governor = createGovernor(options)
  const keyPause = createKeyPause(options.clock)
  const breaker = createBreaker(options.clock, options.random)
  const countUnderWay = createCounter()
  const slots = createSemaphore(MAX_CALLS_AT_ONCE, options.clock)
  /** After a 429 or a refused key one call tries alone whether the pause was long enough; after an answer all may go. */
  const isTried = (): boolean =>
    (governor.isUnproven() || keyPause.isUnproven()) && PURPOSES.some((one) => countUnderWay(one, 0) > 0)
  const hasRoom = (purpose: CallPurpose): boolean =>
    !keyPause.isOn() && !isTried() && countUnderWay(purpose, 0) < MAX_UNDER_WAY
  const callCounted = createCountedCall({ governor, keyPause, breaker, clock: options.clock })
  const toState = (report: QuotaReport): GateState => ({
    ...report,
    keyRefusedUntilMs: keyPause.untilMs(),
    breaker: breaker.state(),
  })
  return {
    async pass(purpose, call) {
      if (!hasRoom(purpose)) throw new CallNotMadeError('calls to the catalog are paused')
      countUnderWay(purpose, 1)
      const giveBack = await slots.acquire(MAX_WAIT_MS)
      const leave = giveBack === undefined || keyPause.isOn() ? undefined : breaker.enter()
      try {
        if (leave === undefined)
          throw new CallNotMadeError('calls to the catalog are paused, or too many wait')
        return await callCounted(purpose, call)
      } catch (error) {
        // Opened by others while this call was being counted.
        throw error instanceof BrokenCircuitError
          ? new CallNotMadeError('the catalog could not be reached a moment ago')
          : error
      } finally {
        countUnderWay(purpose, -1)
        giveBack?.()
        leave?.()
      }
    },
    isOpen: (purpose) => hasRoom(purpose) && breaker.isPassable() && governor.isFree(purpose),
    readState: async () => toState(await governor.read()),
    readSeenState: () => toState(governor.readSeen()),
    limitedUntilMs: governor.limitedUntilMs,
    pauseUntil: governor.pauseUntil,
    liftKeyPause: keyPause.lift,
    computeWalkWaitMs: governor.computeWalkWaitMs,
  }
}

type Parts = Readonly<{
  governor: Governor
  keyPause: KeyPause
  breaker: Breaker
  clock: GovernorOptions['clock']
}>

/** Counts a call, makes it, and notes what its end means for the calls after it. */
function createCountedCall({ governor, keyPause, breaker, clock }: Parts): CallGate['pass'] {
  return async (purpose, call) => {
    await governor.take(purpose)
    const calledAtMs = clock.nowMs()
    try {
      const answer = await breaker.run(call)
      keyPause.noteTaken()
      await governor.noteAnswered(calledAtMs)
      return answer
    } catch (error) {
      if (error instanceof CatalogRateLimitedError) await governor.noteLimited(error, calledAtMs)
      if (error instanceof CatalogKeyRefusedError) keyPause.noteRefused()
      throw error
    }
  }
}

/** Counts calls under way by purpose; a change of 0 only looks. */
function createCounter(): (purpose: CallPurpose, change: number) => number {
  const underWay = new Map<CallPurpose, number>()
  return (purpose, change) => {
    const count = (underWay.get(purpose) ?? 0) + change
    underWay.set(purpose, count)
    return count
  }
}
