import { MINUTE_MS, SECOND_MS } from '../clock.ts'
import { CatalogCallBlockedError, CatalogKeyRefusedError, CatalogRateLimitedError } from '../errors.ts'
import { createPause } from '../lib/backoff.ts'
import { createSemaphore } from '../lib/semaphore.ts'
import { type BreakerState, createCircuitBreaker } from './circuit-breaker.ts'
import type { CallPurpose } from './quota.ts'
import {
  type QuotaReport,
  type RateLimiter,
  type RateLimiterOptions,
  createRateLimiter,
} from './rate-limiter.ts'

/** Calls of one purpose under way or waiting: beyond, a visitor gets the copy at once. */
const MAX_PENDING_CALLS = 500
/** Calls that go at the same time; one connection each. */
export const MAX_CONCURRENT_CALLS = 64
/** A call that waits longer is not made: that many calls wait says nothing about the catalog. */
const MAX_QUEUE_WAIT_MS: number = 5 * SECOND_MS
/** Pauses after a refused key. */
const KEY_PAUSE_OPTIONS = { initialMs: 5 * SECOND_MS, maxMs: 10 * MINUTE_MS } as const

/** The one place that every catalog call passes, whatever its purpose (ADR 0004). */
export type CallPolicy = Readonly<{
  /**
   * Make the call, or do not.
   * @throws CatalogCallBlockedError while calls are paused, or when what the purpose may use is spent; else what the call throws.
   */
  execute<T>(purpose: CallPurpose, call: () => Promise<T>): Promise<T>
  /** Would a call go, as far as this process knows? Nothing is counted and nothing is asked. */
  canCall(purpose: CallPurpose): boolean
  /** What all processes know of the quota, and what this one knows of key and connection. */
  readState(): Promise<CallPolicyState>
  /** The same as far as this process knows; nothing is asked. */
  getLocalState(): CallPolicyState
  /** End the pause after a refused key: there is another key now. */
  endKeyPause(): void
  /** No call leaves before, Unix milliseconds, as far as this process knows. */
  getRateLimitedUntilMs(): number
}> &
  Pick<RateLimiter, 'pauseUntil' | 'computeWalkWaitMs'>

/** What an operator sees of the gate. */
export type CallPolicyState = QuotaReport &
  Readonly<{
    /** Unix milliseconds; 0 when the key is not refused. */
    keyRefusedUntilMs: number
    breaker: BreakerState
  }>

/** `random` gives numbers from 0 to 1, for the breaker's jitter. */
export type CallPolicyOptions = RateLimiterOptions & Readonly<{ random?: () => number }>

/** Create the gate of one process or thread. */
export function createCallPolicy(options: CallPolicyOptions): CallPolicy {
  const { clock } = options
  const limiter = createRateLimiter(options)
  const breaker = createCircuitBreaker(clock, options.random)
  const semaphore = createSemaphore(MAX_CONCURRENT_CALLS, clock)
  const keyPause = createPause(clock, KEY_PAUSE_OPTIONS)
  let isKeyRefused = false
  const pendingCalls: Record<CallPurpose, number> = { walk: 0, refresh: 0, lookup: 0, channels: 0 }
  /** After a 429 or a refused key one call tries alone whether the pause was long enough; after its answer all may go. */
  const isProbing = (): boolean =>
    (limiter.getLocal().quota.pauseCount > 0 || isKeyRefused) &&
    Object.values(pendingCalls).some((count) => count > 0)
  const canAdmit = (purpose: CallPurpose): boolean =>
    !keyPause.isOn() && !isProbing() && pendingCalls[purpose] < MAX_PENDING_CALLS
  const endKeyPause = (): void => {
    isKeyRefused = false
    keyPause.end()
  }
  const recordKeyRefusal = (): void => {
    isKeyRefused = true
    // Calls that left together are refused together: one failure.
    if (!keyPause.isOn()) keyPause.start()
  }
  const callWithQuota = async <T>(purpose: CallPurpose, call: () => Promise<T>): Promise<T> => {
    await limiter.take(purpose)
    if (breaker.state() === 'open')
      throw new CatalogCallBlockedError('other calls did not reach the catalog meanwhile')
    const calledAtMs = clock.nowMs()
    try {
      const result = await call()
      if (isKeyRefused) endKeyPause()
      await limiter.recordSuccess(calledAtMs)
      return result
    } catch (error) {
      if (error instanceof CatalogRateLimitedError) await limiter.recordRateLimit(error, calledAtMs)
      if (error instanceof CatalogKeyRefusedError) recordKeyRefusal()
      throw error
    }
  }
  const toState = (report: QuotaReport): CallPolicyState => ({
    ...report,
    keyRefusedUntilMs: keyPause.untilMs(),
    breaker: breaker.state(),
  })
  return {
    async execute(purpose, call) {
      if (!canAdmit(purpose)) throw new CatalogCallBlockedError('calls to the catalog are paused')
      pendingCalls[purpose] += 1
      const release = await semaphore.acquire(MAX_QUEUE_WAIT_MS)
      try {
        if (release === undefined || keyPause.isOn())
          throw new CatalogCallBlockedError('calls to the catalog are paused, or too many wait')
        return await breaker.run(() => callWithQuota(purpose, call))
      } finally {
        pendingCalls[purpose] -= 1
        release?.()
      }
    },
    canCall: (purpose) => canAdmit(purpose) && breaker.canCall() && limiter.canCall(purpose),
    readState: async () => toState(await limiter.read()),
    getLocalState: () => toState(limiter.getLocal()),
    getRateLimitedUntilMs: () => limiter.getLocal().quota.limitedUntilMs,
    pauseUntil: limiter.pauseUntil,
    endKeyPause,
    computeWalkWaitMs: limiter.computeWalkWaitMs,
  }
}
