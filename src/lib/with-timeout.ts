import type { Clock } from '../clock.ts'

/**
 * How much longer a visitor waits, in milliseconds, and at least `leastMs`. A clock that is set back meanwhile makes that no
 * longer than the whole patience.
 */
export function computeRemainingWaitMs(
  { clock, config }: Readonly<{ clock: Clock; config: Readonly<{ visitorTimeoutMs: number }> }>,
  deadlineMs: number,
  minMs: number,
): number {
  return Math.max(minMs, Math.min(config.visitorTimeoutMs, deadlineMs - clock.nowMs()))
}

/**
 * What a call gave within a visitor's patience; `undefined` when it failed or is late. The call itself goes on for
 * those who come after.
 */
export function tryWithTimeout<T>(clock: Clock, timeoutMs: number, call: Promise<T>): Promise<T | undefined> {
  return new Promise((resolve) => {
    const cancel = clock.startTimer(timeoutMs, () => resolve(undefined))
    const finish = (value: T | undefined): void => {
      cancel()
      resolve(value)
    }
    void call.then(finish, () => finish(undefined))
  })
}

/** One who has waited long enough already still has what is there. */
const MIN_READ_TIMEOUT_MS = 100

/** What a read gave until the visitor's patience ends: a database that is slow is waited for no longer than a catalog that is. */
export function tryReadBeforeDeadline<T>(
  details: Parameters<typeof computeRemainingWaitMs>[0],
  deadlineMs: number,
  read: Promise<T>,
): Promise<T | undefined> {
  return tryWithTimeout(details.clock, computeRemainingWaitMs(details, deadlineMs, MIN_READ_TIMEOUT_MS), read)
}
