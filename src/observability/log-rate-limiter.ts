import { type Clock, SECOND_MS } from '../clock.ts'

/** More lines would add no information and fill the disk. */
const LINES_PER_SECOND = 50

/** Limits log lines about responses. */
export class LogRateLimiter {
  readonly #clock: Clock
  #second = 0
  #lineCount = 0
  #suppressed = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Return how many lines were suppressed since the last one; `undefined`: suppress this line, too. */
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
