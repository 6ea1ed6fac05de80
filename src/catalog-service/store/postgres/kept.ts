import { LRUCache } from 'lru-cache'
import { MAX_KEPT, makeViewCache } from '../at-hand.ts'
import type { Caller } from '../catalog-store.ts'
import type { ChannelView } from '../channel-view.ts'

/** What is kept of one state of the catalog; the database tells with each answer which state that is. */
export type Kept = {
  readonly state: string
  readonly callers: LRUCache<string, Caller>
  readonly views: LRUCache<string, ChannelView>
  first: Caller | undefined
}

/** What a process keeps; the counter and the reads of a store have one together. */
export type Keeper = Readonly<{
  /** What is kept of the newest state that was heard of. */
  get(): Kept
  /** Begins anew, unless it is of this state already. */
  moveTo(state: string): Kept
}>

/** Keeps nothing yet. */
export function createKeeper(): Keeper {
  let kept = makeKept('')
  return {
    get: () => kept,
    moveTo(state) {
      if (state !== kept.state) kept = makeKept(state)
      return kept
    },
  }
}

function makeKept(state: string): Kept {
  return { state, first: undefined, callers: new LRUCache({ max: MAX_KEPT }), views: makeViewCache() }
}
