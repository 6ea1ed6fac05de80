import { DAY_MS, HOUR_MS, MINUTE_MS, computeNextMidnightUtcMs } from '../clock.ts'
import { computeBackoffMs } from '../lib/backoff.ts'

/** `first-walk`: of a channel without a copy; `refresh`: a known product that is not fresh; `lookup`: an unknown product. */
export type CallPurpose = 'walk' | 'first-walk' | 'refresh' | 'lookup' | 'channels'

/** Shares of the daily limit. A list of channels for a visit counts as `lookup`, and a first walk as `walk`. */
export const QUOTA_SHARES = ['walk', 'refresh', 'lookup'] as const
export type QuotaShare = (typeof QUOTA_SHARES)[number]

export type CallsByShare = Readonly<Record<QuotaShare, number>>

/** The part of the daily limit for walks. */
export const WALK_SHARE = 0.5
/** Look-ups have the rest. */
const REFRESH_SHARE = 0.4

/** Pauses after a 429 without a usable `Retry-After`. */
const RATE_LIMIT_PAUSE_OPTIONS = { initialMs: MINUTE_MS, maxMs: HOUR_MS } as const
/** A pause ends at the reset at 00:00 UTC, plus this tolerance for clock differences. */
const MIDNIGHT_SLACK_MS: number = 5 * MINUTE_MS

/** A 429 after fewer calls does not set the learned limit: other clients of the key probably used up the day. */
const MIN_CALLS_TO_LEARN = 20
/** A learned limit grows by this factor per day, to probe for more, and expires after `LEARNED_LIMIT_MAX_DAYS`. */
const LEARNED_LIMIT_DAILY_GROWTH = 1.25
const LEARNED_LIMIT_MAX_DAYS = 7

/** The quota state that all processes of a store share. */
export type QuotaState = Readonly<{
  /** No call is sent before this time, Unix milliseconds. */
  limitedUntilMs: number
  /** Consecutive pauses, for the backoff. */
  pauseCount: number
  /** When the 429 came that set `learnedCalls`, Unix milliseconds; 0: never. */
  limitedAtMs: number
  /** Calls of that UTC day before the 429; `null` when no limit was learned, or a later success refuted it. */
  learnedCalls: number | null
  /** The UTC day of `calls`, in days since 1970. */
  day: number
  calls: CallsByShare
  /** First look-ups of the last 60 minutes. */
  lookupsLastHour: number
}>

/** A pure function: a store may run it more than once. */
export type QuotaChange = (state: QuotaState) => QuotaState

export type QuotaStore = Readonly<{
  /** In one transaction: read the state as of `nowMs`, apply `clearImpossiblePause` and `change`, write and return the result. */
  updateQuota(nowMs: number, change: QuotaChange): Promise<QuotaState>
}>

export type QuotaRules = Readonly<{ dailyLimit: number | null; lookupsPerHour: number }>

/** `isLearned`: from a 429, not from the settings. */
export type DailyLimit = Readonly<{ calls: number; isLearned: boolean }>

export type Decision = 'allowed' | 'paused' | 'share_exhausted' | 'lookups_exhausted'

/** Convert a time to its UTC day, in days since 1970. */
export function toDayNumber(timeMs: number): number {
  return Math.floor(timeMs / DAY_MS)
}

export function createQuotaState(nowMs: number): QuotaState {
  return {
    limitedUntilMs: 0,
    pauseCount: 0,
    limitedAtMs: 0,
    learnedCalls: null,
    day: toDayNumber(nowMs),
    calls: { walk: 0, refresh: 0, lookup: 0 },
    lookupsLastHour: 0,
  }
}

function toShare(purpose: CallPurpose): QuotaShare {
  if (purpose === 'first-walk') return 'walk'
  return purpose === 'channels' ? 'lookup' : purpose
}

/** Split a daily limit so that no purpose starves. The shares add up to the limit. */
export function splitDailyLimit(limitCalls: number): CallsByShare {
  const walk = Math.floor(limitCalls * WALK_SHARE)
  const refresh = Math.floor(limitCalls * REFRESH_SHARE)
  return { walk, refresh, lookup: limitCalls - walk - refresh }
}

/** Find the configured limit, or the one learned from a recent 429. */
export function findDailyLimit(state: QuotaState, rules: QuotaRules, nowMs: number): DailyLimit | undefined {
  if (rules.dailyLimit !== null) return { calls: rules.dailyLimit, isLearned: false }
  const days = toDayNumber(nowMs) - toDayNumber(state.limitedAtMs)
  if (state.learnedCalls === null || days < 1 || days > LEARNED_LIMIT_MAX_DAYS) return undefined
  return { calls: Math.floor(state.learnedCalls * LEARNED_LIMIT_DAILY_GROWTH ** (days - 1)), isLearned: true }
}

/**
 * Compute the remaining calls of each share today; `undefined` without a limit. Walks beyond their share are first walks, which
 * borrow from refreshes.
 */
export function computeRemainingCalls(
  state: QuotaState,
  rules: QuotaRules,
  nowMs: number,
): CallsByShare | undefined {
  const limit = findDailyLimit(state, rules, nowMs)
  if (limit === undefined) return undefined
  const shares = splitDailyLimit(limit.calls)
  const toRest = (share: QuotaShare): number => shares[share] - getCallsOfDay(state, share, nowMs)
  const borrowedCalls = Math.max(0, -toRest('walk'))
  return {
    walk: Math.max(0, toRest('walk')),
    refresh: Math.max(0, toRest('refresh') - borrowedCalls),
    lookup: Math.max(0, toRest('lookup')),
  }
}

/**
 * Compute how many more calls of a purpose are allowed today; `undefined` without a limit. Nothing of a channel without a copy can
 * be refreshed, and without one it has no grids, so its first walk may use the share of refreshes, too.
 */
export function computeAllowedCalls(
  state: QuotaState,
  rules: QuotaRules,
  { purpose, nowMs }: Readonly<{ purpose: CallPurpose; nowMs: number }>,
): number | undefined {
  const remaining = computeRemainingCalls(state, rules, nowMs)
  if (remaining === undefined) return undefined
  return remaining[toShare(purpose)] + (purpose === 'first-walk' ? remaining.refresh : 0)
}

export function checkQuota(
  state: QuotaState,
  rules: QuotaRules,
  call: Readonly<{ purpose: CallPurpose; nowMs: number }>,
): Decision {
  if (call.nowMs < state.limitedUntilMs) return 'paused'
  if (computeAllowedCalls(state, rules, call) === 0) return 'share_exhausted'
  const isSpent = call.purpose === 'lookup' && state.lookupsLastHour >= rules.lookupsPerHour
  return isSpent ? 'lookups_exhausted' : 'allowed'
}

/** Count a call. A `lookup` also counts against the hour. */
export function recordCall(
  state: QuotaState,
  call: Readonly<{ purpose: CallPurpose; nowMs: number }>,
): QuotaState {
  const share = toShare(call.purpose)
  const today = rollToDay(state, call.nowMs)
  return {
    ...today,
    calls: { ...today.calls, [share]: today.calls[share] + 1 },
    lookupsLastHour: today.lookupsLastHour + Number(call.purpose === 'lookup'),
  }
}

/**
 * Pause after a 429, for `Retry-After` or a backoff, at most until the reset at 00:00 UTC. A call sent before the current pause
 * (`calledAtMs`, default `nowMs`) counts as the same failure.
 */
export function recordRateLimit(
  state: QuotaState,
  rateLimit: Readonly<{ retryAfterMs: number | null; nowMs: number; calledAtMs?: number }>,
): QuotaState {
  const { nowMs, retryAfterMs } = rateLimit
  const isNewPause = (rateLimit.calledAtMs ?? nowMs) >= state.limitedUntilMs
  const latestMs = computeNextMidnightUtcMs(nowMs) + MIDNIGHT_SLACK_MS
  const backoffMs = isNewPause ? computeBackoffMs(RATE_LIMIT_PAUSE_OPTIONS, state.pauseCount) : 0
  const untilMs = Math.min(nowMs + (retryAfterMs ?? backoffMs), latestMs)
  return {
    ...rollToDay(state, nowMs),
    limitedUntilMs: Math.max(state.limitedUntilMs, untilMs),
    ...(isNewPause && { pauseCount: state.pauseCount + 1, ...learnLimit(state, nowMs) }),
  }
}

/** Learn only from the first 429 of a day: later ones would also count probes and concurrent calls. */
function learnLimit(state: QuotaState, nowMs: number): Partial<QuotaState> {
  const hasLearnedToday = state.learnedCalls !== null && toDayNumber(state.limitedAtMs) === toDayNumber(nowMs)
  const total = QUOTA_SHARES.reduce((sum, share) => sum + getCallsOfDay(state, share, nowMs), 0)
  return hasLearnedToday || total < MIN_CALLS_TO_LEARN ? {} : { limitedAtMs: nowMs, learnedCalls: total }
}

/**
 * Reset the backoff after a success, and discard a limit learned from a 429 of the same day: it was no daily limit. Return the same
 * object when nothing changes.
 */
export function recordSuccess(state: QuotaState, calledAtMs: number): QuotaState {
  const isRefuted = state.learnedCalls !== null && toDayNumber(calledAtMs) === toDayNumber(state.limitedAtMs)
  if (calledAtMs < state.limitedUntilMs || (state.pauseCount === 0 && !isRefuted)) return state
  return { ...state, pauseCount: 0, learnedCalls: isRefuted ? null : state.learnedCalls }
}

/** Remove a pause that ends after the next reset: it was recorded while a clock was wrong. */
export function clearImpossiblePause(state: QuotaState, nowMs: number): QuotaState {
  const isPossible = state.limitedUntilMs <= computeNextMidnightUtcMs(nowMs) + MIDNIGHT_SLACK_MS
  return isPossible ? state : { ...state, limitedUntilMs: 0 }
}

/** Add to the stored state what a process counted and learned since `synced`, the state that it last read from the store. */
export function mergeOfflineState(stored: QuotaState, local: QuotaState, synced: QuotaState): QuotaState {
  const newer = local.limitedAtMs >= stored.limitedAtMs ? local : stored
  const syncedCalls = rollToDay(synced, local.day * DAY_MS).calls
  const addLocalCalls = (share: QuotaShare): number =>
    stored.calls[share] + local.calls[share] - syncedCalls[share]
  return {
    ...stored,
    limitedUntilMs: Math.max(stored.limitedUntilMs, local.limitedUntilMs),
    pauseCount: newer.pauseCount,
    limitedAtMs: newer.limitedAtMs,
    learnedCalls: newer.learnedCalls,
    ...(local.day === stored.day && {
      calls: {
        walk: addLocalCalls('walk'),
        refresh: addLocalCalls('refresh'),
        lookup: addLocalCalls('lookup'),
      },
    }),
    lookupsLastHour: Math.max(stored.lookupsLastHour, local.lookupsLastHour),
  }
}

function getCallsOfDay(state: QuotaState, share: QuotaShare, nowMs: number): number {
  return state.day === toDayNumber(nowMs) ? state.calls[share] : 0
}

/** Reset the counts when the UTC day has changed. */
export function rollToDay(state: QuotaState, nowMs: number): QuotaState {
  if (state.day === toDayNumber(nowMs)) return state
  return { ...state, day: toDayNumber(nowMs), calls: { walk: 0, refresh: 0, lookup: 0 } }
}
