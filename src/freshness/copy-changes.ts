import { type Clock, isWithin } from '../clock.ts'
import type { CopyStore } from '../storage/store.ts'
import { WALK_VISIBLE_WITHIN_MS } from './age.ts'

export type CopyChanges = Readonly<{
  /**
   * Return a function that says whether another walk of the channel may be current than when it was created, at most a second late.
   * It is asked often: then the answer comes from memory.
   */
  watch(channelId: string): () => boolean
}>

/** `checkedAtMs`: when the last read began, Unix milliseconds. */
type KnownWalk = { walk: number | undefined; checkedAtMs: number; isReading: boolean }

/** Create the memory of the current walks. While it is asked for a channel, the copy is read twice a second, in the background. */
export function createCopyChanges(store: Pick<CopyStore, 'getCopyState'>, clock: Clock): CopyChanges {
  const knownWalks = new Map<string, KnownWalk>()
  const read = async (channelId: string, known: KnownWalk): Promise<void> => {
    known.isReading = true
    const checkedAtMs = clock.nowMs()
    try {
      const { currentWalk } = await store.getCopyState(channelId)
      Object.assign(known, { walk: currentWalk, checkedAtMs })
    } catch {
      // Nothing is known, so the response is prepared again, which reports the failure.
    } finally {
      known.isReading = false
    }
  }
  /** Return the current walk, or `undefined` if it was not read within a second. */
  const findWalk = (channelId: string): number | undefined => {
    const known = knownWalks.get(channelId) ?? { walk: undefined, checkedAtMs: -Infinity, isReading: false }
    knownWalks.set(channelId, known)
    const nowMs = clock.nowMs()
    const isRecent = isWithin(known.checkedAtMs, WALK_VISIBLE_WITHIN_MS / 2, nowMs)
    if (!isRecent && !known.isReading) void read(channelId, known)
    return isWithin(known.checkedAtMs, WALK_VISIBLE_WITHIN_MS, nowMs) ? known.walk : undefined
  }
  return {
    watch(channelId) {
      let walk = findWalk(channelId)
      return () => {
        const current = findWalk(channelId)
        // The first read has ended meanwhile.
        walk ??= current
        return current === undefined || current !== walk
      }
    },
  }
}
