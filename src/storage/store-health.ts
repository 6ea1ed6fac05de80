import { type Clock, MINUTE_MS, isWithin } from '../clock.ts'
import { listCauses } from '../database/failures.ts'
import { StoreError } from '../errors.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { CopyStore } from './store.ts'
import { describeStoreFailure, isReadOnly, isInvalidValue } from '../database/failures.ts'

export type StoreFailure = Readonly<{ atMs: number; reason: string }>

export type StoreHealth = Readonly<{
  recordFailure(error: unknown): void
  /** Record the start of a read-only period; failures with that cause are then neither logged nor counted. */
  recordReadOnly(error: unknown): void
  recordWritable(): void
  getLastFailure(): StoreFailure | null
}>

const LOG_INTERVAL_MS: number = MINUTE_MS

/**
 * Count and rate-limit the log of store failures, and remember the last one. A rejected value is not counted: a visitor may have
 * sent it, and operators alert on the count.
 */
export function createStoreHealth({
  clock,
  logger,
  metrics,
}: Readonly<{ clock: Clock; logger: Logger; metrics: Metrics }>): StoreHealth {
  let loggedAtMs = -Infinity
  let refusalLoggedAtMs = -Infinity
  let lastFailure: StoreFailure | null = null
  let isReadOnlyNow = false
  return {
    getLastFailure: () => lastFailure,
    recordReadOnly(error) {
      isReadOnlyNow = true
      logger.error({ err: error }, 'database is read-only; stored data is still served, and writes fail')
    },
    recordWritable() {
      isReadOnlyNow = false
      logger.info('database accepts writes again')
    },
    recordFailure(error) {
      const nowMs = clock.nowMs()
      if (isInvalidValue(error)) {
        if (isWithin(refusalLoggedAtMs, LOG_INTERVAL_MS, nowMs)) return
        refusalLoggedAtMs = nowMs
        logger.warn({ err: error }, 'database rejected a value; the stored copy still works')
        return
      }
      lastFailure = { atMs: nowMs, reason: describeReason(error) }
      // A separate gauge shows that the database is read-only.
      if (isReadOnlyNow && isReadOnly(error)) return
      metrics.countStoreFailure()
      if (isWithin(loggedAtMs, LOG_INTERVAL_MS, nowMs)) return
      loggedAtMs = nowMs
      logger.error(
        { err: error },
        'stored copy failed; serving continues from memory, with SQLite also from the catalog',
      )
    },
  }
}

/** Return problem and remedy when the database cannot be opened; otherwise the database's message. */
function describeReason(error: unknown): string {
  for (const cause of listCauses(error))
    if (cause instanceof StoreError && cause.remedy !== null) return cause.describeWithRemedy()
  return describeStoreFailure(error)
}

/** Log that the stored copy is open again, and warn when it is empty, because its file may be new. */
export async function logRecovery(logger: Logger, store: Pick<CopyStore, 'findChannelList'>): Promise<void> {
  const list = await store.findChannelList().catch(() => null)
  if (list === undefined) logger.warn('stored copy reopened; it has no data of this catalog yet')
  else logger.info('stored copy reopened')
}
