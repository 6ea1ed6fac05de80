import type { Clock } from '../clock.ts'

/**
 * How much longer a visitor waits, in milliseconds, and at least `leastMs`. A clock that is set back meanwhile makes that no
 * longer than the whole patience.
 */
export function computePatienceMs(
  { clock, config }: Readonly<{ clock: Clock; config: Readonly<{ visitorTimeoutMs: number }> }>,
  patientUntilMs: number,
  leastMs: number,
): number {
  return Math.max(leastMs, Math.min(config.visitorTimeoutMs, patientUntilMs - clock.nowMs()))
}

/**
 * What a call gave within a visitor's patience; `undefined` when it failed or is late. The call itself goes on for
 * those who come after.
 */
export function waitInTime<T>(clock: Clock, timeoutMs: number, call: Promise<T>): Promise<T | undefined> {
  return new Promise((resolve) => {
    const cancel = clock.startTimer(timeoutMs, () => resolve(undefined))
    const end = (value: T | undefined): void => {
      cancel()
      resolve(value)
    }
    void call.then(end, () => end(undefined))
  })
}

/** One who has waited long enough already still has what is there. */
const LEAST_READ_MS = 100

/** What a read gave until the visitor's patience ends: a database that is slow is waited for no longer than a catalog that is. */
export function readInTime<T>(
  details: Parameters<typeof computePatienceMs>[0],
  patientUntilMs: number,
  reading: Promise<T>,
): Promise<T | undefined> {
  return waitInTime(details.clock, computePatienceMs(details, patientUntilMs, LEAST_READ_MS), reading)
}
