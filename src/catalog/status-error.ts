import type { Dispatcher } from 'undici'
import {
  type CatalogError,
  CatalogKeyRefusedError,
  CatalogRateLimitedError,
  CatalogRedirectError,
  CatalogStatusError,
} from '../errors.ts'
import { parseRetryAfter } from './retry-after.ts'

/** What a status that is no answer means, in a class of its own for each thing that is to be done about it. */
export function toStatusError(answer: Dispatcher.ResponseData, nowMs: number): CatalogError {
  const status = answer.statusCode
  if (status === 401 || status === 403) return new CatalogKeyRefusedError(`the catalog answered ${status}`)
  if (status >= 300 && status < 400)
    return new CatalogRedirectError(`the catalog answered ${status}; redirects are not followed`)
  if (status !== 429) return new CatalogStatusError(`the catalog answered ${status}`, status)
  const header = (name: string): string | undefined => {
    const value = answer.headers[name]
    return Array.isArray(value) ? value[0] : value
  }
  const retryAfterMs = parseRetryAfter({ retryAfter: header('retry-after'), date: header('date'), nowMs })
  return new CatalogRateLimitedError('the catalog answered 429', retryAfterMs)
}
