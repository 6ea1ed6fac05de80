import { isClockWrong, readDatabaseDifference } from '../observability/clock-watch.ts'
import type { Clock } from '../clock.ts'
import { WalkError } from '../errors.ts'
import type { CopyStore } from '../storage/store.ts'

/** By how much other clocks are ahead of this machine's, in milliseconds, as far as they are known. */
export type WalkClock = Readonly<{
  /** Does another clock differ by more than a minute, and none agree? */
  isDoubtful: boolean
}>

type ClockDetails = Readonly<{
  store: Pick<CopyStore, 'readTime' | 'findFutureCopies'>
  clock: Clock
  /** What the catalog's last response said; `undefined`: nothing. */
  catalogDifferenceMs: number | undefined
}>

/**
 * Compare this machine's clock before a walk dates everything by it. A machine that is behind would take what the others wrote for
 * future data, and write it anew with times that are too old.
 * @throws WalkError when the clock is wrong by every other one: another machine, or a later walk, does it
 */
export async function checkWalkClock({
  store,
  clock,
  catalogDifferenceMs,
}: ClockDetails): Promise<WalkClock> {
  const databaseMs = await readDatabaseDifference(store, clock)
  const known = [databaseMs, catalogDifferenceMs].filter((differenceMs) => typeof differenceMs === 'number')
  const wrong = known.filter(isClockWrong)
  if (wrong.length === 0 || wrong.length < known.length) return { isDoubtful: false }
  const isBehind = wrong.some((differenceMs) => differenceMs > 0)
  if (wrong.length > 1 || (isBehind && (await store.findFutureCopies()).length > 0))
    throw new WalkError(
      `the clock of this machine differs from that of the ${databaseMs === null ? 'catalog' : 'database'} by more than a minute, so it walks nothing; set the wrong clock by NTP`,
    )
  return { isDoubtful: true }
}
