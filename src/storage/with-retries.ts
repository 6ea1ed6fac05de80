import { setMaxListeners } from 'node:events'
import { SECOND_MS, systemClock } from '../clock.ts'
import { retryConflicts } from '../database/transact.ts'
import { isAway, isReadOnly } from './unavailable.ts'
import type { SqlStoreOptions } from './sql-store.ts'
import type { SearchIndex } from './sqlite-search.ts'

/** How long a walk waits for a database that is away; its lease is as good as over then. */
const PATIENCE_MS: number = 30 * SECOND_MS
const TRY_EVERY_MS: number = SECOND_MS / 2

/**
 * What is done around each method of a store on a server, where it may be done twice. What met another transaction is done
 * again. A walk waits for a database that is away or only reads, as while another machine takes its place; visitors do not.
 */
export function tendServer({ timeouts }: Pick<SqlStoreOptions, 'timeouts'>): SearchIndex {
  const stopping = new AbortController()
  // As many may wait as have been asked.
  setMaxListeners(0, stopping.signal)
  const isWalk = timeouts === undefined
  const patiently = async <T>(action: () => Promise<T>): Promise<T> => {
    for (let leftMs = PATIENCE_MS; ; leftMs -= TRY_EVERY_MS) {
      try {
        return await retryConflicts(action)
      } catch (error) {
        const mayPass = isAway(error) || isReadOnly(error)
        if (leftMs <= 0 || !mayPass || stopping.signal.aborted) throw error
        await systemClock.wait(TRY_EVERY_MS, stopping.signal)
      }
    }
  }
  return {
    mend: isWalk ? patiently : retryConflicts,
    stop() {
      stopping.abort()
      return Promise.resolve()
    },
  }
}
