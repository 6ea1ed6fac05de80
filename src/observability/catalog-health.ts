import { type Clock, MINUTE_MS, isWithin } from '../clock.ts'
import { CatalogKeyRefusedError } from '../errors.ts'
import type { Logger } from './logger.ts'

/** At most one line a minute about failures of one kind, and one about their end. */
const LOG_EVERY_MS: number = MINUTE_MS

/** How a call of the catalog ended: `ok`, `not_found`, or the code of an error with its words. */
type EndedCall = Readonly<{ operation: string; outcome: string; reason?: string | undefined }>

/** `limitedUntilMs`: Unix milliseconds until which a 429 pauses every call. */
type CatalogHealthDetails = Readonly<{ clock: Clock; logger: Logger; limitedUntilMs(): number }>

/**
 * Says in the log that the catalog fails, why, and when it answers again: one line for each kind of failure, however many
 * visitors meet it.
 */
export function createCatalogHealth({ clock, logger, limitedUntilMs }: CatalogHealthDetails) {
  const saidAtMs = new Map<string, number>()
  let failures = 0
  const mayLog = (kind: string): boolean => {
    const nowMs = clock.nowMs()
    if (isWithin(saidAtMs.get(kind) ?? -Infinity, LOG_EVERY_MS, nowMs)) return false
    saidAtMs.set(kind, nowMs)
    return true
  }
  return ({ operation, outcome, reason }: EndedCall): void => {
    if (outcome === 'ok' || outcome === 'not_found') {
      if (failures === 0 || !mayLog('answered')) return
      logger.info({ failures }, 'the catalog answers again')
      failures = 0
      return
    }
    failures += 1
    if (!mayLog(outcome)) return
    const untilMs = limitedUntilMs()
    const pausedUntil = untilMs > clock.nowMs() ? new Date(untilMs).toISOString() : undefined
    const fields = { code: outcome, operation, reason, failures, pausedUntil }
    // A refused key needs an operator at once, any other failure a look.
    const level = outcome === CatalogKeyRefusedError.code ? 'error' : 'warn'
    logger[level](fields, 'the catalog failed; stored copies are served')
  }
}
