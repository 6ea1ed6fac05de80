import type { ObservedDay } from './price-history.ts'

/** Consecutive observed days with the same prices; `untilDay` is the last one. */
export type PriceRun = Readonly<{
  day: number
  untilDay: number
  low: number
  last: number | null
  isImported: boolean
}>

/** Combine observed days, sorted by day, to runs. */
export function toRuns(days: readonly ObservedDay[]): readonly PriceRun[] {
  const runs: { -readonly [Key in keyof PriceRun]: PriceRun[Key] }[] = []
  for (const { day, low, last, isImported } of days) {
    const run = { day, untilDay: day, low, last, isImported }
    const before = runs.at(-1)
    if (isContinued(before, run)) before.untilDay = day
    else runs.push(run)
  }
  return runs
}

/** Replace what `added` covers. Both are sorted by day, without overlaps, and so is the result. */
export function replaceRuns(existing: readonly PriceRun[], added: readonly PriceRun[]): readonly PriceRun[] {
  const rest = existing.flatMap((run) => subtractRuns(run, added))
  const runs: PriceRun[] = []
  for (const run of [...rest, ...added].sort((a, b) => a.day - b.day)) addRun(runs, run)
  return runs
}

/** Return the part of a run within a period; `undefined` for none. */
export function clipRun(run: PriceRun, fromDay: number, untilDay: number): PriceRun | undefined {
  const clipped = { ...run, day: Math.max(run.day, fromDay), untilDay: Math.min(run.untilDay, untilDay) }
  return clipped.day > clipped.untilDay ? undefined : clipped
}

/** Append a run, or extend the last one when it goes on. */
function addRun(runs: PriceRun[], run: PriceRun): void {
  const before = runs.at(-1)
  if (isContinued(before, run)) runs[runs.length - 1] = { ...before, untilDay: run.untilDay }
  else runs.push(run)
}

function isContinued<Run extends PriceRun>(before: Run | undefined, run: PriceRun): before is Run {
  return (
    before?.untilDay === run.day - 1 &&
    before.low === run.low &&
    before.last === run.last &&
    before.isImported === run.isImported
  )
}

function subtractRuns(run: PriceRun, removed: readonly PriceRun[]): readonly PriceRun[] {
  const rest: PriceRun[] = []
  let { day } = run
  for (const { day: fromDay, untilDay } of removed) {
    if (fromDay > run.untilDay) break
    if (fromDay > day) rest.push({ ...run, day, untilDay: fromDay - 1 })
    day = Math.max(day, untilDay + 1)
  }
  if (day <= run.untilDay) rest.push({ ...run, day })
  return rest
}
