/** Milliseconds in a second, minute, hour and day: durations are arithmetic on these. */
export const SECOND_MS = 1_000
export const MINUTE_MS: number = 60 * SECOND_MS
export const HOUR_MS: number = 60 * MINUTE_MS
export const DAY_MS: number = 24 * HOUR_MS

/** Seconds in a minute, hour and day, for cache lifetimes. */
export const MINUTE_SECONDS = 60
export const HOUR_SECONDS: number = 60 * MINUTE_SECONDS
export const DAY_SECONDS: number = 24 * HOUR_SECONDS

/** The only source of time. Tests pass a clock that they move by hand. */
export type Clock = {
  /** Unix milliseconds. */
  nowMs(): number
  /**
   * Resolves after `delayMs`. Resolves at once, and leaves no timer behind, when `signal` aborts: the one who
   * waits looks at the signal, not at an exception. The timer never keeps the process alive.
   */
  wait(delayMs: number, signal?: AbortSignal): Promise<void>
  /**
   * Call `run` after `delayMs`, unless the returned function is called before. Cheaper than a wait with a signal. The timer
   * never keeps the process alive.
   */
  startTimer(delayMs: number, run: () => void): () => void
}

/** The machine's clock. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  wait: (delayMs, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve()
      const finish = (): void => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', finish)
        resolve()
      }
      const timer = setTimeout(finish, delayMs)
      timer.unref()
      signal?.addEventListener('abort', finish)
    }),
  startTimer(delayMs, run) {
    const timer = setTimeout(run, delayMs)
    timer.unref()
    return () => clearTimeout(timer)
  },
}

/**
 * Is a pause still on? One that would last longer than any that is made was noted before the clock was set back: it is
 * over.
 */
export function isPauseActive(pause: Readonly<{ untilMs: number; nowMs: number; maxMs: number }>): boolean {
  const remainingMs = pause.untilMs - pause.nowMs
  return remainingMs > 0 && remainingMs <= pause.maxMs
}

/** Clocks of one system agree within this. */
const CLOCK_TOLERANCE_MS: number = MINUTE_MS

/** The latest time that a date can have: dates what no reliable clock has dated, since it is in the future of every clock. */
export const UNKNOWN_TIME_MS = 8_640_000_000_000_000

/** Is the time more than a minute ahead? It was noted while a clock was wrong, so the age of what it dates is unknown. */
export function isFuture(timeMs: number, nowMs: number): boolean {
  return timeMs - nowMs > CLOCK_TOLERANCE_MS
}

/** Is the time less than `withinMs` ago? A time in the future is not. */
export function isWithin(timeMs: number, maxAgeMs: number, nowMs: number): boolean {
  return nowMs - timeMs < maxAgeMs && !isFuture(timeMs, nowMs)
}

/** Is `timeMs` later than `thanMs`? A time of the future is earlier than any other, since it says nothing. */
export function isNewer(timeMs: number, otherMs: number, nowMs: number): boolean {
  if (isFuture(timeMs, nowMs)) return false
  return timeMs > otherMs || isFuture(otherMs, nowMs)
}

/** Return the later of two times. A time in the future counts as the earlier one. */
export function toNewerMs(aMs: number, bMs: number, nowMs: number): number {
  return isNewer(aMs, bMs, nowMs) ? aMs : bMs
}

/** The latest time that is not of the future. */
export function toLatestPlausibleMs(nowMs: number): number {
  return nowMs + CLOCK_TOLERANCE_MS
}

/** The next 00:00 UTC after `nowMs`, Unix milliseconds: when the catalog's daily request limit resets. */
export function computeNextMidnightUtcMs(nowMs: number): number {
  return (Math.floor(nowMs / DAY_MS) + 1) * DAY_MS
}
