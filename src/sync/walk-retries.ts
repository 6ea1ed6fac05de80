import { SECOND_MS } from '../clock.ts'
import {
  CatalogCallBlockedError,
  CatalogError,
  CatalogKeyRefusedError,
  CatalogRateLimitedError,
  CatalogStatusError,
  WalkError,
} from '../errors.ts'
import type { WalkContext } from './walk-runner.ts'

/** Waits before the second, third and fourth try of a call. Only the walk retries, never a visitor's call. */
const RETRY_WAITS_MS: readonly number[] = [SECOND_MS, 4 * SECOND_MS, 16 * SECOND_MS]

/** A refused key, a reached limit or a pause is the same a second later. */
const NOT_RETRIED = [CatalogRateLimitedError, CatalogKeyRefusedError, CatalogCallBlockedError]

/**
 * Make a call of a walk, and retry it after a wait where that may help.
 * @throws WalkError when the walk is stopped while it waits; else what the last try threw.
 */
export async function retryCall<T>(
  { clock, signal }: Pick<WalkContext, 'clock' | 'signal'>,
  call: () => Promise<T>,
): Promise<T> {
  for (const waitMs of RETRY_WAITS_MS) {
    try {
      return await call()
    } catch (error) {
      if (!isRetryable(error) || signal.aborted) throw error
    }
    await clock.wait(waitMs, signal)
    if (signal.aborted) throw createStoppedError()
  }
  return call()
}

/** A request that the catalog calls wrong stays wrong. */
function isRetryable(error: unknown): boolean {
  if (error instanceof CatalogStatusError) return error.upstreamStatus >= 500
  return error instanceof CatalogError && !NOT_RETRIED.some((errorClass) => error instanceof errorClass)
}

/** Create the error of a walk that was stopped. */
export function createStoppedError(): WalkError {
  return new WalkError('the walk was told to stop')
}
