import { type Clock, SECOND_MS, isWithin, nextMidnightUtcMs } from '../clock.ts'
import { CallNotMadeError, type CatalogRateLimitedError } from '../errors.ts'
import {
  type CallPurpose,
  type DailyLimit,
  type QuotaRules,
  type QuotaState,
  type ShareCalls,
  type Verdict,
  computeLeft,
  correctPause,
  countCall,
  createQuotaState,
  findDailyLimit,
  isNewsAnswered,
  judgeCall,
  noteAnswered,
  noteLimited,
} from './quota.ts'
import { type QuotaChange, type QuotaLedger, createMemoryLedger } from './quota-ledger.ts'

/** How long a spent hour is believed without asking the ledger again: look-ups become free one by one. */
const SPENT_HINT_MS: number = SECOND_MS

/** What an operator sees of the quota. */
export type QuotaReport = Readonly<{
  quota: QuotaState
  /** `undefined` where no limit is set or learned. */
  limit: DailyLimit | undefined
  /** What is left of each share today; `undefined` without a limit. */
  left: ShareCalls | undefined
}>

/** Keeps calls within the catalog's limits, together with whoever shares the ledger. */
export type Governor = Readonly<{
  /** Counts one call. @throws CallNotMadeError when it may not be made. */
  take(purpose: CallPurpose): Promise<void>
  noteAnswered(calledAtMs: number): Promise<void>
  noteLimited(error: CatalogRateLimitedError, calledAtMs?: number): Promise<void>
  /** Would `take` let it pass, as far as is known here? Nothing is asked. */
  isFree(purpose: CallPurpose): boolean
  limitedUntilMs(): number
  /** Has no call been answered since the last 429, as far as is known here? */
  isUnproven(): boolean
  pauseUntil(untilMs: number): Promise<void>
  computeWalkWaitMs(callsToGo: number): number
  read(): Promise<QuotaReport>
  /** The same as far as is known here; nothing is asked. */
  readSeen(): QuotaReport
}>

/** `dailyLimit`: calls a day; without one it is learned. Without a `ledger` nothing is shared or kept. */
export type GovernorOptions = Readonly<{
  clock: Clock
  unknownLookupsPerHour: number
  dailyLimit?: number | null
  ledger?: QuotaLedger
}>

/** What may be otherwise a moment later without anybody telling. */
const CHANGING: ReadonlySet<Verdict> = new Set(['lookups_spent', 'alone'])

const REFUSALS: Readonly<Record<Exclude<Verdict, 'free'>, string>> = {
  limited: 'calls to the catalog are paused: its request limit was reached',
  alone: 'the database that all machines share is away, and what was set aside for that time is used up',
  share_spent: 'what this kind of call may use of the daily limit is spent until 00:00 UTC',
  lookups_spent: 'the look-ups of unknown products for this hour are spent',
}

/** Makes the governor of one process or thread. */
export function createGovernor(options: GovernorOptions): Governor {
  const { clock } = options
  const view = createView(options)
  const rules: QuotaRules = {
    dailyLimit: options.dailyLimit ?? null,
    lookupsPerHour: options.unknownLookupsPerHour,
  }
  return {
    async take(purpose) {
      const nowMs = clock.nowMs()
      let verdict: Verdict = 'free'
      await view.update(nowMs, (state) => {
        verdict = judgeCall(state, rules, { purpose, nowMs })
        return verdict === 'free' ? countCall(state, { purpose, nowMs }) : state
      })
      refuseUnlessFree(verdict)
    },
    async noteAnswered(calledAtMs) {
      if (isNewsAnswered(view.seen(), calledAtMs))
        await view.update(clock.nowMs(), (state) => noteAnswered(state, calledAtMs))
    },
    async noteLimited({ retryAfterMs }, calledAtMs = clock.nowMs()) {
      const nowMs = clock.nowMs()
      await view.update(nowMs, (state) => noteLimited(state, { retryAfterMs, nowMs, calledAtMs }))
    },
    isFree(purpose) {
      const verdict = judgeCall(view.seen(), rules, { purpose, nowMs: clock.nowMs() })
      return verdict === 'free' || (CHANGING.has(verdict) && !view.isRecent())
    },
    limitedUntilMs: () => view.seen().limitedUntilMs,
    isUnproven: () => view.seen().pauseCount > 0,
    async pauseUntil(untilMs) {
      if (untilMs <= Math.max(view.seen().limitedUntilMs, clock.nowMs())) return
      await view.update(clock.nowMs(), (state) => extendPause(state, untilMs))
    },
    computeWalkWaitMs: (callsToGo) => computeWaitMs(view.seen(), rules, { callsToGo, nowMs: clock.nowMs() }),
    async read() {
      const nowMs = clock.nowMs()
      return toReport(await view.update(nowMs, (state) => state), rules, nowMs)
    },
    readSeen: () => toReport(view.seen(), rules, clock.nowMs()),
  }
}

function toReport(quota: QuotaState, rules: QuotaRules, nowMs: number): QuotaReport {
  const limit = findDailyLimit(quota, rules, nowMs)
  return { quota, limit, left: computeLeft(quota, rules, nowMs) }
}

function extendPause(state: QuotaState, untilMs: number): QuotaState {
  return { ...state, limitedUntilMs: Math.max(state.limitedUntilMs, untilMs) }
}

function refuseUnlessFree(verdict: Verdict): void {
  if (verdict !== 'free') throw new CallNotMadeError(REFUSALS[verdict])
}

/** The ledger, with what was seen of it last. */
function createView({ clock, ledger = createMemoryLedger(clock) }: GovernorOptions): Readonly<{
  /** `nowMs`: the time that the change was made for; its day is the one that is changed. */
  update(nowMs: number, change: QuotaChange): Promise<QuotaState>
  seen(): QuotaState
  /** Was the ledger asked a moment ago? */
  isRecent(): boolean
}> {
  let seen = createQuotaState(clock.nowMs())
  let seenAtMs = -Infinity
  return {
    async update(nowMs, change) {
      seen = await ledger.updateQuota(nowMs, change)
      seenAtMs = nowMs
      return seen
    },
    seen: () => correctPause(seen, clock.nowMs()),
    isRecent: () => isWithin(seenAtMs, SPENT_HINT_MS, clock.nowMs()),
  }
}

/** What is left of the walk's share, spread over the rest of the day; without any, until it is renewed. */
function computeWaitMs(
  state: QuotaState,
  rules: QuotaRules,
  walk: Readonly<{ callsToGo: number; nowMs: number }>,
): number {
  const left = computeLeft(state, rules, walk.nowMs)?.walk ?? Infinity
  if (walk.callsToGo <= left) return 0
  const dayLeftMs = nextMidnightUtcMs(walk.nowMs) - walk.nowMs
  return Math.ceil(dayLeftMs / (left + 1))
}
