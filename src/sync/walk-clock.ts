import type { Clock } from '../clock.ts'
import { WalkError } from '../errors.ts'
import { isClockWrong, readDatabaseDifference } from '../observability/clock-watch.ts'
import type { CopyStore } from '../storage/store.ts'

type ClockDetails = Readonly<{
  store: Pick<CopyStore, 'readTime' | 'findFutureCopies'>
  clock: Clock
  /** By how much the catalog's clock is ahead of this one, in milliseconds; `undefined`: unknown. */
  catalogDifferenceMs: number | undefined
}>

/**
 * Compare this machine's clock before a walk dates everything by it. A machine that is behind would take what the others wrote for
 * future data, and write it anew with times that are too old.
 * @throws WalkError when the clock is wrong by every other one: another machine, or a later walk, walks then
 */
export async function checkWalkClock({
  store,
  clock,
  catalogDifferenceMs,
}: ClockDetails): Promise<Readonly<{ isDoubtful: boolean }>> {
  const databaseMs = await readDatabaseDifference(store, clock)
  const known = [databaseMs, catalogDifferenceMs].filter((differenceMs) => typeof differenceMs === 'number')
  if (known.length === 0 || !known.every(isClockWrong)) return { isDoubtful: false }
  const isBehind = known.some((differenceMs) => differenceMs > 0)
  if (known.length > 1 || (isBehind && (await store.findFutureCopies()).length > 0))
    throw new WalkError(
      `the clock of this machine differs from that of the ${typeof databaseMs === 'number' ? 'database' : 'catalog'} by more than a minute, so it walks nothing; set the wrong clock by NTP`,
    )
  return { isDoubtful: true }
}
