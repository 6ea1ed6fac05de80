import { type Clock, SECOND_MS } from '../clock.ts'
import {
  CallNotMadeError,
  CatalogError,
  CatalogKeyRefusedError,
  CatalogRateLimitedError,
  CatalogStatusError,
  WalkError,
} from '../errors.ts'

/** Waits before the second, third and fourth try of a page. Only the walk retries, never a visitor's call. */
const RETRY_WAITS_MS: readonly number[] = [SECOND_MS, 4 * SECOND_MS, 16 * SECOND_MS]

/**
 * Makes a call of a walk, and makes it again after a wait where that may help.
 * @throws WalkError when the walk is stopped while it waits; else what the last try threw.
 */
export async function withRetries<T>(
  details: Readonly<{ clock: Clock; signal: AbortSignal }>,
  call: () => Promise<T>,
): Promise<T> {
  for (const waitMs of RETRY_WAITS_MS) {
    try {
      return await call()
    } catch (error) {
      if (!isWorthRetrying(error) || details.signal.aborted) throw error
      await details.clock.wait(waitMs, details.signal)
      if (details.signal.aborted) throw createStopped()
    }
  }
  return call()
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
