import { MINUTE_MS, SECOND_MS } from '../clock.ts'
import { CatalogCallBlockedError, CatalogKeyRefusedError, CatalogRateLimitedError } from '../errors.ts'
import { createPause } from '../lib/backoff.ts'
import { createSemaphore } from '../lib/semaphore.ts'
import { type BreakerState, createBreaker } from './breaker.ts'
import type { CallPurpose } from './quota.ts'
import {
  type QuotaReport,
  type RateLimiter,
  type RateLimiterOptions,
  createRateLimiter,
} from './rate-limiter.ts'

/** Calls of one purpose under way or waiting: beyond, a visitor gets the copy at once. */
const MAX_UNDER_WAY = 500
/** Calls that go at the same time; one connection each. */
export const MAX_CALLS_AT_ONCE = 64
/** A call that waits longer is not made: that many calls wait says nothing about the catalog. */
const MAX_WAIT_MS: number = 5 * SECOND_MS
/** Pauses after a refused key. */
const KEY_PAUSES = { firstMs: 5 * SECOND_MS, longestMs: 10 * MINUTE_MS } as const

/** The one place that every catalog call passes, whatever its purpose (ADR 0004). */
export type CallGate = Readonly<{
  /**
   * Make the call, or do not.
   * @throws CatalogCallBlockedError while calls are paused, or when what the purpose may use is spent; else what the call throws.
   */
  pass<T>(purpose: CallPurpose, call: () => Promise<T>): Promise<T>
  /** Would a call go, as far as this process knows? Nothing is counted and nothing is asked. */
  isOpen(purpose: CallPurpose): boolean
  /** What all processes know of the quota, and what this one knows of key and connection. */
  readState(): Promise<GateState>
  /** The same as far as this process knows; nothing is asked. */
  readSeenState(): GateState
  /** End the pause after a refused key: there is another key now. */
  liftKeyPause(): void
  /** No call leaves before, Unix milliseconds, as far as this process knows. */
  limitedUntilMs(): number
}> &
  Pick<RateLimiter, 'pauseUntil' | 'computeWalkWaitMs'>

/** What an operator sees of the gate. */
export type GateState = QuotaReport &
  Readonly<{
    /** Unix milliseconds; 0 when the key is not refused. */
    keyRefusedUntilMs: number
    breaker: BreakerState
  }>

/** `random` gives numbers from 0 to 1, for the breaker's jitter. */
export type CallGateOptions = RateLimiterOptions & Readonly<{ random?: () => number }>

/** Create the gate of one process or thread. */
export function createCallGate(options: CallGateOptions): CallGate {
  const { clock } = options
  const limiter = createRateLimiter(options)
  const breaker = createBreaker(clock, options.random)
  const semaphore = createSemaphore(MAX_CALLS_AT_ONCE, clock)
  const keyPause = createPause(clock, KEY_PAUSES)
  let isKeyRefused = false
  const underWay: Record<CallPurpose, number> = { walk: 0, refresh: 0, lookup: 0, channels: 0 }
  /** After a 429 or a refused key one call tries alone whether the pause was long enough; after its answer all may go. */
  const isTrying = (): boolean =>
    (limiter.readSeen().quota.pauseCount > 0 || isKeyRefused) &&
    Object.values(underWay).some((count) => count > 0)
  const hasRoom = (purpose: CallPurpose): boolean =>
    !keyPause.isOn() && !isTrying() && underWay[purpose] < MAX_UNDER_WAY
  const endKeyPause = (): void => {
    isKeyRefused = false
    keyPause.end()
  }
  const noteKeyRefused = (): void => {
    isKeyRefused = true
    // Calls that left together are refused together: one failure.
    if (!keyPause.isOn()) keyPause.start()
  }
  const callCounted = async <T>(purpose: CallPurpose, call: () => Promise<T>): Promise<T> => {
    await limiter.take(purpose)
    if (breaker.state() === 'open')
      throw new CatalogCallBlockedError('other calls did not reach the catalog meanwhile')
    const calledAtMs = clock.nowMs()
    try {
      const answer = await call()
      if (isKeyRefused) endKeyPause()
      await limiter.noteAnswered(calledAtMs)
      return answer
    } catch (error) {
      if (error instanceof CatalogRateLimitedError) await limiter.noteLimited(error, calledAtMs)
      if (error instanceof CatalogKeyRefusedError) noteKeyRefused()
      throw error
    }
  }
  const toState = (report: QuotaReport): GateState => ({
    ...report,
    keyRefusedUntilMs: keyPause.untilMs(),
    breaker: breaker.state(),
  })
  return {
    async pass(purpose, call) {
      if (!hasRoom(purpose)) throw new CatalogCallBlockedError('calls to the catalog are paused')
      underWay[purpose] += 1
      const release = await semaphore.acquire(MAX_WAIT_MS)
      try {
        if (release === undefined || keyPause.isOn())
          throw new CatalogCallBlockedError('calls to the catalog are paused, or too many wait')
        return await breaker.run(() => callCounted(purpose, call))
      } finally {
        underWay[purpose] -= 1
        release?.()
      }
    },
    isOpen: (purpose) => hasRoom(purpose) && breaker.isPassable() && limiter.isFree(purpose),
    readState: async () => toState(await limiter.read()),
    readSeenState: () => toState(limiter.readSeen()),
    limitedUntilMs: () => limiter.readSeen().quota.limitedUntilMs,
    pauseUntil: limiter.pauseUntil,
    liftKeyPause: endKeyPause,
    computeWalkWaitMs: limiter.computeWalkWaitMs,
  }
}
