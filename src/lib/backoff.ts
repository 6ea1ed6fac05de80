import { type Clock, SECOND_MS, isPauseActive } from '../clock.ts'

/** `jitterShare`: up to this share of a wait is added, so that processes do not try again together. */
export type BackoffOptions = Readonly<{
  initialMs: number
  maxMs: number
  jitterShare?: number
  /** Numbers from 0 to 1, for the jitter. */
  random?: () => number
}>

/** Return the wait after `failures` earlier failures, in milliseconds, without jitter. */
export function computeBackoffMs(
  { initialMs, maxMs }: Pick<BackoffOptions, 'initialMs' | 'maxMs'>,
  failures: number,
): number {
  return Math.min(initialMs * 2 ** failures, maxMs)
}

/** Create waits that double at each failure, up to the longest. */
export function createBackoff(options: BackoffOptions) {
  const { jitterShare = 0, random = Math.random } = options
  let failures = 0
  return {
    /** Milliseconds to wait after one more failure. */
    nextMs(): number {
      const waitMs = computeBackoffMs(options, failures)
      failures += 1
      return waitMs * (1 + jitterShare * random())
    },
    /** Start with the first wait again, after a success. */
    reset(): void {
      failures = 0
    },
  }
}

/** A time in which something is not tried, after each failure a longer one. */
export type Pause = ReturnType<typeof createPause>

/** Create a pause that is not on. A clock that is set back ends it. */
export function createPause(clock: Pick<Clock, 'nowMs'>, options: BackoffOptions) {
  const backoff = createBackoff(options)
  const maxMs = options.maxMs * (1 + (options.jitterShare ?? 0))
  let endMs = 0
  const isActive = (): boolean => isPauseActive({ untilMs: endMs, nowMs: clock.nowMs(), maxMs })
  return {
    isOn: isActive,
    /** Unix milliseconds; 0 while there is no pause. */
    untilMs: (): number => (isActive() ? endMs : 0),
    /** Note a failure: the next pause begins now. */
    start(): void {
      endMs = clock.nowMs() + backoff.nextMs()
    },
    /** Note a success: no pause, and the next one is short again. */
    end(): void {
      endMs = 0
      backoff.reset()
    },
  }
}

/** A process or thread that ran this long did not fail at its start: it is restarted at once. */
const STABLE_MS: number = 10 * SECOND_MS
const INITIAL_RESTART_WAIT_MS: number = SECOND_MS / 2
const MAX_RESTART_WAIT_MS: number = 30 * SECOND_MS

/** When to restart a process or thread that ended by itself: at once, then after longer and longer waits. */
export type RestartBackoff = ReturnType<typeof createRestartBackoff>

export function createRestartBackoff(clock: Pick<Clock, 'nowMs'>) {
  const backoff = createBackoff({ initialMs: INITIAL_RESTART_WAIT_MS, maxMs: MAX_RESTART_WAIT_MS })
  let startedAtMs = clock.nowMs()
  let isFirst = true
  return {
    recordStart(): void {
      startedAtMs = clock.nowMs()
    },
    /** Milliseconds to wait. Call it once at each end. */
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
