import type { Clock } from '../clock.ts'
import { WalkError } from '../errors.ts'
import { isClockSkewed, readDatabaseClockSkewMs } from '../observability/clock-monitor.ts'
import type { CopyStore } from '../storage/store.ts'

type ClockOptions = Readonly<{
  store: Pick<CopyStore, 'readDatabaseTime' | 'findFutureCopies'>
  clock: Clock
  /** How far the catalog's clock is ahead of this one, in milliseconds; `undefined`: unknown. */
  catalogSkewMs: number | undefined
}>

/**
 * Compare this machine's clock with others: a machine that is behind would overwrite newer data with times that are too old.
 * @throws WalkError when every other clock contradicts this one; another machine, or a later run, then walks
 */
export async function checkWalkClock({
  store,
  clock,
  catalogSkewMs,
}: ClockOptions): Promise<Readonly<{ isUnreliable: boolean }>> {
  const databaseSkewMs = await readDatabaseClockSkewMs(store, clock)
  const clockSkewsMs = [databaseSkewMs, catalogSkewMs].filter((skewMs) => typeof skewMs === 'number')
  if (clockSkewsMs.length === 0 || !clockSkewsMs.every(isClockSkewed)) return { isUnreliable: false }
  const isBehind = clockSkewsMs.some((skewMs) => skewMs > 0)
  if (clockSkewsMs.length > 1 || (isBehind && (await store.findFutureCopies()).length > 0))
    throw new WalkError(
      `the clock of this machine differs from the clock of the ${typeof databaseSkewMs === 'number' ? 'database' : 'catalog'} by more than a minute, so no walk was started; synchronize the clocks with NTP`,
    )
  return { isUnreliable: true }
}
