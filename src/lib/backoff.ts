import { type Clock, SECOND_MS, isPauseActive } from '../clock.ts'

/** `jitterShare`: largest share of a wait that is added at random, so that processes do not retry together. */
export type BackoffOptions = Readonly<{
  initialMs: number
  maxMs: number
  jitterShare?: number
  random?: () => number
}>

/** Return the wait after a number of failures, in milliseconds, without jitter. */
export function computeBackoffMs(
  { initialMs, maxMs }: Pick<BackoffOptions, 'initialMs' | 'maxMs'>,
  failures: number,
): number {
  return Math.min(initialMs * 2 ** failures, maxMs)
}

/** Create waits that double with each failure, up to `maxMs`. */
export function createBackoff(options: BackoffOptions) {
  const { jitterShare = 0, random = Math.random } = options
  let failures = 0
  return {
    /** Record a failure and return the milliseconds to wait. */
    nextMs(): number {
      const waitMs = computeBackoffMs(options, failures)
      failures += 1
      return waitMs * (1 + jitterShare * random())
    },
    reset(): void {
      failures = 0
    },
  }
}

/** A time without attempts, longer after each failure. */
export type Pause = ReturnType<typeof createPause>

/** Create an inactive pause. Setting the clock back ends an active one. */
export function createPause(clock: Pick<Clock, 'nowMs'>, options: BackoffOptions) {
  const backoff = createBackoff(options)
  const maxMs = options.maxMs * (1 + (options.jitterShare ?? 0))
  let endMs = 0
  const isActive = (): boolean => isPauseActive({ untilMs: endMs, nowMs: clock.nowMs(), maxMs })
  return {
    isActive,
    /** Unix milliseconds; 0 when inactive. */
    getEndMs: (): number => (isActive() ? endMs : 0),
    /** Record a failure and start the next pause. */
    start(): void {
      endMs = clock.nowMs() + backoff.nextMs()
    },
    /** Record a success: end the pause and reset the backoff. */
    end(): void {
      endMs = 0
      backoff.reset()
    },
  }
}

/** A process or thread that ran this long is restarted at once. */
const STABLE_MS: number = 10 * SECOND_MS
const INITIAL_RESTART_WAIT_MS: number = SECOND_MS / 2
const MAX_RESTART_WAIT_MS: number = 30 * SECOND_MS

/** Restart delays of a process or thread that ended unexpectedly: none at first, then growing. */
export type RestartBackoff = ReturnType<typeof createRestartBackoff>

export function createRestartBackoff(clock: Pick<Clock, 'nowMs'>) {
  const backoff = createBackoff({ initialMs: INITIAL_RESTART_WAIT_MS, maxMs: MAX_RESTART_WAIT_MS })
  let startedAtMs = clock.nowMs()
  let isFirst = true
  return {
    recordStart(): void {
      startedAtMs = clock.nowMs()
    },
    /** Return the milliseconds to wait before the restart. Call it once for each end. */
    nextMs(): number {
      // A backwards clock step must not reset the counter.
      if (isFirst || clock.nowMs() - startedAtMs >= STABLE_MS) {
        isFirst = false
        backoff.reset()
        return 0
      }
      return backoff.nextMs()
    },
  }
}
