export const SECOND_MS = 1_000
export const MINUTE_MS: number = 60 * SECOND_MS
export const HOUR_MS: number = 60 * MINUTE_MS
export const DAY_MS: number = 24 * HOUR_MS

/** For cache lifetimes. */
export const MINUTE_SECONDS = 60
export const HOUR_SECONDS: number = 60 * MINUTE_SECONDS
export const DAY_SECONDS: number = 24 * HOUR_SECONDS

/** The only source of time. Tests pass a clock that they set. */
export type Clock = {
  /** Unix milliseconds. */
  nowMs(): number
  /** Resolve after `delayMs`, or at once without an error when `signal` aborts. The timer never keeps the process alive. */
  wait(delayMs: number, signal?: AbortSignal): Promise<void>
  /** Call `run` after `delayMs` unless the returned function is called first. The timer never keeps the process alive. */
  startTimer(delayMs: number, run: () => void): () => void
}

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

/** Whether a pause is still active. It is over if more than `maxMs` remain: the clock was set back since it began. */
export function isPauseActive(pause: Readonly<{ untilMs: number; nowMs: number; maxMs: number }>): boolean {
  const remainingMs = pause.untilMs - pause.nowMs
  return remainingMs > 0 && remainingMs <= pause.maxMs
}

/** The largest difference that correctly set clocks may have. */
const CLOCK_TOLERANCE_MS: number = MINUTE_MS

/** The latest time a `Date` can have. It marks an unknown time, because every clock considers it to be in the future. */
export const UNKNOWN_TIME_MS = 8_640_000_000_000_000

/** Whether the time is more than a minute ahead: some clock was wrong, so the age of the data is unknown. */
export function isFuture(timeMs: number, nowMs: number): boolean {
  return timeMs - nowMs > CLOCK_TOLERANCE_MS
}

/** Whether the time is less than `maxAgeMs` ago. A time in the future is not. */
export function isWithin(timeMs: number, maxAgeMs: number, nowMs: number): boolean {
  return nowMs - timeMs < maxAgeMs && !isFuture(timeMs, nowMs)
}

/** Whether `timeMs` is later than `otherMs`. A time in the future is unreliable and counts as the earlier one. */
export function isNewer(timeMs: number, otherMs: number, nowMs: number): boolean {
  if (isFuture(timeMs, nowMs)) return false
  return timeMs > otherMs || isFuture(otherMs, nowMs)
}

/** Return the later of two times. A time in the future counts as the earlier one. */
export function toNewerMs(aMs: number, bMs: number, nowMs: number): number {
  return isNewer(aMs, bMs, nowMs) ? aMs : bMs
}

/** Return the latest time that is not in the future (see `isFuture`). */
export function toLatestPlausibleMs(nowMs: number): number {
  return nowMs + CLOCK_TOLERANCE_MS
}

/** Return the next 00:00 UTC in Unix milliseconds: when the daily request limit of the catalog resets. */
export function computeNextMidnightUtcMs(nowMs: number): number {
  return (Math.floor(nowMs / DAY_MS) + 1) * DAY_MS
}
