import type { Clock } from '../clock.ts'
import { WalkError } from '../errors.ts'
import { isClockSkewed, readDatabaseClockSkewMs } from '../observability/clock-monitor.ts'
import type { CopyStore } from '../storage/store.ts'

type ClockDetails = Readonly<{
  store: Pick<CopyStore, 'readDatabaseTime' | 'findFutureCopies'>
  clock: Clock
  /** By how much the catalog's clock is ahead of this one, in milliseconds; `undefined`: unknown. */
  catalogSkewMs: number | undefined
}>

/**
 * Compare this machine's clock before a walk dates everything by it. A machine that is behind would take what the others wrote for
 * future data, and write it anew with times that are too old.
 * @throws WalkError when the clock is wrong by every other one: another machine, or a later walk, walks then
 */
export async function checkWalkClock({
  store,
  clock,
  catalogSkewMs,
}: ClockDetails): Promise<Readonly<{ isUnreliable: boolean }>> {
  const databaseSkewMs = await readDatabaseClockSkewMs(store, clock)
  const knownSkewsMs = [databaseSkewMs, catalogSkewMs].filter((skewMs) => typeof skewMs === 'number')
  if (knownSkewsMs.length === 0 || !knownSkewsMs.every(isClockSkewed)) return { isUnreliable: false }
  const isBehind = knownSkewsMs.some((skewMs) => skewMs > 0)
  if (knownSkewsMs.length > 1 || (isBehind && (await store.findFutureCopies()).length > 0))
    throw new WalkError(
      `the clock of this machine differs from that of the ${typeof databaseSkewMs === 'number' ? 'database' : 'catalog'} by more than a minute, so it walks nothing; set the wrong clock by NTP`,
    )
  return { isUnreliable: true }
}
