import type { PriceChange } from './price-history.ts'

/** The first and the last of the kept days. */
type KeptDays = Readonly<{ firstDay: number; today: number }>

/**
 * Remove the changes of a series that say nothing about the kept days. The last one before them stays, because its price still holds.
 * Days after tomorrow come from a wrong clock: what it saw counts as not seen. `changes` must be sorted by day.
 */
export function pruneChanges(
  changes: readonly PriceChange[],
  { firstDay, today }: KeptDays,
): readonly PriceChange[] {
  const known = forgetFutureDays(changes, today)
  return known.filter((change, index) => findEndOfUse(change, known[index + 1]) > firstDay)
}

/** Return the first kept day from which on `pruneChanges` removes a change; `Infinity` if there is none. */
export function findDueDay(changes: readonly PriceChange[]): number {
  return Math.min(Infinity, ...changes.map((change, index) => findEndOfUse(change, changes[index + 1])))
}

/** Return the first day after all about which a change says something. */
function findEndOfUse({ day, untilDay, last }: PriceChange, next: PriceChange | undefined): number {
  if (untilDay !== null) return untilDay + 1
  return last === null ? day + 1 : (next?.day ?? Infinity)
}

function forgetFutureDays(changes: readonly PriceChange[], today: number): readonly PriceChange[] {
  const known = changes.filter(({ day }) => day <= today + 1)
  if (known.length === changes.length) return changes
  const low = known.find(({ day }) => day === today)?.low ?? null
  const end: PriceChange = { day: today, untilDay: null, low, last: null }
  return [...known.filter(({ day }) => day !== today), end].sort((a, b) => a.day - b.day)
}
