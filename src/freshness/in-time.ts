import { type Clock, ENOUGH } from '../clock.ts'

/**
 * What a call gave within a visitor's patience; `undefined` when it failed or is late. The call itself goes on for
 * those who come after.
 */
export async function waitInTime<T>(
  clock: Clock,
  timeoutMs: number,
  call: Promise<T>,
): Promise<T | undefined> {
  const answered = new AbortController()
  const late = clock.wait(timeoutMs, answered.signal).then(() => undefined)
  const value = await Promise.race([call.catch(() => undefined), late])
  answered.abort(ENOUGH)
  return value
}

/** One who has waited long enough already still has what is there. */
const LEAST_READ_MS = 100

/** What a read gave until the visitor's patience ends: a database that is slow is waited for no longer than a catalog that is. */
export function readInTime<T>(
  clock: Clock,
  patientUntilMs: number,
  reading: Promise<T>,
): Promise<T | undefined> {
  return waitInTime(clock, Math.max(LEAST_READ_MS, patientUntilMs - clock.nowMs()), reading)
}
