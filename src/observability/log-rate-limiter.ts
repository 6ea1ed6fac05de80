import { type Clock, SECOND_MS } from '../clock.ts'

/** Lines about answers in any second of the clock; more would tell nothing new, and fill a disk. */
const LINES_PER_SECOND = 50

/** Keeps a flood of visits from becoming a flood of lines. */
export type LineBudget = Readonly<{
  /** `undefined`: no line now. Else how many were left out since the last one. */
  take(): number | undefined
}>

/** Makes a budget of one process. */
export function createLineBudget(clock: Clock): LineBudget {
  let second = 0
  let lines = 0
  let leftOut = 0
  return {
    take() {
      const now = Math.floor(clock.nowMs() / SECOND_MS)
      if (now !== second) [second, lines] = [now, 0]
      if (lines >= LINES_PER_SECOND) {
        leftOut++
        return undefined
      }
      lines++
      const before = leftOut
      leftOut = 0
      return before
    },
  }
}
