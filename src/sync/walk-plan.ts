import { MAX_PAGE_PRODUCTS } from '../catalog/contract.ts'
import { type DailyLimit, WALK_SHARE, splitDailyLimit } from '../catalog/quota.ts'
import { DAY_MS, SECOND_MS } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { formatAge, formatNumber, pluralize } from '../lib/format.ts'
import type { CopyState } from '../storage/store.ts'

/** Channels that a walk reads at the same time. Each makes one call at a time, so this is also the bound of its calls. */
export const MAX_PARALLEL_CHANNELS = 4

/** What walks on the schedule need, and what keeps them from it. */
export type WalkPlan = Readonly<{
  periodMs: number
  /** Calls of one walk of all channels, and of the walks of a day. */
  calls: number
  callsPerDay: number
  /** The smallest daily limit whose share for walks is enough. */
  neededDailyLimit: number
  /** How often the share of the daily limit allows a walk; `null`: no limit is known. */
  allowedPeriodMs: number | null
  /** The shortest time that the last walks of all channels can have taken together. One that was resumed counts from its start. */
  durationMs: number
  /** `null`: walks keep their schedule. */
  problem: 'limit' | 'duration' | null
}>

type PlannedCopy = Pick<CopyState, 'productCount' | 'completedAtMs' | 'completedStartedAtMs'>

/** Return the calls of one walk: one for the list of channels, and one for each page. */
function countWalkCalls(copies: readonly Pick<CopyState, 'productCount'>[]): number {
  return copies.reduce((sum, copy) => sum + countChannelCalls(copy), 1)
}

/** A channel without a copy counts as one page. */
export function countChannelCalls({ productCount }: Pick<CopyState, 'productCount'>): number {
  return Math.max(1, Math.ceil(productCount / MAX_PAGE_PRODUCTS))
}

/** Plan the walks of the served channels; `null` without a schedule, and before the first walk. `limit`: of the day, set or learned. */
export function planWalks(
  copies: readonly PlannedCopy[],
  { periodMs, limit }: Readonly<{ periodMs: number | null; limit: DailyLimit | undefined }>,
): WalkPlan | null {
  if (periodMs === null || copies.every(({ completedAtMs }) => completedAtMs === null)) return null
  const calls = countWalkCalls(copies)
  const callsPerDay = Math.ceil((calls * DAY_MS) / periodMs)
  const allowedPeriodMs =
    limit === undefined ? null : (calls * DAY_MS) / Math.max(1, splitDailyLimit(limit.calls).walk)
  const durationsMs = copies.map(toDurationMs)
  const sumMs = durationsMs.reduce((sum, ms) => sum + ms, 0)
  const durationMs = Math.max(sumMs / MAX_PARALLEL_CHANNELS, ...durationsMs)
  const isLimited = allowedPeriodMs !== null && allowedPeriodMs > periodMs
  return {
    periodMs,
    calls,
    callsPerDay,
    neededDailyLimit: Math.ceil(callsPerDay / WALK_SHARE),
    allowedPeriodMs,
    durationMs,
    problem: isLimited ? 'limit' : durationMs > periodMs ? 'duration' : null,
  }
}

function toDurationMs({ completedAtMs, completedStartedAtMs }: PlannedCopy): number {
  if (completedAtMs === null || completedStartedAtMs === null) return 0
  return Math.max(0, completedAtMs - completedStartedAtMs)
}

/** Describe what walks need: `every 1 h; one needs 2 calls, all of a day 48`. */
export function describeWalkPlan({ periodMs, calls, callsPerDay }: WalkPlan): string {
  return `every ${formatAge(periodMs)}; one needs ${pluralize(calls, 'call')}, all of a day ${formatNumber(callsPerDay)}`
}

/** `hidesPrices`: prices are hidden before the next walk, because they are too old. */
export type WalkProblem = Readonly<{ message: string; remedy: string; hidesPrices: boolean }>

/** Say what keeps walks from their schedule, and what to do; `null`: nothing. */
export function describeWalkProblem(
  plan: WalkPlan,
  { priceMaxAgeSeconds }: Pick<Config, 'priceMaxAgeSeconds'>,
): WalkProblem | null {
  const { problem, periodMs, calls, callsPerDay, neededDailyLimit, durationMs } = plan
  if (problem === null) return null
  const intervalMs = problem === 'limit' ? (plan.allowedPeriodMs ?? periodMs) : durationMs
  const hidesPrices = intervalMs > priceMaxAgeSeconds * SECOND_MS
  const period = formatAge(periodMs)
  const message =
    problem === 'limit'
      ? `a walk every ${period} needs ${formatNumber(callsPerDay)} calls a day (${formatNumber(calls)} each), more than its half of the daily limit: the limit allows one every ${formatAge(intervalMs)}`
      : `a walk takes at least ${formatAge(intervalMs)}, longer than its period of ${period}, so the next one starts late`
  const advice =
    problem === 'limit'
      ? `Use a plan of ${formatNumber(neededDailyLimit)} calls a day, or walk less often (VITRINE_SYNC_CRON).`
      : 'Walk less often (VITRINE_SYNC_CRON).'
  // How old a shown price may be is the publisher's decision, so a longer age is only proposed.
  const neededSeconds = Math.ceil((2 * intervalMs) / SECOND_MS)
  const proposal = `Until then, prices are hidden after VITRINE_PRICE_MAX_AGE_SECONDS, before the next walk; ${formatNumber(neededSeconds)} would keep them, if readers may see prices that old.`
  return { message, remedy: hidesPrices ? `${advice} ${proposal}` : advice, hidesPrices }
}
