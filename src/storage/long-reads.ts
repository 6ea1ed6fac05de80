import { sql } from 'kysely'
import { isPostgres } from '../database/dialect.ts'
import { isTimeout } from '../database/failures.ts'
import { UnavailableError } from '../errors.ts'
import {
  type CountReads,
  findLastShownDays,
  listAskedProducts,
  listClicks,
  listPlacements,
  sumClicks,
} from './counts.ts'
import { EMPTY_DEAL_COUNTS, countDeals, findDeals } from './deals.ts'
import type { CopyReader } from './copies.ts'
import { searchProducts } from './search.ts'
import type { CopyStore } from './store.ts'

/** Reads that may scan a whole copy, so they must not run on the thread that serves visitors. */
export type LongReads = CountReads & Pick<CopyStore, 'findDeals' | 'countDeals' | 'searchProducts'>

/**
 * Create the long reads of a connection. SQLite runs them to completion on the calling thread. PostgreSQL cancels each
 * statement of `findDeals` after `timeoutMs`, or after `statementTimeoutMs` as any other.
 */
export function createLongReads(readCopy: CopyReader, statementTimeoutMs = Infinity): LongReads {
  return {
    findDeals: (query, timeoutMs) =>
      readCopy(query.channelId, [], async (snapshot, copy) => {
        if (timeoutMs === undefined || !isPostgres(snapshot)) return findDeals(snapshot, copy, query)
        const limitMs = Math.max(1, Math.ceil(Math.min(timeoutMs, statementTimeoutMs)))
        await sql`set local statement_timeout = ${sql.lit(limitMs)}`.execute(snapshot)
        return findDeals(snapshot, copy, query).catch((error: unknown) => {
          throw isTimeout(error) ? createTimeoutError(error) : error
        })
      }),
    countDeals: (query, shopKeys) =>
      readCopy(query.channelId, EMPTY_DEAL_COUNTS, (snapshot, copy) =>
        countDeals(snapshot, copy, query, shopKeys),
      ),
    searchProducts: (channelId, text, limit) =>
      readCopy(channelId, [], (snapshot, copy) => searchProducts(snapshot, copy, { text, limit })),
    listAskedProducts: (channelId, request) =>
      readCopy(channelId, [], (snapshot, { id }) => listAskedProducts(snapshot, id, request)),
    listPlacements: (channelId, request) =>
      readCopy(channelId, [], (snapshot, { id }) => listPlacements(snapshot, id, request)),
    listClicks: (channelId, request) =>
      readCopy(channelId, [], (snapshot, { id }) => listClicks(snapshot, id, request)),
    sumClicks: (channelId, request) =>
      readCopy(channelId, new Map<string | null, number>(), (snapshot, { id }) =>
        sumClicks(snapshot, id, request),
      ),
    findLastShownDays: (channelId, gtins) =>
      readCopy(channelId, new Map<string, number>(), (snapshot, { id }) =>
        findLastShownDays(snapshot, id, gtins),
      ),
  }
}

export function createTimeoutError(cause?: unknown): UnavailableError {
  return new UnavailableError('the deals were not read in time', { cause })
}
