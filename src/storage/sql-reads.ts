import { type Kysely, type Transaction, sql } from 'kysely'
import { type Clock, systemClock } from '../clock.ts'
import { isPostgres } from '../database/postgres.ts'
import { UnavailableError } from '../errors.ts'
import { isTooLong } from './unavailable.ts'
import type { CopyTables } from './schema.ts'
import { type CopyView, findCopy } from './sql-copies.ts'
import { NO_DEALS, countDeals } from './sql-deal-counts.ts'
import { findDeals } from './sql-deals.ts'
import { searchProducts } from './sql-search.ts'
import type { CopyStore } from './store.ts'

/** Reads that may go through a whole copy, so that they must not run on a thread that answers visitors. */
export type LongReads = Pick<CopyStore, 'findDeals' | 'countDeals' | 'searchProducts'>

/** Reads one channel of a catalog's copy; `empty` when nothing was ever stored of the channel. */
export type ReadCopy = <T>(
  channelId: string,
  empty: T,
  read: (view: Transaction<CopyTables>, copy: CopyView) => Promise<T>,
) => Promise<T>

/** Let all statements of one read see the same data: a walk that completes meanwhile removes what it replaced. */
export function readInOneView<T>(
  reader: Kysely<CopyTables>,
  read: (view: Transaction<CopyTables>) => Promise<T>,
): Promise<T> {
  return reader.transaction().setIsolationLevel('repeatable read').execute(read)
}

/** Create the reader of a catalog's copies, each read in one view. */
export function createReadCopy(
  reader: Kysely<CopyTables>,
  catalog: string,
  clock: Clock = systemClock,
): ReadCopy {
  return (channelId, empty, read) =>
    readInOneView(reader, async (view) => {
      const copy = await findCopy(view, catalog, channelId)
      return copy === undefined ? empty : read(view, { ...copy, nowMs: clock.nowMs() })
    })
}

/** Throw this when a grid was not read within its time. */
export function createLateError(cause?: unknown): UnavailableError {
  return new UnavailableError('the deals were not read in time', { cause })
}

/**
 * Create the long reads of a connection. SQLite runs them on the calling thread, to their end; a server ends each statement of
 * `findDeals` after its time.
 */
export function createLongReads(readCopy: ReadCopy): LongReads {
  return {
    findDeals: (query, withinMs) =>
      readCopy(query.channelId, [], async (view, copy) => {
        if (withinMs === undefined || !isPostgres(view)) return findDeals(view, copy, query)
        await sql`set local statement_timeout = ${sql.lit(Math.max(1, Math.ceil(withinMs)))}`.execute(view)
        return findDeals(view, copy, query).catch((error: unknown) => {
          throw isTooLong(error) ? createLateError(error) : error
        })
      }),
    countDeals: (query) => readCopy(query.channelId, NO_DEALS, (view, copy) => countDeals(view, copy, query)),
    searchProducts: (channelId, text, limit) =>
      readCopy(channelId, [], (view, copy) => searchProducts(view, copy, { text, limit })),
  }
}
