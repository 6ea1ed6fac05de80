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
