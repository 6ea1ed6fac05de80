import { type Clock, MINUTE_MS, isWithin } from '../clock.ts'
import { CatalogKeyRefusedError } from '../errors.ts'
import type { Logger } from './logger.ts'

/** Minimum time between two lines about one kind of failure, or about recoveries. */
const LOG_INTERVAL_MS: number = MINUTE_MS

/** `outcome`: `ok`, `not_found`, or an error code. `reason`: the message of the error. */
type CompletedCall = Readonly<{ operation: string; outcome: string; reason?: string | undefined }>

/** `limitedUntilMs`: Unix milliseconds until which a 429 pauses all calls. */
type CatalogHealthLogOptions = Readonly<{ clock: Clock; logger: Logger; limitedUntilMs(): number }>

/** Create a function that logs failures of the catalog by kind, and its recovery, each at most once a minute. */
export function createCatalogHealthLog({ clock, logger, limitedUntilMs }: CatalogHealthLogOptions) {
  const loggedAtMs = new Map<string, number>()
  let failures = 0
  const shouldLog = (kind: string): boolean => {
    const nowMs = clock.nowMs()
    if (isWithin(loggedAtMs.get(kind) ?? -Infinity, LOG_INTERVAL_MS, nowMs)) return false
    loggedAtMs.set(kind, nowMs)
    return true
  }
  return ({ operation, outcome, reason }: CompletedCall): void => {
    if (outcome === 'ok' || outcome === 'not_found') {
      if (failures === 0 || !shouldLog('recovered')) return
      logger.info({ failures }, 'catalog recovered')
      failures = 0
      return
    }
    failures += 1
    if (!shouldLog(outcome)) return
    const untilMs = limitedUntilMs()
    const pausedUntil = untilMs > clock.nowMs() ? new Date(untilMs).toISOString() : undefined
    const fields = { code: outcome, operation, reason, failures, pausedUntil }
    // Only a rejected key needs an operator at once.
    const level = outcome === CatalogKeyRefusedError.code ? 'error' : 'warn'
    logger[level](fields, 'catalog call failed; stored data is served where there is any')
  }
}
