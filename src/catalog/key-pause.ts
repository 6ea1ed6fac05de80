import { type Clock, MINUTE_MS, SECOND_MS, isPauseOn } from '../clock.ts'

/** Pause after a refused key; doubled at each further one, up to the longest. */
const FIRST_PAUSE_MS: number = 5 * SECOND_MS
const LONGEST_PAUSE_MS: number = 10 * MINUTE_MS

/** The pause that a refused key brings about. */
export type KeyPause = Readonly<{
  isOn(): boolean
  /** Unix milliseconds; in the past when there is none. */
  untilMs(): number
  /** Was the key refused, and not taken since? */
  isUnproven(): boolean
  noteRefused(): void
  /** The key was taken: the next pause is short again. */
  noteTaken(): void
  /** There is another key now. */
  lift(): void
}>

/** Calls that left together are refused together: during a pause they are the refusal that began it. */
export function createKeyPause(clock: Clock): KeyPause {
  let refusedUntilMs = 0
  let nextPauseMs = FIRST_PAUSE_MS
  let isUnproven = false
  const noteTaken = (): void => {
    nextPauseMs = FIRST_PAUSE_MS
    isUnproven = false
  }
  const isOn = (): boolean =>
    isPauseOn({ untilMs: refusedUntilMs, nowMs: clock.nowMs(), longestMs: LONGEST_PAUSE_MS })
  return {
    isOn,
    untilMs: () => (isOn() ? refusedUntilMs : 0),
    isUnproven: () => isUnproven,
    noteRefused() {
      if (isOn()) return
      refusedUntilMs = clock.nowMs() + nextPauseMs
      isUnproven = true
      nextPauseMs = Math.min(nextPauseMs * 2, LONGEST_PAUSE_MS)
    },
    noteTaken,
    lift() {
      refusedUntilMs = 0
      noteTaken()
    },
  }
}
