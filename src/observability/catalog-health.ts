import { type Clock, MINUTE_MS, isWithin } from '../clock.ts'
import { CatalogKeyRefusedError } from '../errors.ts'
import type { Logger } from './logger.ts'

/** At most one line a minute about failures of one kind, and one about their end. */
const LOG_EVERY_MS: number = MINUTE_MS

/** How a call of the catalog ended: `ok`, `not_found`, or the code of an error with its words. */
type EndedCall = Readonly<{ operation: string; outcome: string; reason?: string | undefined }>

/** What a kind of failure needs: an operator at once, or a look. */
const URGENT: ReadonlySet<string> = new Set([CatalogKeyRefusedError.code])

/** What is made of how calls end. `limitedUntilMs`: Unix milliseconds until which a 429 pauses every call. */
type CatalogHealthDetails = Readonly<{ clock: Clock; logger: Logger; limitedUntilMs(): number }>

/**
 * Says in the log that the catalog fails, why, and when it answers again: one line for each kind of failure, however many
 * visitors meet it.
 */
export function createCatalogHealth(details: CatalogHealthDetails): (call: EndedCall) => void {
  const { clock, logger } = details
  const saidAtMs = new Map<string, number>()
  let failures = 0
  const mayLog = (kind: string): boolean => {
    const nowMs = clock.nowMs()
    if (isWithin(saidAtMs.get(kind) ?? -Infinity, LOG_EVERY_MS, nowMs)) return false
    saidAtMs.set(kind, nowMs)
    return true
  }
  const noteAnswer = (): void => {
    if (failures === 0 || !mayLog('answered')) return
    logger.info({ failures }, 'the catalog answers again')
    failures = 0
  }
  return ({ operation, outcome, reason }) => {
    if (outcome === 'ok' || outcome === 'not_found') return noteAnswer()
    failures++
    if (!mayLog(outcome)) return
    const untilMs = details.limitedUntilMs()
    const pausedUntil = untilMs > clock.nowMs() ? new Date(untilMs).toISOString() : undefined
    const fields = { code: outcome, operation, reason, failures, pausedUntil }
    logger[URGENT.has(outcome) ? 'error' : 'warn'](fields, 'the catalog failed; stored copies are served')
  }
}
