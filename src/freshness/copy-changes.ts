import type { Clock } from '../clock.ts'
import type { CopyStore } from '../storage/store.ts'
import { WALK_VISIBLE_WITHIN_MS } from './age.ts'

export type CopyChanges = Readonly<{
  /**
   * Return a function that says whether another walk of a listed channel may be current than now, at most a second late. Call it
   * before the data are read, and not for other ids, because each is remembered. In a channel that nobody asked for within a second, the answer is yes.
   */
  watch(channelId: string): () => boolean
}>

/** `readAtMs` and `checkedAtMs`: when the last read began, and the last that has ended, Unix milliseconds. */
type KnownWalk = { walk: number | undefined; readAtMs: number; checkedAtMs: number }

/** Create the memory of the current walks. While it is asked for a channel, the copy is read twice a second, in the background. */
export function createCopyChanges(store: Pick<CopyStore, 'getCopyState'>, clock: Clock): CopyChanges {
  const knownWalks = new Map<string, KnownWalk>()
  const read = async (channelId: string, known: KnownWalk): Promise<void> => {
    const readAtMs = clock.nowMs()
    known.readAtMs = readAtMs
    try {
      known.walk = (await store.getCopyState(channelId)).currentWalk
    } catch {
      // While the store cannot be read, nothing newer can be shown.
    }
    known.checkedAtMs = readAtMs
  }
  /** Return the current walk, or `undefined` if it was not read within a second. */
  const findWalk = (channelId: string): number | undefined => {
    const known = knownWalks.get(channelId) ?? {
      walk: undefined,
      readAtMs: -Infinity,
      checkedAtMs: -Infinity,
    }
    knownWalks.set(channelId, known)
    const nowMs = clock.nowMs()
    if (!isRecent(known.readAtMs, WALK_VISIBLE_WITHIN_MS / 2, nowMs)) void read(channelId, known)
    return isRecent(known.checkedAtMs, WALK_VISIBLE_WITHIN_MS, nowMs) ? known.walk : undefined
  }
  return {
    watch(channelId) {
      const walk = findWalk(channelId)
      return () => walk === undefined || findWalk(channelId) !== walk
    },
  }
}

/** A time in the future says that the clock was set back. */
function isRecent(timeMs: number, maxAgeMs: number, nowMs: number): boolean {
  return timeMs <= nowMs && nowMs - timeMs < maxAgeMs
}
