import { SECOND_MS } from '../clock.ts'
import {
  CatalogCallBlockedError,
  CatalogError,
  CatalogInvalidError,
  CatalogKeyRefusedError,
  CatalogRateLimitedError,
  CatalogStatusError,
  CatalogTooLargeError,
  WalkError,
} from '../errors.ts'
import type { CopyState } from '../storage/store.ts'
import type { WalkContext } from './walk-runner.ts'

/** Waits before the second, third and fourth attempt. Only walks retry; a visitor's call never does. */
const RETRY_WAITS_MS: readonly number[] = [SECOND_MS, 4 * SECOND_MS, 16 * SECOND_MS]

/** Failures that a retry within seconds cannot change. */
const NOT_RETRIED = [
  CatalogRateLimitedError,
  CatalogKeyRefusedError,
  CatalogCallBlockedError,
  CatalogTooLargeError,
]

/** Retry transient failures; `onRetry` is called before each wait. @throws WalkError when stopped while waiting; otherwise the error of the last attempt */
export async function retryCall<T>(
  { clock, signal }: Pick<WalkContext, 'clock' | 'signal'>,
  call: () => Promise<T>,
  onRetry: (failure: CatalogError) => Promise<void> = () => Promise.resolve(),
): Promise<T> {
  for (const waitMs of RETRY_WAITS_MS) {
    try {
      return await call()
    } catch (error) {
      if (!isRetryable(error) || signal.aborted) throw error
      await onRetry(error)
    }
    await clock.wait(waitMs, signal)
    if (signal.aborted) throw createWalkStoppedError()
  }
  return call()
}

/** Whether a retry can succeed: after a 5xx status, or a failure that is not in `NOT_RETRIED`. */
function isRetryable(error: unknown): error is CatalogError {
  if (error instanceof CatalogStatusError) return error.upstreamStatus >= 500
  return error instanceof CatalogError && !NOT_RETRIED.some((errorClass) => error instanceof errorClass)
}

/** Failures that the catalog's data cause, so that the next walk may fail in the same way. */
const DATA_FAILURES: ReadonlySet<string> = new Set([
  CatalogInvalidError.code,
  CatalogStatusError.code,
  CatalogTooLargeError.code,
])

/** Whether the data of the channel ended its last walk. */
export function hasUnusableData({ failure }: Pick<CopyState, 'failure'>): boolean {
  return failure !== null && DATA_FAILURES.has(failure)
}

/** Whether the walk may use the calls of refreshes: the channel has no copy, and no data that would use them up without getting one. */
export function isFirstWalk(state: Pick<CopyState, 'currentWalk' | 'failure'>): boolean {
  return state.currentWalk === 0 && !hasUnusableData(state)
}

export function createWalkStoppedError(): WalkError {
  return new WalkError('the walk was stopped')
}
