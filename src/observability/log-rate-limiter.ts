import { type Clock, SECOND_MS } from '../clock.ts'

/** Lines about answers in any second of the clock; more would tell nothing new, and fill a disk. */
const LINES_PER_SECOND = 50

/** Keeps a flood of visits from becoming a flood of log lines. */
export class LogRateLimiter {
  readonly #clock: Clock
  #second = 0
  #lineCount = 0
  #suppressed = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** `undefined`: no line now. Else how many were left out since the last one. */
  tryAcquire(): number | undefined {
    const second = Math.floor(this.#clock.nowMs() / SECOND_MS)
    if (second !== this.#second) [this.#second, this.#lineCount] = [second, 0]
    if (this.#lineCount >= LINES_PER_SECOND) {
      this.#suppressed += 1
      return undefined
    }
    this.#lineCount += 1
    const suppressed = this.#suppressed
    this.#suppressed = 0
    return suppressed
  }
}
