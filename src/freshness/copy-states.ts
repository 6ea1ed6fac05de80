import { type Clock, SECOND_MS } from '../clock.ts'
import type { CopyState, CopyStore } from '../storage/store.ts'

/** Another process may walk: how long what was last seen of a copy is believed by those who do not look themselves. */
const BELIEVED_MS: number = SECOND_MS

/** Which walk of each channel is the current one. */
export type CopyStates = Readonly<{
  /** Reads the store. @throws StoreError */
  read(channelId: string): Promise<CopyState>
  /** Is it still the walk that was last seen, and was that a moment ago? Reads nothing. */
  isCurrent(channelId: string, walk: number): boolean
}>

/** Makes the memory of what was last seen of each copy; there are as many as channels. */
export function createCopyStates(store: Pick<CopyStore, 'getCopyState'>, clock: Clock): CopyStates {
  const seen = new Map<string, Readonly<{ walk: number; atMs: number }>>()
  return {
    async read(channelId) {
      const atMs = clock.nowMs()
      const state = await store.getCopyState(channelId)
      seen.set(channelId, { walk: state.currentWalk, atMs })
      return state
    },
    isCurrent(channelId, walk) {
      const last = seen.get(channelId)
      if (last?.walk !== walk) return false
      const agoMs = clock.nowMs() - last.atMs
      return agoMs >= 0 && agoMs < BELIEVED_MS
    },
  }
}
