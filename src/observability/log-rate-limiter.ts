import { type Clock, SECOND_MS } from '../clock.ts'

/** Lines about answers in any second of the clock; more would tell nothing new, and fill a disk. */
const LINES_PER_SECOND = 50

/** Keeps a flood of visits from becoming a flood of log lines. */
export class LogRateLimiter {
  readonly #clock: Clock
  #second = 0
  #lines = 0
  #leftOut = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** `undefined`: no line now. Else how many were left out since the last one. */
  take(): number | undefined {
    const second = Math.floor(this.#clock.nowMs() / SECOND_MS)
    if (second !== this.#second) [this.#second, this.#lines] = [second, 0]
    if (this.#lines >= LINES_PER_SECOND) {
      this.#leftOut += 1
      return undefined
    }
    this.#lines += 1
    const leftOut = this.#leftOut
    this.#leftOut = 0
    return leftOut
  }
}
