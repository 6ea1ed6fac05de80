import { MINUTE_MS, SECOND_MS, systemClock } from '../clock.ts'
import { isServed } from '../config/config.ts'
import { isOwnerGone } from '../storage/lease-owner.ts'
import type { CopyStore } from '../storage/store.ts'
import { type WalkDueDetails, isWalkDue } from './walk-schedule.ts'

/** At most twice this passes between two looks for walks that nobody goes on with; with the lease that is within a minute. */
const WATCH_EVERY_MS: number = 5 * SECOND_MS
const LONGEST_WATCH_MS: number = 15 * MINUTE_MS

type WatchDetails = WalkDueDetails &
  Readonly<{ store: Pick<CopyStore, 'findUnfinishedWalks' | 'findFutureCopies' | 'findChannelList'> }>

/** A walk that cannot wait for its time: another one was not ended, or a clock that was wrong has dated the copy. */
export type UrgentWalk = Readonly<{ why: 'taken-over' | 'future'; channelIds: readonly string[] }>

/**
 * Looks now and then for walks of others whose process has died. Of the machine's clock: a matter between machines. One that
 * cannot be gone on with, as while the catalog may not be called, is tried less and less often.
 */
export async function watchOthers(signal: AbortSignal, takeOver: () => Promise<boolean>): Promise<void> {
  let waitMs = WATCH_EVERY_MS
  while (!signal.aborted) {
    // By chance, so that not all machines look at once.
    await systemClock.wait(waitMs * (1 + Math.random()), signal)
    if (signal.aborted) return
    waitMs = (await takeOver()) ? Math.min(waitMs * 2, LONGEST_WATCH_MS) : WATCH_EVERY_MS
  }
}

/** Find what cannot wait; `undefined` where there is nothing, or the store cannot be read. */
export async function findUrgent(details: WatchDetails): Promise<UrgentWalk | undefined> {
  const { logger } = details
  const abandonedIds = await findAbandoned(details).catch(() => [])
  if (abandonedIds.length > 0) {
    logger.info({ channelIds: abandonedIds }, 'a walk whose process has died is taken over')
    return { why: 'taken-over', channelIds: abandonedIds }
  }
  const futureIds = await findFuture(details).catch(() => [])
  if (futureIds.length === 0 || !(await isWalkDue(details))) return undefined
  logger.warn(
    { channelIds: futureIds },
    'the stored copy has a time in the future, because a clock was wrong: walking the catalog again now',
  )
  return { why: 'future', channelIds: futureIds }
}

/** Served channels of the list whose walk nobody goes on with. */
async function findAbandoned(details: WatchDetails): Promise<readonly string[]> {
  const walks = await details.store.findUnfinishedWalks()
  const abandoned = walks.filter(({ owner, isOver }) => isOver || isOwnerGone(owner))
  return keepServed(
    details,
    abandoned.map(({ channelId }) => channelId),
  )
}

/** The same whose copy is of the future: it has no age, so that prices are not shown. */
async function findFuture(details: WatchDetails): Promise<readonly string[]> {
  return keepServed(details, await details.store.findFutureCopies())
}

async function keepServed(
  { store, config }: WatchDetails,
  channelIds: readonly string[],
): Promise<readonly string[]> {
  const served = channelIds.filter((id) => isServed(config, id))
  if (served.length === 0) return []
  const listed = new Set((await store.findChannelList())?.channels.map(({ id }) => id))
  return served.filter((id) => listed.has(id))
}
