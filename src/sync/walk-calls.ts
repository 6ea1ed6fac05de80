import type { CallGate } from '../catalog/call-gate.ts'
import { MAX_PAGE_PRODUCTS } from '../catalog/contract.ts'
import { type Clock, SECOND_MS } from '../clock.ts'
import {
  CallNotMadeError,
  CatalogError,
  CatalogKeyRefusedError,
  CatalogRateLimitedError,
  CatalogStatusError,
  WalkError,
} from '../errors.ts'
import { LEASE_MS } from '../storage/sql-leases.ts'

/** When the calls of a walk are made: again after a failure, and later where they would use up the daily limit. */

/** Waits before the second, third and fourth try of a page. Only the walk retries, never a visitor's call. */
const RETRY_WAITS_MS: readonly number[] = [SECOND_MS, 4 * SECOND_MS, 16 * SECOND_MS]

/** A walk that waits for its share of the daily limit extends its lease this often. */
const WAIT_STEP_MS: number = LEASE_MS / 3

type Timing = Readonly<{ clock: Clock; signal: AbortSignal }>

/**
 * Makes a call of a walk, and makes it again after a wait where that may help.
 * @throws WalkError when the walk is stopped while it waits; else what the last try threw.
 */
export async function withRetries<T>(
  { clock, signal }: Timing,
  call: (isRetry: boolean) => Promise<T>,
): Promise<T> {
  for (const [tries, waitMs] of RETRY_WAITS_MS.entries()) {
    try {
      return await call(tries > 0)
    } catch (error) {
      if (!isWorthRetrying(error) || signal.aborted) throw error
      await clock.wait(waitMs, signal)
      if (signal.aborted) throw createStopped()
    }
  }
  return call(true)
}

/** A refused key, a reached limit, a pause, or a request that the catalog calls wrong are the same a second later. */
function isWorthRetrying(error: unknown): boolean {
  if (!(error instanceof CatalogError)) return false
  if (error instanceof CatalogStatusError) return error.upstreamStatus >= 500
  return !(
    error instanceof CatalogRateLimitedError ||
    error instanceof CatalogKeyRefusedError ||
    error instanceof CallNotMadeError
  )
}

/** What a walk ends with that was told to. */
export function createStopped(): WalkError {
  return new WalkError('the walk was told to stop')
}

/** How many products a walk expects, and how many it has. */
export type Counts = Readonly<{ expectedCount: number; productCount: number }>

/** How long a walk waits before its next page, in milliseconds, so as not to use up its share of the daily limit too soon. */
export function computeThrottleMs(
  { mayWait, gate }: Readonly<{ mayWait: boolean; gate: Pick<CallGate, 'computeWalkWaitMs'> }>,
  { expectedCount, productCount }: Counts,
): number {
  const pagesToGo = Math.ceil((expectedCount - productCount) / MAX_PAGE_PRODUCTS)
  return mayWait ? gate.computeWalkWaitMs(Math.max(1, pagesToGo)) : 0
}

/** Waits in steps, and extends the lease after each of them. A walk that is stopped meanwhile gives its lease back instead. */
export async function waitThrottled(
  { clock, signal }: Timing,
  waitMs: number,
  extendLease: () => Promise<void>,
): Promise<void> {
  for (let leftMs = waitMs; leftMs > 0 && !signal.aborted; leftMs -= WAIT_STEP_MS) {
    await clock.wait(Math.min(leftMs, WAIT_STEP_MS), signal)
    if (!signal.aborted) await extendLease()
  }
}
