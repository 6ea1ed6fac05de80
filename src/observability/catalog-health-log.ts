import { type Clock, MINUTE_MS, isWithin } from '../clock.ts'
import { CatalogKeyRefusedError } from '../errors.ts'
import type { Logger } from './logger.ts'

/** At most one line a minute about failures of one kind, and one about their end. */
const LOG_INTERVAL_MS: number = MINUTE_MS

/** How a call of the catalog ended: `ok`, `not_found`, or the code of an error with its words. */
type CompletedCall = Readonly<{ operation: string; outcome: string; reason?: string | undefined }>

/** `limitedUntilMs`: Unix milliseconds until which a 429 pauses every call. */
type CatalogHealthLogOptions = Readonly<{ clock: Clock; logger: Logger; limitedUntilMs(): number }>

/**
 * Says in the log that the catalog fails, why, and when it answers again: one line for each kind of failure, however many
 * visitors meet it.
 */
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
      if (failures === 0 || !shouldLog('answered')) return
      logger.info({ failures }, 'the catalog answers again')
      failures = 0
      return
    }
    failures += 1
    if (!shouldLog(outcome)) return
    const untilMs = limitedUntilMs()
    const pausedUntil = untilMs > clock.nowMs() ? new Date(untilMs).toISOString() : undefined
    const fields = { code: outcome, operation, reason, failures, pausedUntil }
    // A refused key needs an operator at once, any other failure a look.
    const level = outcome === CatalogKeyRefusedError.code ? 'error' : 'warn'
    logger[level](fields, 'the catalog failed; stored copies are served')
  }
}
