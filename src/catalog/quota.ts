import { DAY_MS, HOUR_MS, MINUTE_MS, computeNextMidnightUtcMs } from '../clock.ts'
import { computeBackoffMs } from '../lib/backoff.ts'

/** Why the catalog is called: a walk, a known product that is no longer fresh, an unknown one, the list of channels. */
export type CallPurpose = 'walk' | 'refresh' | 'lookup' | 'channels'

/** The parts of a day's limit. Lists of channels that a visit needs count as first look-ups. */
export const QUOTA_SHARES = ['walk', 'refresh', 'lookup'] as const
export type QuotaShare = (typeof QUOTA_SHARES)[number]

/** Calls by share. */
export type CallsByShare = Readonly<Record<QuotaShare, number>>

/** Parts of a daily limit, in percent; the first look-ups have the rest (product.md, section 2). */
const WALK_SHARE_PERCENT = 50
const REFRESH_SHARE_PERCENT = 40

/** Pauses after a 429 without a usable `Retry-After`. */
const RATE_LIMIT_PAUSE_OPTIONS = { initialMs: MINUTE_MS, maxMs: HOUR_MS } as const
/** No pause lasts beyond the reset at 00:00 UTC, with this slack for clocks that differ. */
const MIDNIGHT_SLACK_MS: number = 5 * MINUTE_MS

/** Fewer calls than this before a 429 teach nothing: somebody else has used the day up. */
const MIN_CALLS_TO_LEARN = 20
/** A learned limit grows by this factor with each further day, and is forgotten after so many. */
const LEARNED_LIMIT_DAILY_GROWTH = 1.25
const LEARNED_LIMIT_MAX_DAYS = 7

/** What all processes that share a store know of the catalog's limit. A plain value; the rules are below. */
export type QuotaState = Readonly<{
  /** No call leaves before, Unix milliseconds. */
  limitedUntilMs: number
  /** Pauses in a row whose length the catalog did not say. */
  pauseCount: number
  /** When the 429 came that taught the limit, Unix milliseconds; 0 before the first. */
  limitedAtMs: number
  /** Calls of that UTC day until it came; `null` when no limit was learned, or it was refuted. */
  learnedCalls: number | null
  /** The UTC day that `calls` were made on, in days since 1970. */
  day: number
  calls: CallsByShare
  /** First look-ups of the last 60 minutes. */
  lookupsLastHour: number
}>

/** Return another state. A pure function: a store may run it more than once. */
export type QuotaChange = (state: QuotaState) => QuotaState

/** Where the state is kept for all processes. */
export type QuotaStore = Readonly<{
  /**
   * Change the state in one transaction: read it as of `nowMs`, write what `change` returns, and return that. An impossible
   * pause is removed before (`correctPause`).
   */
  updateQuota(nowMs: number, change: QuotaChange): Promise<QuotaState>
}>

/** What an operator has set. */
export type QuotaRules = Readonly<{ dailyLimit: number | null; lookupsPerHour: number }>

/** `isLearned`: from a 429, not from the settings. */
export type DailyLimit = Readonly<{ calls: number; isLearned: boolean }>

/** Whether a call may be made, and if not, why. */
export type Decision = 'allowed' | 'paused' | 'share_exhausted' | 'lookups_exhausted'

/** The day of a time, in days since 1970, UTC. */
export function toDayNumber(timeMs: number): number {
  return Math.floor(timeMs / DAY_MS)
}

/** Nothing called yet on the day of `nowMs`. */
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

/** The share that pays for a call. */
function toShare(purpose: CallPurpose): QuotaShare {
  return purpose === 'channels' ? 'lookup' : purpose
}

/** A daily limit divided so that nothing starves; the three together are the limit. */
export function splitDailyLimit(limitCalls: number): CallsByShare {
  const walk = Math.floor((limitCalls * WALK_SHARE_PERCENT) / 100)
  const refresh = Math.floor((limitCalls * REFRESH_SHARE_PERCENT) / 100)
  return { walk, refresh, lookup: limitCalls - walk - refresh }
}

/** The limit that was set, else the one that a 429 of the last days taught; `undefined` when neither is known. */
export function findDailyLimit(state: QuotaState, rules: QuotaRules, nowMs: number): DailyLimit | undefined {
  if (rules.dailyLimit !== null) return { calls: rules.dailyLimit, isLearned: false }
  const days = toDayNumber(nowMs) - toDayNumber(state.limitedAtMs)
  if (state.learnedCalls === null || days < 1 || days > LEARNED_LIMIT_MAX_DAYS) return undefined
  return { calls: Math.floor(state.learnedCalls * LEARNED_LIMIT_DAILY_GROWTH ** (days - 1)), isLearned: true }
}

/** What is left of each share today; `undefined` without a limit. */
export function computeRemainingCalls(
  state: QuotaState,
  rules: QuotaRules,
  nowMs: number,
): CallsByShare | undefined {
  const limit = findDailyLimit(state, rules, nowMs)
  if (limit === undefined) return undefined
  const shares = splitDailyLimit(limit.calls)
  const toRemaining = (share: QuotaShare): number =>
    Math.max(0, shares[share] - getCallsOfDay(state, share, nowMs))
  return { walk: toRemaining('walk'), refresh: toRemaining('refresh'), lookup: toRemaining('lookup') }
}

/** May a call for this purpose be made now? */
export function checkQuota(
  state: QuotaState,
  rules: QuotaRules,
  call: Readonly<{ purpose: CallPurpose; nowMs: number }>,
): Decision {
  if (call.nowMs < state.limitedUntilMs) return 'paused'
  const remaining = computeRemainingCalls(state, rules, call.nowMs)
  if (remaining !== undefined && remaining[toShare(call.purpose)] === 0) return 'share_exhausted'
  const isSpent = call.purpose === 'lookup' && state.lookupsLastHour >= rules.lookupsPerHour
  return isSpent ? 'lookups_exhausted' : 'allowed'
}

/** The state after one more call; a first look-up counts against the hour, too. */
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
 * The state after a 429 to a call that was made at `calledAtMs`, by default just now: a pause until the catalog's own time, at
 * most until the reset at 00:00 UTC. Calls that left before a pause fail with the one that began it: no further failures.
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

/** Only the first 429 of a day teaches: after it, probes and calls that left together would count as well. */
function learnLimit(state: QuotaState, nowMs: number): Partial<QuotaState> {
  const hasLearnedToday = state.learnedCalls !== null && toDayNumber(state.limitedAtMs) === toDayNumber(nowMs)
  const total = QUOTA_SHARES.reduce((sum, share) => sum + getCallsOfDay(state, share, nowMs), 0)
  return hasLearnedToday || total < MIN_CALLS_TO_LEARN ? {} : { limitedAtMs: nowMs, learnedCalls: total }
}

/**
 * The state after an answer to a call that was made at `calledAtMs`, the same one where that is no news: pauses start short again,
 * and a 429 of the same day was no daily limit.
 */
export function recordSuccess(state: QuotaState, calledAtMs: number): QuotaState {
  const isRefuted = state.learnedCalls !== null && toDayNumber(calledAtMs) === toDayNumber(state.limitedAtMs)
  if (calledAtMs < state.limitedUntilMs || (state.pauseCount === 0 && !isRefuted)) return state
  return { ...state, pauseCount: 0, learnedCalls: isRefuted ? null : state.learnedCalls }
}

/**
 * The state without a pause that no rule makes: one beyond the next reset was noted while this machine's clock was wrong,
 * and would last as long as the clock was off.
 */
export function clearImpossiblePause(state: QuotaState, nowMs: number): QuotaState {
  const isPossible = state.limitedUntilMs <= computeNextMidnightUtcMs(nowMs) + MIDNIGHT_SLACK_MS
  return isPossible ? state : { ...state, limitedUntilMs: 0 }
}

/**
 * The stored state, with what a process counted and learned while it could not reach the store: its calls since `synced`, the
 * state that it saw there last, the later pause, and the newer lesson.
 */
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

/** The state on the day of `nowMs`: at 00:00 UTC counts begin anew. */
export function rollToDay(state: QuotaState, nowMs: number): QuotaState {
  if (state.day === toDayNumber(nowMs)) return state
  return { ...state, day: toDayNumber(nowMs), calls: { walk: 0, refresh: 0, lookup: 0 } }
}
