import { Cron } from 'croner'
import { type Clock, MINUTE_MS } from '../clock.ts'

/** Something that runs on a cron pattern until it is stopped. */
export type Schedule = Readonly<{ stop(): void }>

/** How often the clock is read while a schedule waits: it may have been set. */
const LONGEST_STEP_MS: number = MINUTE_MS

/**
 * Run `task` on a cron pattern in UTC; a run that is still going is not started again. Timers count the wait, so that a clock
 * that is set back delays no run, and a clock that is set forward brings it nearer. Keeps no process alive.
 */
export function startSchedule(pattern: string, clock: Clock, task: () => Promise<void>): Schedule {
  const stopping = new AbortController()
  const cron = parse(pattern)
  let running: Promise<void> | undefined
  const runAtTimes = async (): Promise<void> => {
    let fromMs = clock.nowMs()
    for (;;) {
      const dueMs = findNextMs(cron, fromMs)
      if (dueMs === null) return
      await waitUntil({ cron, clock, dueMs, signal: stopping.signal })
      if (stopping.signal.aborted) return
      running ??= task().finally(() => {
        running = undefined
      })
      const nowMs = clock.nowMs()
      // Timers end a moment early, too: the same run is not the next one.
      fromMs = Math.abs(dueMs - nowMs) < MINUTE_MS ? Math.max(dueMs, nowMs) : nowMs
    }
  }
  void runAtTimes()
  return { stop: () => stopping.abort() }
}

type Due = Readonly<{ cron: Cron; clock: Clock; dueMs: number; signal: AbortSignal }>

/** Wait until the time has come by the clock, or has passed by the timers, or an earlier run is due by a clock that was set back. */
async function waitUntil({ cron, clock, dueMs, signal }: Due): Promise<void> {
  let leftMs = dueMs - clock.nowMs()
  while (leftMs > 0 && !signal.aborted) {
    const stepMs = Math.min(leftMs, LONGEST_STEP_MS)
    await clock.wait(stepMs, signal)
    const nowMs = clock.nowMs()
    const byClockMs = nowMs >= dueMs ? 0 : (findNextMs(cron, nowMs) ?? dueMs) - nowMs
    leftMs = Math.min(leftMs - stepMs, byClockMs)
  }
}

function parse(pattern: string): Cron {
  return new Cron(pattern, { timezone: 'UTC', paused: true })
}

function findNextMs(cron: Cron, nowMs: number): number | null {
  return cron.nextRun(new Date(nowMs))?.getTime() ?? null
}

/**
 * How long the pattern lets pass between two runs at most, in milliseconds, looking at the next few runs: "two walk
 * periods" is the age up to which a complete copy is believed to know every product. `null` for `off`.
 */
export function computePeriodMs(pattern: string | null, nowMs: number): number | null {
  if (pattern === null) return null
  const runs = parse(pattern).nextRuns(8, new Date(nowMs))
  let longestMs = 0
  for (const [index, run] of runs.entries()) {
    const before = runs[index - 1]
    if (before !== undefined) longestMs = Math.max(longestMs, run.getTime() - before.getTime())
  }
  return longestMs > 0 ? longestMs : null
}
