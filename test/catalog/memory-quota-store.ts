import {
  type QuotaState,
  type QuotaStore,
  clearImpossiblePause,
  createQuotaState,
  rollToDay,
} from '../../src/catalog/quota.ts'
import { HOUR_MS, isWithin } from '../../src/clock.ts'
import { StoreError } from '../../src/errors.ts'

/** A store that several rate limiters share. A test can make it fail and recover. */
export type MemoryQuotaStore = QuotaStore & {
  isBroken: boolean
  /** Number of updates. */
  updateCount: number
  read(nowMs: number): Promise<QuotaState>
}

/** Create an empty store. */
export function createMemoryQuotaStore(): MemoryQuotaStore {
  let state = createQuotaState(0)
  let lookupTimesMs: number[] = []
  const store: MemoryQuotaStore = {
    isBroken: false,
    updateCount: 0,
    updateQuota(nowMs, change) {
      store.updateCount += 1
      if (store.isBroken) return Promise.reject(new StoreError('unavailable'))
      lookupTimesMs = lookupTimesMs.filter((timeMs) => isWithin(timeMs, HOUR_MS, nowMs))
      const before = {
        ...rollToDay(clearImpossiblePause(state, nowMs), nowMs),
        lookupsLastHour: lookupTimesMs.length,
      }
      state = change(before)
      for (let count = before.lookupsLastHour; count < state.lookupsLastHour; count += 1)
        lookupTimesMs.push(nowMs)
      return Promise.resolve(state)
    },
    read: (nowMs) => store.updateQuota(nowMs, (state) => state),
  }
  return store
}
