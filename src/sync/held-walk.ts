import { MINUTE_MS, UNKNOWN_TIME_MS, isFuture } from '../clock.ts'
import { formatNumber, pluralize } from '../lib/format.ts'
import type { CopyState, HeldWalk, HoldReason, WalkFailure } from '../storage/store.ts'

// Pure rules that decide which walks are held instead of becoming current (ADR 0008).

/** Smaller copies may shrink freely: losing half the products is normal in a small channel. */
const MIN_CHECKED_PRODUCTS = 100
/** A walk that leaves a smaller share of the products is held. */
const MIN_KEPT_SHARE = 0.5
/** Two walks agree when their product counts differ by at most the larger of these. */
const SIMILARITY = { share: 0.1, products: 10 } as const
/** Schedules jitter: a walk may confirm this share of a period early, but at most a minute. */
const EARLY_TOLERANCE_SHARE = 0.1

/** `isMalformed`: most of its offers were malformed. Times are Unix milliseconds. */
export type WalkSummary = Readonly<{
  startedAtMs: number
  evaluatedAtMs: number
  productCount: number
  isMalformed: boolean
}>

export type PreviousCopy = Pick<CopyState, 'currentWalk' | 'productCount' | 'isMalformed' | 'held'>

/** `confirmAfterMs`: see `WalkJob`. `isClockUnreliable`: another clock contradicts this one, so its times confirm nothing. */
export type HoldRules = Readonly<{ confirmAfterMs: number; isClockUnreliable: boolean }>

/** Return the held walk, or `null` when the walk is accepted. */
export function evaluateWalk(copy: PreviousCopy, summary: WalkSummary, rules: HoldRules): HeldWalk | null {
  const reason = findHoldReason(copy, summary)
  if (reason === null) return null
  const { startedAtMs, evaluatedAtMs, productCount } = summary
  const { held } = copy
  // A hold dated in the future came from a wrong clock: replace it, unless this clock is unreliable too.
  const isSameHold =
    held !== null &&
    held.reason === reason &&
    (rules.isClockUnreliable || !isFuture(held.sinceMs, evaluatedAtMs)) &&
    isSimilarCount(held.productCount, productCount)
  if (isSameHold)
    return isConfirmed(held.sinceMs, startedAtMs, rules) ? null : { ...held, startedAtMs, productCount }
  // A walk may take longer than a period: date the hold at most half a period before its evaluation.
  const foundSinceMs = Math.max(startedAtMs, evaluatedAtMs - rules.confirmAfterMs / 2)
  const sinceMs = rules.isClockUnreliable ? UNKNOWN_TIME_MS : foundSinceMs
  return { reason, sinceMs, startedAtMs, productCount }
}

/** Return the start of the last whole walk, held or not, Unix milliseconds; `null` without a copy or with a future date. */
export function findLastWalkStart(
  { completedStartedAtMs, completedAtMs, held }: CopyState,
  nowMs: number,
): number | null {
  const heldAtMs = held === null || isFuture(held.startedAtMs, nowMs) ? null : held.startedAtMs
  if (completedStartedAtMs === null || completedAtMs === null) return null
  if (isFuture(completedAtMs, nowMs)) return heldAtMs
  return Math.max(completedStartedAtMs, heldAtMs ?? completedStartedAtMs)
}

/** `true` when a result first seen at `sinceMs` is confirmed by the same result at `nowMs`. */
export function isConfirmed(
  sinceMs: number,
  nowMs: number,
  { confirmAfterMs, isClockUnreliable }: HoldRules,
): boolean {
  if (isClockUnreliable) return false
  return nowMs - sinceMs >= confirmAfterMs - Math.min(MINUTE_MS, confirmAfterMs * EARLY_TOLERANCE_SHARE)
}

/** Describe why a walk is held, as a clause: "it found 10 products where the copy has 50,000". */
export function describeHold(held: HeldWalk, copyProductCount: number): string {
  return held.reason === 'few_products'
    ? `it found ${pluralize(held.productCount, 'product')} where the copy has ${formatNumber(copyProductCount)}`
    : 'most of its products or offers were malformed'
}

/** Describe why a walk failed: "failed: the page of products is not sorted by GTIN (VITRINE_CATALOG_INVALID)". */
export function describeWalkFailure(code: string, reason: string | null): string {
  return reason === null ? `failed with ${code}` : `failed: ${reason} (${code})`
}

/** Describe that the running walk retries a call. */
export function describeRetry({ code, reason }: WalkFailure): string {
  return `the running walk retries a call that ${describeWalkFailure(code, reason)}`
}

/** For a held walk and a held list of channels. */
export const HOLD_REMEDY =
  'If the catalog is right, run "vitrine sync --accept", or wait: a walk that finds nearly the same at least one walk period later is accepted. Otherwise correct the catalog.'

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
