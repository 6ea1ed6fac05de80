import { MINUTE_MS, UNKNOWN_TIME_MS, isFuture } from '../clock.ts'
import { pluralize } from '../lib/plural.ts'
import type { CopyState, HeldWalk, HoldReason } from '../storage/store.ts'

/** Which walks are held instead of becoming the current one (ADR 0008). Pure. */

/** Copies smaller than this may shrink freely: in a small channel a halved selection is ordinary. */
const MIN_CHECKED_PRODUCTS = 100
/** A walk that leaves a smaller part of the products is held. */
const MIN_KEPT_SHARE = 0.5
/** Two walks agree when their products differ by no more than the larger of these. */
const SIMILARITY = { share: 0.1, products: 10 } as const
/** Schedules have some jitter: a walk this part of a period, and at most a minute, early still counts as a later one. */
const EARLY_TOLERANCE_SHARE = 0.1

/** What a walk has found. `isMalformed`: most of its offers were. Times are Unix milliseconds. */
export type WalkSummary = Readonly<{
  startedAtMs: number
  evaluatedAtMs: number
  productCount: number
  isMalformed: boolean
}>

/** The copy before a walk. */
export type PreviousCopy = Pick<CopyState, 'currentWalk' | 'productCount' | 'isMalformed' | 'held'>

/**
 * `confirmAfterMs`: how much later than the first a walk has to begin to confirm what it found. `isClockDoubtful`: another clock
 * contradicts this machine's, so that its times confirm nothing.
 */
export type HoldRules = Readonly<{ confirmAfterMs: number; isClockUnreliable: boolean }>

/** Return the walk as it is held; `null`: it is believed. */
export function evaluateWalk(copy: PreviousCopy, summary: WalkSummary, rules: HoldRules): HeldWalk | null {
  const reason = findHoldReason(copy, summary)
  if (reason === null) return null
  const { startedAtMs, evaluatedAtMs, productCount } = summary
  const { held } = copy
  // A hold of the future was noted by a clock that was wrong: it starts anew. A doubtful clock cannot tell.
  const isSameHold =
    held !== null &&
    held.reason === reason &&
    (rules.isClockUnreliable || !isFuture(held.sinceMs, evaluatedAtMs)) &&
    isSimilarCount(held.productCount, productCount)
  if (isSameHold)
    return isConfirmed(held.sinceMs, startedAtMs, rules) ? null : { ...held, startedAtMs, productCount }
  // A walk may take longer than a period: what a later one confirms was found at least half a period before.
  const foundSinceMs = Math.max(startedAtMs, evaluatedAtMs - rules.confirmAfterMs / 2)
  const sinceMs = rules.isClockUnreliable ? UNKNOWN_TIME_MS : foundSinceMs
  return { reason, sinceMs, startedAtMs, productCount }
}

/**
 * Return when the last walk began that was read to its end, whether it was believed or held; Unix milliseconds. `null`: there is no
 * copy, or a clock that was ahead has dated it.
 */
export function findLastWalkStart(
  { completedStartedAtMs, completedAtMs, held }: CopyState,
  nowMs: number,
): number | null {
  const heldAtMs = held === null || isFuture(held.startedAtMs, nowMs) ? null : held.startedAtMs
  if (completedStartedAtMs === null || completedAtMs === null) return null
  if (isFuture(completedAtMs, nowMs)) return heldAtMs
  return Math.max(completedStartedAtMs, heldAtMs ?? completedStartedAtMs)
}

/** Is a finding that was first made at `sinceMs` confirmed by one at `nowMs`? */
export function isConfirmed(
  sinceMs: number,
  nowMs: number,
  { confirmAfterMs, isClockUnreliable }: HoldRules,
): boolean {
  if (isClockUnreliable) return false
  return nowMs - sinceMs >= confirmAfterMs - Math.min(MINUTE_MS, confirmAfterMs * EARLY_TOLERANCE_SHARE)
}

/** Say why a walk is held, as a clause: "it found 10 products where the copy has 50,000". */
export function describeHold(held: HeldWalk, copyProductCount: number): string {
  return held.reason === 'few_products'
    ? `it found ${pluralize(held.productCount, 'product')} where the copy has ${copyProductCount.toLocaleString('en')}`
    : 'most of what it found was malformed'
}

/** What to do about a held walk or list. */
export const HOLD_REMEDY =
  'If the catalog is right, run "vitrine sync --accept", or wait: a walk that finds nearly the same at least one walk period later is accepted. Otherwise correct the catalog.'

/** Return why a walk is suspicious; `null`: it is not. */
export function findHoldReason(
  copy: PreviousCopy,
  summary: Pick<WalkSummary, 'productCount' | 'isMalformed'>,
): HoldReason | null {
  if (copy.currentWalk === 0) return null
  const isLargeEnough = copy.productCount >= MIN_CHECKED_PRODUCTS
  if (isLargeEnough && summary.productCount < copy.productCount * MIN_KEPT_SHARE) return 'few_products'
  return summary.isMalformed && !copy.isMalformed ? 'malformed_offers' : null
}

function isSimilarCount(count: number, otherCount: number): boolean {
  const allowed = Math.max(SIMILARITY.products, Math.max(count, otherCount) * SIMILARITY.share)
  return Math.abs(count - otherCount) <= allowed
}
