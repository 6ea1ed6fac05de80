import { type Clock, HOUR_MS, isWithin } from '../clock.ts'
import {
  type QuotaState,
  type ShareCalls,
  correctPause,
  createQuotaState,
  mergeStates,
  startDay,
  toDay,
} from './quota.ts'

/** Makes another state of one; pure, and may run more than once. */
export type QuotaChange = (state: QuotaState) => QuotaState

/** Where the state of the quota is kept. */
export type QuotaLedger = Readonly<{
  /**
   * Reads the state as of `nowMs` and writes what `change` makes of it, in one step for all who share the ledger. Answers
   * the state after it. Removes an impossible pause first: a ledger of several machines judges that by the later of the machine's and the database's clock.
   */
  updateQuota(nowMs: number, change: QuotaChange): Promise<QuotaState>
}>

/** A ledger of one process, which knows nothing after a restart. */
export function createMemoryLedger(clock: Clock): QuotaLedger {
  let state = createQuotaState(clock.nowMs())
  let lookupTimesMs: number[] = []
  return {
    updateQuota(nowMs, change) {
      lookupTimesMs = lookupTimesMs.filter((timeMs) => isWithin(timeMs, HOUR_MS, nowMs))
      const before = { ...startDay(correctPause(state, nowMs), nowMs), lookupsLastHour: lookupTimesMs.length }
      state = change(before)
      for (let count = before.lookupsLastHour; count < state.lookupsLastHour; count++)
        lookupTimesMs.push(nowMs)
      return Promise.resolve(state)
    },
  }
}

const NO_CALLS: ShareCalls = { walk: 0, refresh: 0, lookup: 0 }

function addCalls(a: ShareCalls, b: ShareCalls): ShareCalls {
  return { walk: a.walk + b.walk, refresh: a.refresh + b.refresh, lookup: a.lookup + b.lookup }
}

function subtractCalls(a: ShareCalls, b: ShareCalls): ShareCalls {
  return { walk: a.walk - b.walk, refresh: a.refresh - b.refresh, lookup: a.lookup - b.lookup }
}

/**
 * The ledger in the store, and while that fails one of this process that goes on with what was seen last. What was
 * learned meanwhile is written when the store is back.
 */
export function createSharedLedger(
  shared: QuotaLedger,
  details: Readonly<{ clock: Clock; onFailure(error: unknown): void }>,
): QuotaLedger {
  const own = createMemoryLedger(details.clock)
  /** Calls of an outage, which nobody else has counted; `undefined` while the store is there. */
  let unsaved: Pick<QuotaState, 'day' | 'calls'> | undefined
  const updateShared = async (nowMs: number, change: QuotaChange): Promise<QuotaState> => {
    const mine = unsaved === undefined ? undefined : await own.updateQuota(nowMs, (state) => state)
    const { day, calls } = unsaved ?? { day: 0, calls: NO_CALLS }
    let newLookups = 0
    const state = await shared.updateQuota(nowMs, (stored) => {
      const sum = stored.day === day ? addCalls(stored.calls, calls) : stored.calls
      const before =
        mine === undefined ? stored : mergeStates(stored, { ...mine, day: stored.day, calls: sum })
      const after = change(before)
      newLookups = after.lookupsLastHour - before.lookupsLastHour
      return after
    })
    unsaved = undefined
    // Of the look-ups only one's own are known by their times; those of others would count for an hour too long.
    await own.updateQuota(nowMs, ({ lookupsLastHour }) => ({
      ...state,
      lookupsLastHour: lookupsLastHour + newLookups,
    }))
    return state
  }
  const updateOwn = (nowMs: number, change: QuotaChange): Promise<QuotaState> =>
    own.updateQuota(nowMs, (before) => {
      const after = change(before)
      const earlier = unsaved?.day === after.day ? unsaved.calls : NO_CALLS
      const made = subtractCalls(after.calls, before.day === after.day ? before.calls : NO_CALLS)
      unsaved = { day: after.day, calls: addCalls(earlier, made) }
      return after
    })
  const update = async (nowMs: number, change: QuotaChange): Promise<QuotaState> => {
    try {
      return await updateShared(nowMs, change)
    } catch (error) {
      details.onFailure(error)
      return updateOwn(nowMs, change)
    }
  }
  // One after the other: a success that ends after a later failure would take back what that one noted.
  return { updateQuota: createTogether(update) }
}

/**
 * Changes that come while another one is being written are written together, in their order: many visitors at once cost a
 * few transactions. Those of another UTC day are another turn: each day has its own counts.
 */
export function createTogether(update: QuotaLedger['updateQuota']): QuotaLedger['updateQuota'] {
  let last: Promise<unknown> = Promise.resolve()
  let waiting: Readonly<{ day: number; changes: QuotaChange[]; turn: Promise<QuotaState> }> | undefined
  const open = (nowMs: number): NonNullable<typeof waiting> => {
    const changes: QuotaChange[] = []
    const turn = last.then(() => {
      if (waiting?.changes === changes) waiting = undefined
      return update(nowMs, (before) => changes.reduce((state, change) => change(state), before))
    })
    last = turn.catch(() => {})
    return { day: toDay(nowMs), changes, turn }
  }
  return (nowMs, change) => {
    if (waiting?.day !== toDay(nowMs)) waiting = open(nowMs)
    waiting.changes.push(change)
    return waiting.turn
  }
}
