import { type Clock, HOUR_MS, SECOND_MS, isWithin, nextMidnightUtcMs } from '../clock.ts'
import { CatalogCallBlockedError, type CatalogRateLimitedError } from '../errors.ts'
import { createBatcher } from '../lib/batcher.ts'
import {
  type CallPurpose,
  type DailyLimit,
  type Decision,
  type QuotaChange,
  type QuotaRules,
  type QuotaState,
  type QuotaStore,
  type ShareCalls,
  checkQuota,
  computeLeft,
  correctPause,
  countCall,
  createQuotaState,
  findDailyLimit,
  mergeOutage,
  noteAnswered,
  noteLimited,
  startDay,
} from './quota.ts'

/** How long a refusal that may pass is believed without asking the store again: look-ups become free one by one. */
const REFUSAL_HINT_MS: number = SECOND_MS

/** What an operator sees of the quota. */
export type QuotaReport = Readonly<{
  quota: QuotaState
  /** `undefined` where no limit is set or learned. */
  limit: DailyLimit | undefined
  /** What is left of each share today; `undefined` without a limit. */
  left: ShareCalls | undefined
}>

/** Keeps calls within the catalog's limits, together with all processes that share the store. */
export type RateLimiter = Readonly<{
  /** Count one call. @throws CatalogCallBlockedError when it may not be made. */
  take(purpose: CallPurpose): Promise<void>
  noteAnswered(calledAtMs: number): Promise<void>
  noteLimited(error: CatalogRateLimitedError, calledAtMs: number): Promise<void>
  /** Would `take` allow the call, as far as this process knows? Nothing is asked. */
  isFree(purpose: CallPurpose): boolean
  /** Take over a pause that another thread learned of. */
  pauseUntil(untilMs: number): Promise<void>
  /** How long a walk waits, so that `callsToGo` calls do not use up its share before 00:00 UTC; 0 when they fit. */
  computeWalkWaitMs(callsToGo: number): number
  read(): Promise<QuotaReport>
  /** The same as far as this process knows; nothing is asked. */
  readSeen(): QuotaReport
}>

/** How the calls of a process are limited. */
export type RateLimiterOptions = Readonly<{
  clock: Clock
  unknownLookupsPerHour: number
  /** Calls a day; without one it is learned. */
  dailyLimit?: number | null
  /** Where all processes count; without one this process counts alone. */
  store?: QuotaStore
  /**
   * Do other machines count in the same store? While it is unavailable nobody knows how much they use, and no call is made.
   * By default this process then counts alone.
   */
  isShared?: boolean
  onStoreFailure?(error: unknown): void
}>

const REFUSALS = {
  paused: 'calls to the catalog are paused: its request limit was reached',
  degraded: 'the database in which all machines count calls is unavailable',
  share_spent: 'what this kind of call may use of the daily limit is spent until 00:00 UTC',
  lookups_spent: 'the look-ups of unknown products for this hour are spent',
} as const satisfies Record<Exclude<Decision, 'allowed'> | 'degraded', string>

/** Create the rate limiter of one process or thread. */
export function createRateLimiter(options: RateLimiterOptions): RateLimiter {
  const { clock } = options
  const counter = createCounter(options)
  const rules = { dailyLimit: options.dailyLimit ?? null, lookupsPerHour: options.unknownLookupsPerHour }
  const toReport = (quota: QuotaState): QuotaReport => {
    const nowMs = clock.nowMs()
    return { quota, limit: findDailyLimit(quota, rules, nowMs), left: computeLeft(quota, rules, nowMs) }
  }
  return {
    async take(purpose) {
      let decision: Decision | 'degraded' = 'allowed'
      await counter.update((state, nowMs, isDegraded) => {
        decision = isDegraded ? 'degraded' : checkQuota(state, rules, { purpose, nowMs })
        return decision === 'allowed' ? countCall(state, { purpose, nowMs }) : state
      })
      refuseUnlessAllowed(decision)
    },
    async noteAnswered(calledAtMs) {
      const seen = counter.seen()
      if (noteAnswered(seen, calledAtMs) !== seen)
        await counter.update((state) => noteAnswered(state, calledAtMs))
    },
    async noteLimited({ retryAfterMs }, calledAtMs) {
      await counter.update((state, nowMs) => noteLimited(state, { retryAfterMs, nowMs, calledAtMs }))
    },
    isFree(purpose) {
      const isHinted = counter.isRecent()
      if (counter.isDegraded()) return !isHinted
      const decision = checkQuota(counter.seen(), rules, { purpose, nowMs: clock.nowMs() })
      return decision === 'allowed' || (decision === 'lookups_spent' && !isHinted)
    },
    async pauseUntil(untilMs) {
      if (untilMs <= Math.max(counter.seen().limitedUntilMs, clock.nowMs())) return
      const longer = ({ limitedUntilMs }: QuotaState): number => Math.max(limitedUntilMs, untilMs)
      await counter.update((state) => ({ ...state, limitedUntilMs: longer(state) }))
    },
    computeWalkWaitMs: (callsToGo) =>
      computeWaitMs(counter.seen(), rules, { callsToGo, nowMs: clock.nowMs() }),
    read: async () => toReport(await counter.update((state) => state)),
    readSeen: () => toReport(counter.seen()),
  }
}

function refuseUnlessAllowed(decision: Decision | 'degraded'): void {
  if (decision !== 'allowed') throw new CatalogCallBlockedError(REFUSALS[decision])
}

/** Spread what is left of the walk's share over the rest of the day; without any, wait until it is renewed. */
function computeWaitMs(
  state: QuotaState,
  rules: QuotaRules,
  walk: Readonly<{ callsToGo: number; nowMs: number }>,
): number {
  const left = computeLeft(state, rules, walk.nowMs)?.walk ?? Infinity
  if (walk.callsToGo <= left) return 0
  return Math.ceil((nextMidnightUtcMs(walk.nowMs) - walk.nowMs) / (left + 1))
}

/**
 * One change of a batch. `nowMs`: the time of the batch, whose day is the one that is changed; `isDegraded`: the counts of
 * other machines are unknown.
 */
type Step = (state: QuotaState, nowMs: number, isDegraded: boolean) => QuotaState

/** Count in the store, or in memory while it fails; what was counted there is added to the store when it is back. */
function createCounter({ clock, store, isShared = false, onStoreFailure }: RateLimiterOptions) {
  /** The state as the store had it last. */
  let synced = createQuotaState(clock.nowMs())
  /** The same, with what this process has counted since. */
  let seen = synced
  let seenAtMs = -Infinity
  let isDegraded = false
  /** Look-ups of this process by second: of those of others the times are not known here. */
  const lookups = new Map<number, number>()
  const countOwnLookups = (nowMs: number): number => {
    for (const second of lookups.keys())
      if (!isWithin(second * SECOND_MS, HOUR_MS, nowMs)) lookups.delete(second)
    return [...lookups.values()].reduce((sum, count) => sum + count, 0)
  }
  const toOwnState = (nowMs: number): QuotaState => ({
    ...startDay(correctPause(seen, nowMs), nowMs),
    lookupsLastHour: countOwnLookups(nowMs),
  })
  const note = (before: QuotaState, after: QuotaState, nowMs: number): void => {
    seen = after
    const count = after.lookupsLastHour - before.lookupsLastHour
    if (count === 0) return
    const second = Math.floor(nowMs / SECOND_MS)
    if (!lookups.has(second)) countOwnLookups(nowMs)
    lookups.set(second, (lookups.get(second) ?? 0) + count)
  }
  const countInMemory = (nowMs: number, change: QuotaChange): void => {
    const before = toOwnState(nowMs)
    note(before, change(before), nowMs)
  }
  const countInStore = async (to: QuotaStore, nowMs: number, change: QuotaChange): Promise<void> => {
    const own = seen === synced ? undefined : toOwnState(nowMs)
    let before = synced
    const after = await to.updateQuota(nowMs, (stored) => {
      before = own === undefined ? stored : mergeOutage(stored, own, synced)
      return change(before)
    })
    note(before, after, nowMs)
    synced = after
    isDegraded = false
  }
  const update = createBatcher<Step, QuotaState>(async (steps) => {
    const nowMs = clock.nowMs()
    const toChange = (degraded: boolean) => (state: QuotaState) =>
      steps.reduce((before, step) => step(before, nowMs, degraded), state)
    try {
      if (store === undefined) countInMemory(nowMs, toChange(false))
      else await countInStore(store, nowMs, toChange(false))
    } catch (error) {
      onStoreFailure?.(error)
      isDegraded = isShared
      countInMemory(nowMs, toChange(isShared))
    }
    seenAtMs = nowMs
    return steps.map(() => seen)
  })
  return {
    update,
    /** The state as this process saw it last. */
    seen: () => correctPause(seen, clock.nowMs()),
    /** Was the store asked a moment ago? */
    isRecent: () => isWithin(seenAtMs, REFUSAL_HINT_MS, clock.nowMs()),
    isDegraded: () => isDegraded,
  }
}
