import { type Clock, HOUR_MS, SECOND_MS, isWithin, computeNextMidnightUtcMs } from '../clock.ts'
import { CatalogCallBlockedError, type CatalogRateLimitedError } from '../errors.ts'
import { createBatcher } from '../lib/concurrency.ts'
import {
  type CallPurpose,
  type DailyLimit,
  type Decision,
  type QuotaChange,
  type QuotaRules,
  type QuotaState,
  type QuotaStore,
  type CallsByShare,
  checkQuota,
  computeAllowedCalls,
  computeRemainingCalls,
  clearImpossiblePause,
  recordCall,
  createQuotaState,
  findDailyLimit,
  mergeOfflineState,
  recordSuccess,
  recordRateLimit,
  rollToDay,
  toDayNumber,
} from './quota.ts'

/** How long a local denial is trusted before the store is read again. */
const DENIAL_CACHE_MS: number = SECOND_MS

/**
 * First look-ups a day that a machine may make while nobody counts those of all machines: so small a part of the daily limit that
 * ten machines stay within their share, and enough for the boxes of half a minute, in which a database server restarts.
 */
const OUTAGE_SHARE = 0.01
const MAX_OUTAGE_CALLS = 1_000

export type QuotaReport = Readonly<{
  quota: QuotaState
  /** `undefined`: no limit is set or learned. */
  limit: DailyLimit | undefined
  /** Remaining calls today; `undefined` without a limit. */
  remaining: CallsByShare | undefined
}>

/** Keeps calls within the catalog's limits, across all processes that share the store. */
export type RateLimiter = Readonly<{
  /** Count one call. @throws CatalogCallBlockedError when it is not allowed */
  acquire(purpose: CallPurpose): Promise<void>
  recordSuccess(calledAtMs: number): Promise<void>
  recordRateLimit(error: CatalogRateLimitedError, calledAtMs: number): Promise<void>
  /** Predict `acquire` from local state, without reading the store; `true` when that state is too old to deny the call. */
  canCall(purpose: CallPurpose): boolean
  /** Apply a pause that another thread reported. */
  pauseUntil(untilMs: number): Promise<void>
  /** Compute the wait before the next walk call: 0 if `plannedCalls` are allowed today, else they are spread over the day. */
  computeWalkWaitMs(plannedCalls: number, purpose?: WalkPurpose): number
  read(): Promise<QuotaReport>
  /** Return the report from local state, without reading the store. */
  getLocalReport(): QuotaReport
}>

export type WalkPurpose = Extract<CallPurpose, 'walk' | 'first-walk'>

export type RateLimiterOptions = Readonly<{
  clock: Clock
  unknownLookupsPerHour: number
  /** Calls per day; without it, the limit is learned from a 429. */
  dailyLimit?: number | null
  /** Counts the calls of all processes; without it, this process counts alone. */
  store?: QuotaStore
  /** Other machines use the same store. While it is unavailable, their usage is unknown, and few calls are made. Default: false. */
  isShared?: boolean
  /** Processes of this machine, which share its reserve. Default: 1. */
  processes?: number
  onStoreFailure?(error: unknown): void
}>

const DENIAL_REASONS = {
  paused: 'calls to the catalog are paused: its request limit was reached',
  degraded: 'the database that counts the calls of all machines is unavailable, and its reserve is used up',
  share_exhausted: 'the share of the daily limit for this kind of call is used up until 00:00 UTC',
  lookups_exhausted: 'the look-ups of unknown products for this hour are used up',
} as const satisfies Record<Exclude<Decision, 'allowed'> | 'degraded', string>

export function createRateLimiter(options: RateLimiterOptions): RateLimiter {
  const { clock } = options
  const counter = createQuotaCounter(options)
  const rules = { dailyLimit: options.dailyLimit ?? null, lookupsPerHour: options.unknownLookupsPerHour }
  const toReport = (quota: QuotaState): QuotaReport => {
    const nowMs = clock.nowMs()
    return {
      quota,
      limit: findDailyLimit(quota, rules, nowMs),
      remaining: computeRemainingCalls(quota, rules, nowMs),
    }
  }
  let outage = { day: 0, calls: 0 }
  const canCallAlone = (state: QuotaState, purpose: CallPurpose, nowMs: number): boolean => {
    // Others have data that are shown meanwhile.
    if (purpose !== 'lookup' && purpose !== 'channels') return false
    const limit = findDailyLimit(state, rules, nowMs)
    const ofMachine = Math.min(MAX_OUTAGE_CALLS, (limit?.calls ?? Infinity) * OUTAGE_SHARE)
    const reserve = Math.floor(ofMachine / Math.max(1, options.processes ?? 1))
    return (outage.day === toDayNumber(nowMs) ? outage.calls : 0) < reserve
  }
  const countOutageCall = (nowMs: number): void => {
    const day = toDayNumber(nowMs)
    outage = { day, calls: outage.day === day ? outage.calls + 1 : 1 }
  }
  return {
    async acquire(purpose) {
      let decision: Decision | 'degraded' = 'allowed'
      await counter.update((state, nowMs, isDegraded) => {
        const isBlocked = isDegraded && !canCallAlone(state, purpose, nowMs)
        decision = isBlocked ? 'degraded' : checkQuota(state, rules, { purpose, nowMs })
        if (decision !== 'allowed') return state
        if (isDegraded) countOutageCall(nowMs)
        return recordCall(state, { purpose, nowMs })
      })
      assertAllowed(decision)
    },
    async recordSuccess(calledAtMs) {
      const localState = counter.getState()
      if (recordSuccess(localState, calledAtMs) !== localState)
        await counter.update((state) => recordSuccess(state, calledAtMs))
    },
    async recordRateLimit({ retryAfterMs }, calledAtMs) {
      await counter.update((state, nowMs) => recordRateLimit(state, { retryAfterMs, nowMs, calledAtMs }))
    },
    canCall(purpose) {
      const isRecent = counter.isRecent()
      const [state, nowMs] = [counter.getState(), clock.nowMs()]
      if (counter.isDegraded() && !canCallAlone(state, purpose, nowMs)) return !isRecent
      const decision = checkQuota(state, rules, { purpose, nowMs })
      return decision === 'allowed' || (decision === 'lookups_exhausted' && !isRecent)
    },
    async pauseUntil(untilMs) {
      if (untilMs <= Math.max(counter.getState().limitedUntilMs, clock.nowMs())) return
      const toLaterEnd = ({ limitedUntilMs }: QuotaState): number => Math.max(limitedUntilMs, untilMs)
      await counter.update((state) => ({ ...state, limitedUntilMs: toLaterEnd(state) }))
    },
    computeWalkWaitMs: (plannedCalls, purpose = 'walk') =>
      computeWaitMs(counter.getState(), rules, { plannedCalls, purpose, nowMs: clock.nowMs() }),
    read: async () => toReport(await counter.update((state) => state)),
    getLocalReport: () => toReport(counter.getState()),
  }
}

function assertAllowed(decision: Decision | 'degraded'): void {
  if (decision !== 'allowed') throw new CatalogCallBlockedError(DENIAL_REASONS[decision])
}

/** Spread the rest of the walk share over the rest of the day; when it is used up, wait for the reset. */
function computeWaitMs(
  state: QuotaState,
  rules: QuotaRules,
  request: Readonly<{ plannedCalls: number; purpose: WalkPurpose; nowMs: number }>,
): number {
  const allowedCalls = computeAllowedCalls(state, rules, request) ?? Infinity
  if (request.plannedCalls <= allowedCalls) return 0
  return Math.ceil((computeNextMidnightUtcMs(request.nowMs) - request.nowMs) / (allowedCalls + 1))
}

/** One change of a batch. `nowMs`: time of the batch; `isDegraded`: the counts of other machines are unknown. */
type QuotaUpdate = (state: QuotaState, nowMs: number, isDegraded: boolean) => QuotaState

/** Count in the store. While it fails, count in memory and add these counts to the store when it is available again. */
function createQuotaCounter({ clock, store, isShared = false, onStoreFailure }: RateLimiterOptions) {
  /** The last state read from the store. */
  let syncedState = createQuotaState(clock.nowMs())
  /** `syncedState` plus what this process has counted since. */
  let localState = syncedState
  let updatedAtMs = -Infinity
  let isDegraded = false
  /** Only this process's look-ups: the times of others are unknown here. */
  const ownLookupsBySecond = new Map<number, number>()
  const countOwnLookups = (nowMs: number): number => {
    for (const second of ownLookupsBySecond.keys())
      if (!isWithin(second * SECOND_MS, HOUR_MS, nowMs)) ownLookupsBySecond.delete(second)
    return [...ownLookupsBySecond.values()].reduce((sum, count) => sum + count, 0)
  }
  const toLocalState = (nowMs: number): QuotaState => ({
    ...rollToDay(clearImpossiblePause(localState, nowMs), nowMs),
    lookupsLastHour: countOwnLookups(nowMs),
  })
  const applyUpdate = (before: QuotaState, after: QuotaState, nowMs: number): void => {
    localState = after
    const count = after.lookupsLastHour - before.lookupsLastHour
    if (count === 0) return
    const second = Math.floor(nowMs / SECOND_MS)
    if (!ownLookupsBySecond.has(second)) countOwnLookups(nowMs)
    ownLookupsBySecond.set(second, (ownLookupsBySecond.get(second) ?? 0) + count)
  }
  const updateInMemory = (nowMs: number, change: QuotaChange): void => {
    const before = toLocalState(nowMs)
    applyUpdate(before, change(before), nowMs)
  }
  const updateInStore = async (quotaStore: QuotaStore, nowMs: number, change: QuotaChange): Promise<void> => {
    const unsyncedState = localState === syncedState ? undefined : toLocalState(nowMs)
    let before = syncedState
    const after = await quotaStore.updateQuota(nowMs, (stored) => {
      before = unsyncedState === undefined ? stored : mergeOfflineState(stored, unsyncedState, syncedState)
      return change(before)
    })
    applyUpdate(before, after, nowMs)
    syncedState = after
    isDegraded = false
  }
  const update = createBatcher<QuotaUpdate, QuotaState>(async (updates) => {
    const nowMs = clock.nowMs()
    const toChange = (degraded: boolean) => (state: QuotaState) =>
      updates.reduce((current, apply) => apply(current, nowMs, degraded), state)
    try {
      if (store === undefined) updateInMemory(nowMs, toChange(false))
      else await updateInStore(store, nowMs, toChange(false))
    } catch (error) {
      onStoreFailure?.(error)
      isDegraded = isShared
      updateInMemory(nowMs, toChange(isShared))
    }
    updatedAtMs = nowMs
    return updates.map(() => localState)
  })
  return {
    update,
    getState: () => clearImpossiblePause(localState, clock.nowMs()),
    /** `true` when the store was read within `DENIAL_CACHE_MS`. */
    isRecent: () => isWithin(updatedAtMs, DENIAL_CACHE_MS, clock.nowMs()),
    isDegraded: () => isDegraded,
  }
}
