import { type Clock, MINUTE_MS, isWithin } from '../clock.ts'
import { listCauses } from '../database/causes.ts'
import { StoreError } from '../errors.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { CopyStore } from './store.ts'
import { describeStoreFailure, isReadOnly, isValueRefused } from './unavailable.ts'

/** When the stored copy failed last, and what its database said. */
export type StoreFailure = Readonly<{ atMs: number; reason: string }>

/** What is known of failures of the stored copy. */
export type StoreHealth = Readonly<{
  note(error: unknown): void
  /** The database only reads from now on: told once, and not for every write. */
  noteReadOnly(error: unknown): void
  noteWritable(): void
  last(): StoreFailure | null
}>

/** At most one line a minute about a failing store. */
const STORE_LOG_EVERY_MS: number = MINUTE_MS

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
  let last: StoreFailure | null = null
  let isReadOnlyNow = false
  return {
    last: () => last,
    noteReadOnly(error) {
      isReadOnlyNow = true
      logger.error(
        { err: error },
        'the database only reads; stored data is still shown, and nothing is written until it takes writes again',
      )
    },
    noteWritable() {
      isReadOnlyNow = false
      logger.info('the database takes writes again')
    },
    note(error) {
      const nowMs = clock.nowMs()
      if (isValueRefused(error)) {
        if (isWithin(refusalLoggedAtMs, STORE_LOG_EVERY_MS, nowMs)) return
        refusalLoggedAtMs = nowMs
        logger.warn({ err: error }, 'the database refused a value; the stored copy itself works')
        return
      }
      last = { atMs: nowMs, reason: describeReason(error) }
      // A gauge of its own tells that the database only reads.
      if (isReadOnlyNow && isReadOnly(error)) return
      metrics.countStoreFailure()
      if (isWithin(loggedAtMs, STORE_LOG_EVERY_MS, nowMs)) return
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
export async function logHealed(logger: Logger, store: Pick<CopyStore, 'findChannelList'>): Promise<void> {
  const list = await store.findChannelList().catch(() => null)
  if (list === undefined) logger.warn('the stored copy is open again; it has nothing of this catalog yet')
  else logger.info('the stored copy is open again')
}
