import { type Clock, SECOND_MS } from '../clock.ts'
import {
  CallNotMadeError,
  CatalogError,
  CatalogKeyRefusedError,
  CatalogRateLimitedError,
  CatalogStatusError,
  WalkError,
} from '../errors.ts'

/** Waits before the second, third and fourth try of a call. Only the walk retries, never a visitor's call. */
const RETRY_WAITS_MS: readonly number[] = [SECOND_MS, 4 * SECOND_MS, 16 * SECOND_MS]

/**
 * Make a call of a walk, and retry it after a wait where that may help.
 * @throws WalkError when the walk is stopped while it waits; else what the last try threw.
 */
export async function withRetries<T>(
  { clock, signal }: Readonly<{ clock: Clock; signal: AbortSignal }>,
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
  const lasting = [CatalogRateLimitedError, CatalogKeyRefusedError, CallNotMadeError]
  return !lasting.some((kind) => error instanceof kind)
}

/** Create the error of a walk that was stopped. */
export function createStopped(): WalkError {
  return new WalkError('the walk was told to stop')
}
