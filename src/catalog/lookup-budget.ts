import { type Clock, HOUR_MS } from '../clock.ts'

/** Counts calls over the last hour, whenever the hour began. */
export type LookupBudget = Readonly<{ hasLeft(): boolean; take(): void }>

/** At most `perHour` calls in any 60 minutes, so that nobody drains the catalog by guessing GTINs. */
export function createLookupBudget(perHour: number, clock: Clock): LookupBudget {
  let timesMs: number[] = []
  return {
    hasLeft() {
      const hourAgoMs = clock.nowMs() - HOUR_MS
      if ((timesMs[0] ?? Infinity) <= hourAgoMs) timesMs = timesMs.filter((timeMs) => timeMs > hourAgoMs)
      return timesMs.length < perHour
    },
    take() {
      timesMs.push(clock.nowMs())
    },
  }
}
