import { type Clock, MINUTE_MS, SECOND_MS, systemClock } from '../clock.ts'
import { isOwnerGone } from './lease-owner.ts'
import type { CopyStore } from './store.ts'

/** At most twice this passes between two looks for walks that nobody goes on with; with the lease that is within a minute. */
const WATCH_EVERY_MS: number = 5 * SECOND_MS
const LONGEST_WATCH_MS: number = 15 * MINUTE_MS

type WatchDetails = Readonly<{
  store: Pick<CopyStore, 'findUnfinishedWalks' | 'findChannelList'>
  clock: Clock
  /** Ids to serve; `null`: all. */
  config: Readonly<{ channels: readonly string[] | null }>
}>

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

/** Served channels of the list whose walk nobody goes on with. */
export async function findAbandoned({ store, config, clock }: WatchDetails): Promise<readonly string[]> {
  const walks = await store.findUnfinishedWalks()
  const abandoned = walks.filter(
    ({ channelId, owner, untilMs }) =>
      (config.channels?.includes(channelId) ?? true) && (untilMs <= clock.nowMs() || isOwnerGone(owner)),
  )
  if (abandoned.length === 0) return []
  const listed = new Set((await store.findChannelList())?.channels.map(({ id }) => id))
  return abandoned.map(({ channelId }) => channelId).filter((id) => listed.has(id))
}
