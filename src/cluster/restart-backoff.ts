import { type Clock, SECOND_MS } from '../clock.ts'

/** What lived this long had no fault of its start: the next one is started at once. */
const STABLE_MS: number = 10 * SECOND_MS

/** The wait after a second death within moments; it doubles up to the longest. */
const FIRST_WAIT_MS: number = SECOND_MS / 2
const LONGEST_WAIT_MS: number = 30 * SECOND_MS

/** How long to wait before something that ended by itself is started again: not at all, then longer and longer. */
export type RestartWaits = Readonly<{
  noteStart(): void
  /** Call it once at each end; milliseconds. */
  nextMs(): number
}>

/** Waits for one thing that is kept alive. */
export function createRestartWaits(clock: Pick<Clock, 'nowMs'>): RestartWaits {
  let startedAtMs = clock.nowMs()
  let deaths = 0
  return {
    noteStart() {
      startedAtMs = clock.nowMs()
    },
    nextMs() {
      // A clock that was set back makes no life out of nothing.
      if (clock.nowMs() - startedAtMs >= STABLE_MS) deaths = 0
      deaths += 1
      return deaths === 1 ? 0 : Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (deaths - 2))
    },
  }
}
