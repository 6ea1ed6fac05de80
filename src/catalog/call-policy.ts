import { MINUTE_MS, SECOND_MS } from '../clock.ts'
import { CatalogCallBlockedError, CatalogKeyRefusedError, CatalogRateLimitedError } from '../errors.ts'
import { createPause } from '../lib/backoff.ts'
import { createSemaphore } from '../lib/concurrency.ts'
import { type BreakerState, createCircuitBreaker } from './circuit-breaker.ts'
import type { CallPurpose } from './quota.ts'
import {
  type QuotaReport,
  type RateLimiter,
  type RateLimiterOptions,
  createRateLimiter,
} from './rate-limiter.ts'

/** Maximum running and waiting calls per purpose. Beyond it, a visitor gets the copy at once. */
const MAX_PENDING_CALLS = 500
/** Each concurrent call uses one connection. */
export const MAX_CONCURRENT_CALLS = 64
/** A call that waits longer is blocked, which does not count as a failure of the catalog. */
const MAX_QUEUE_WAIT_MS: number = 5 * SECOND_MS
const KEY_PAUSE_OPTIONS = { initialMs: 5 * SECOND_MS, maxMs: 10 * MINUTE_MS } as const

/** Rate limiter and circuit breaker around every catalog call (ADR 0004). */
export type CallPolicy = Readonly<{
  /** @throws CatalogCallBlockedError while calls are paused or the quota of the purpose is used up; otherwise the call's error */
  execute<T>(purpose: CallPurpose, call: () => Promise<T>): Promise<T>
  /** Predict whether a call would be allowed, without counting it or reading the store. */
  canCall(purpose: CallPurpose): boolean
  /** Read the quota of all processes, and this process's state of key and connection. */
  readState(): Promise<CallPolicyState>
  /** Return the last known state, without reading the store. */
  getLocalState(): CallPolicyState
  /** End the pause after a refused key, because the key has changed. */
  clearKeyPause(): void
  /** Return the last known end of the rate-limit pause, Unix milliseconds. */
  getRateLimitedUntilMs(): number
}> &
  Pick<RateLimiter, 'pauseUntil' | 'computeWalkWaitMs'>

export type CallPolicyState = QuotaReport &
  Readonly<{
    /** Unix milliseconds; 0: not refused. */
    keyRefusedUntilMs: number
    breaker: BreakerState
  }>

/** `random` gives numbers from 0 to 1, for the breaker's jitter. */
export type CallPolicyOptions = RateLimiterOptions & Readonly<{ random?: () => number }>

export function createCallPolicy(options: CallPolicyOptions): CallPolicy {
  const { clock } = options
  const limiter = createRateLimiter(options)
  const breaker = createCircuitBreaker(clock, options.random)
  const semaphore = createSemaphore(MAX_CONCURRENT_CALLS, clock)
  const keyPause = createPause(clock, KEY_PAUSE_OPTIONS)
  let isKeyRefused = false
  const pendingCalls: Record<CallPurpose, number> = { walk: 0, refresh: 0, lookup: 0, channels: 0 }
  /** After a 429 or a refused key, a single call probes whether the pause was long enough. */
  const isProbing = (): boolean =>
    (limiter.getLocalReport().quota.pauseCount > 0 || isKeyRefused) &&
    Object.values(pendingCalls).some((count) => count > 0)
  const canAdmit = (purpose: CallPurpose): boolean =>
    !keyPause.isActive() && !isProbing() && pendingCalls[purpose] < MAX_PENDING_CALLS
  const clearKeyPause = (): void => {
    isKeyRefused = false
    keyPause.end()
  }
  const recordKeyRefusal = (): void => {
    isKeyRefused = true
    // Concurrent calls are refused together: count one failure.
    if (!keyPause.isActive()) keyPause.start()
  }
  const callWithQuota = async <T>(purpose: CallPurpose, call: () => Promise<T>): Promise<T> => {
    await limiter.acquire(purpose)
    if (breaker.state() === 'open')
      throw new CatalogCallBlockedError('other calls could not reach the catalog in the meantime')
    const calledAtMs = clock.nowMs()
    try {
      const result = await call()
      if (isKeyRefused) clearKeyPause()
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
    keyRefusedUntilMs: keyPause.getEndMs(),
    breaker: breaker.state(),
  })
  return {
    async execute(purpose, call) {
      if (!canAdmit(purpose)) throw new CatalogCallBlockedError('calls to the catalog are paused')
      pendingCalls[purpose] += 1
      const release = await semaphore.acquire(MAX_QUEUE_WAIT_MS)
      try {
        if (release === undefined || keyPause.isActive())
          throw new CatalogCallBlockedError('calls to the catalog are paused, or too many calls are waiting')
        return await breaker.run(() => callWithQuota(purpose, call))
      } finally {
        pendingCalls[purpose] -= 1
        release?.()
      }
    },
    canCall: (purpose) => canAdmit(purpose) && breaker.canCall() && limiter.canCall(purpose),
    readState: async () => toState(await limiter.read()),
    getLocalState: () => toState(limiter.getLocalReport()),
    getRateLimitedUntilMs: () => limiter.getLocalReport().quota.limitedUntilMs,
    pauseUntil: limiter.pauseUntil,
    clearKeyPause,
    computeWalkWaitMs: limiter.computeWalkWaitMs,
  }
}
