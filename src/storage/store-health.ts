import { type Clock, MINUTE_MS, isWithin } from '../clock.ts'
import { listCauses } from '../database/error-causes.ts'
import { StoreError } from '../errors.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { CopyStore } from './store.ts'
import { describeStoreFailure, isReadOnly, isInvalidValue } from './store-failures.ts'

/** When the stored copy failed last, and what its database said. */
export type StoreFailure = Readonly<{ atMs: number; reason: string }>

/** What is known of failures of the stored copy. */
export type StoreHealth = Readonly<{
  recordFailure(error: unknown): void
  /** The database only reads from now on: told once, and not for every write. */
  recordReadOnly(error: unknown): void
  recordWritable(): void
  getLastFailure(): StoreFailure | null
}>

/** At most one line a minute about a failing store. */
const LOG_INTERVAL_MS: number = MINUTE_MS

/**
 * Counts each failure of the store, logs when they begin and not for every visitor, and remembers the last one. A value that
 * the database refuses is no failure of the store: a visitor may have sent it, and operators alert on the count.
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
      logger.error(
        { err: error },
        'the database only reads; stored data is still shown, and nothing is written until it takes writes again',
      )
    },
    recordWritable() {
      isReadOnlyNow = false
      logger.info('the database takes writes again')
    },
    recordFailure(error) {
      const nowMs = clock.nowMs()
      if (isInvalidValue(error)) {
        if (isWithin(refusalLoggedAtMs, LOG_INTERVAL_MS, nowMs)) return
        refusalLoggedAtMs = nowMs
        logger.warn({ err: error }, 'the database refused a value; the stored copy itself works')
        return
      }
      lastFailure = { atMs: nowMs, reason: describeReason(error) }
      // A gauge of its own tells that the database only reads.
      if (isReadOnlyNow && isReadOnly(error)) return
      metrics.countStoreFailure()
      if (isWithin(loggedAtMs, LOG_INTERVAL_MS, nowMs)) return
      loggedAtMs = nowMs
      logger.error({ err: error }, 'the stored copy failed; memory and catalog go on serving')
    },
  }
}

/** What happened and what to do where a database that cannot be opened is the cause; else what the database said. */
function describeReason(error: unknown): string {
  for (const cause of listCauses(error))
    if (cause instanceof StoreError && cause.remedy !== null) return `${cause.message}. ${cause.remedy}`
  return describeStoreFailure(error)
}

/** Log that the stored copy is open again, and warn when it is empty: its file may be a new one. */
export async function logRecovery(logger: Logger, store: Pick<CopyStore, 'findChannelList'>): Promise<void> {
  const list = await store.findChannelList().catch(() => null)
  if (list === undefined) logger.warn('the stored copy is open again; it has nothing of this catalog yet')
  else logger.info('the stored copy is open again')
}
