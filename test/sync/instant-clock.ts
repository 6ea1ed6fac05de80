import type { Clock } from '../../src/clock.ts'
import type { FakeClock } from '../helpers/fake-clock.ts'

/** A clock on which a walk's wait is over at once, and the time moved on by it; deadlines of calls stand still. */
export type InstantClock = Clock & Readonly<{ waitsMs: readonly number[] }>

/** Makes one that moves `clock`; `onWait` is run at the end of each wait. */
export function createInstantClock(
  clock: FakeClock,
  onWait: () => Promise<void> = () => Promise.resolve(),
): InstantClock {
  const waitsMs: number[] = []
  return {
    waitsMs,
    nowMs: clock.nowMs,
    startTimer: clock.startTimer,
    async wait(delayMs, signal) {
      if (signal?.aborted === true) return
      waitsMs.push(delayMs)
      clock.advance(delayMs)
      await onWait()
    },
  }
}
