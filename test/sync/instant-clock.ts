import type { Clock } from '../../src/clock.ts'
import type { FakeClock } from '../helpers/fake-clock.ts'

/** A clock on which a wait ends at once and advances the time. Call deadlines never fire. */
export type InstantClock = Clock & Readonly<{ waitsMs: readonly number[] }>

/** Create an instant clock that advances `clock`; `onWait` runs at the end of each wait. */
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
