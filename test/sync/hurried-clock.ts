import type { Clock } from '../../src/clock.ts'
import type { FakeClock } from '../helpers/fake-clock.ts'

/** Deadlines of calls are this long in the tests of walks; they stand still, as time does while a call is under way. */
const CALL_DEADLINE_MS = 5_000

/** A clock on which a walk's wait is over at once, and the time moved on by it. */
export type HurriedClock = Clock & Readonly<{ waitsMs: readonly number[] }>

/** Makes one that moves `clock`; `onWait` is run at the end of each wait. */
export function createHurriedClock(
  clock: FakeClock,
  onWait: () => Promise<void> = () => Promise.resolve(),
): HurriedClock {
  const waitsMs: number[] = []
  return {
    waitsMs,
    nowMs: clock.nowMs,
    async wait(delayMs, signal) {
      if (delayMs === CALL_DEADLINE_MS) return clock.wait(delayMs, signal)
      if (signal?.aborted === true) return
      waitsMs.push(delayMs)
      clock.advance(delayMs)
      await onWait()
    },
  }
}
