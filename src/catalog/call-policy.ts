import { type Clock, MINUTE_MS, SECOND_MS } from '../clock.ts'
import {
  CatalogCallBlockedError,
  CatalogDeadlineError,
  CatalogInvalidError,
  CatalogKeyRefusedError,
  CatalogRateLimitedError,
  CatalogRedirectError,
  CatalogStatusError,
  CatalogUnreachableError,
} from '../errors.ts'
import { createPause } from '../lib/backoff.ts'
import { createSemaphore } from '../lib/concurrency.ts'
import type { CallPurpose } from './quota.ts'
import {
  type QuotaReport,
  type RateLimiter,
  type RateLimiterOptions,
  createRateLimiter,
} from './rate-limiter.ts'

/** Consecutive failures that open the breaker. */
const FAILURE_THRESHOLD = 5
/** Jitter keeps processes from probing at the same time. */
const PAUSE_OPTIONS = { initialMs: 5 * SECOND_MS, maxMs: MINUTE_MS, jitterShare: 0.2 } as const

/**
 * - `closed`: calls are allowed
 * - `open`: the catalog fails; calls are blocked
 * - `probing` (half-open): the pause is over; one call tests the catalog
 */
export type BreakerState = 'closed' | 'open' | 'probing'

export type CircuitBreaker = ReturnType<typeof createCircuitBreaker>

/** Block calls to a catalog that fails, and probe it with single calls. `random`: numbers from 0 to 1, for the jitter. */
export function createCircuitBreaker(
  clock: Pick<Clock, 'nowMs'>,
  random: () => number = Math.random,
  threshold = FAILURE_THRESHOLD,
) {
  const pause = createPause(clock, { ...PAUSE_OPTIONS, random })
  let failures = 0
  let isProbing = false
  const isClosed = (): boolean => failures < threshold
  const recordSuccess = (): void => {
    failures = 0
    pause.end()
  }
  const recordFailure = (error: unknown, isProbe: boolean): void => {
    if (error instanceof CatalogCallBlockedError) return
    if (!isCatalogFailure(error)) return recordSuccess()
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
     * Make the call. Only failures of the catalog count, whatever was asked.
     * @throws the call's error; CatalogCallBlockedError while the breaker is open or a probe is running
     */
    async run<T>(call: () => Promise<T>): Promise<T> {
      if (!canCall()) throw new CatalogCallBlockedError('the catalog failed a moment ago')
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

/**
 * Whether an error says that the catalog cannot answer now, whatever is asked: no response in time, a server error, or a page of
 * something else in its place, such as one about maintenance. Other responses say something about the request.
 */
function isCatalogFailure(error: unknown): boolean {
  if (error instanceof CatalogStatusError) return error.upstreamStatus >= 500
  return (
    error instanceof CatalogUnreachableError ||
    error instanceof CatalogDeadlineError ||
    error instanceof CatalogRedirectError ||
    error instanceof CatalogInvalidError
  )
}

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

/**
 * `random` gives numbers from 0 to 1, for the breaker's jitter. `breakerThreshold`: failures in a row that open the breaker; a walk
 * has none, because it waits between attempts itself, and a second without the catalog must not end all of its channels.
 */
export type CallPolicyOptions = RateLimiterOptions &
  Readonly<{ random?: () => number; breakerThreshold?: number }>

export function createCallPolicy(options: CallPolicyOptions): CallPolicy {
  const { clock } = options
  const limiter = createRateLimiter(options)
  const breaker = createCircuitBreaker(clock, options.random, options.breakerThreshold)
  const semaphore = createSemaphore(MAX_CONCURRENT_CALLS, clock)
  const keyPause = createPause(clock, KEY_PAUSE_OPTIONS)
  let isKeyRefused = false
  const pendingCalls: Record<CallPurpose, number> = {
    walk: 0,
    'first-walk': 0,
    refresh: 0,
    lookup: 0,
    channels: 0,
  }
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
      throw new CatalogCallBlockedError('other calls to the catalog failed in the meantime')
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
