import { Cron } from 'croner'

/** Something that runs on a cron pattern until it is stopped. */
export type Schedule = Readonly<{ stop(): void }>

/** Runs `task` on a cron pattern in UTC; a run that is still going is not started again. Keeps no process alive. */
export function startSchedule(pattern: string, task: () => Promise<void>): Schedule {
  const job = new Cron(pattern, { timezone: 'UTC', unref: true, protect: true }, task)
  return { stop: () => job.stop() }
}

/**
 * How long the pattern lets pass between two runs at most, in milliseconds, looking at the next few runs: "two walk
 * periods" is the age up to which a complete copy is believed to know every product. `null` for `off`.
 */
export function computePeriodMs(pattern: string | null, nowMs: number): number | null {
  if (pattern === null) return null
  const runs = new Cron(pattern, { timezone: 'UTC', paused: true }).nextRuns(8, new Date(nowMs))
  let longestMs = 0
  for (const [index, run] of runs.entries()) {
    const before = runs[index - 1]
    if (before !== undefined) longestMs = Math.max(longestMs, run.getTime() - before.getTime())
  }
  return longestMs > 0 ? longestMs : null
}
