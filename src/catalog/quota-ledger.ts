import { type Clock, HOUR_MS } from '../clock.ts'
import { type QuotaState, createQuotaState, mergeStates, startDay } from './quota.ts'

/** Makes another state of one; pure, and may run more than once. */
export type QuotaChange = (state: QuotaState) => QuotaState

/** Where the state of the quota is kept. */
export type QuotaLedger = Readonly<{
  /**
   * Reads the state as of `nowMs` and writes what `change` makes of it, in one step for all who share the ledger. Answers
   * the state after it.
   */
  updateQuota(nowMs: number, change: QuotaChange): Promise<QuotaState>
}>

/** A ledger of one process, which knows nothing after a restart. */
export function createMemoryLedger(clock: Clock): QuotaLedger {
  let state = createQuotaState(clock.nowMs())
  let lookupTimesMs: number[] = []
  return {
    updateQuota(nowMs, change) {
      lookupTimesMs = lookupTimesMs.filter((timeMs) => timeMs > nowMs - HOUR_MS)
      const before = { ...startDay(state, nowMs), lookupsLastHour: lookupTimesMs.length }
      state = change(before)
      for (let count = before.lookupsLastHour; count < state.lookupsLastHour; count++)
        lookupTimesMs.push(nowMs)
      return Promise.resolve(state)
    },
  }
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
  let isBehind = false
  let last: Promise<unknown> = Promise.resolve()
  const updateShared = async (nowMs: number, change: QuotaChange): Promise<QuotaState> => {
    const mine = isBehind ? await own.updateQuota(nowMs, (state) => state) : undefined
    let newLookups = 0
    const state = await shared.updateQuota(nowMs, (stored) => {
      const before = mine === undefined ? stored : mergeStates(stored, mine)
      const after = change(before)
      newLookups = after.lookupsLastHour - before.lookupsLastHour
      return after
    })
    isBehind = false
    // Of the look-ups only one's own are known by their times; those of others would count for an hour too long.
    await own.updateQuota(nowMs, ({ lookupsLastHour }) => ({
      ...state,
      lookupsLastHour: lookupsLastHour + newLookups,
    }))
    return state
  }
  return {
    updateQuota(nowMs, change) {
      // One after the other: a success that ends after a later failure would take back what that one noted.
      const turn = last.then(() =>
        updateShared(nowMs, change).catch((error: unknown) => {
          details.onFailure(error)
          isBehind = true
          return own.updateQuota(nowMs, change)
        }),
      )
      last = turn.catch(() => {})
      return turn
    },
  }
}
