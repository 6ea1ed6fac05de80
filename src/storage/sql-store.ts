import { sql } from 'kysely'
import { type Clock, systemClock } from '../clock.ts'
import type { DatabaseAddress } from '../config/config.ts'
import { StoreError, VitrineError } from '../errors.ts'
import { type BusyTimeouts, openCopyDatabase } from './dialects.ts'
import { isPostgres } from '../database/postgres.ts'
import { createPostgresClaims } from './postgres-claims.ts'
import { createSqlClaims } from './sql-claims.ts'
import { findUnfinishedWalks } from './sql-leases.ts'
import { readTime } from './sql-time.ts'
import { findChannelList, holdChannelList, putChannelList } from './sql-channels.ts'
import { findFutureCopies, readCopyState } from './sql-copies.ts'
import { findDealCurrency } from './sql-deals.ts'
import { findProduct } from './sql-lookups.ts'
import { countOffers } from './sql-offer-count.ts'
import { putLookups } from './sql-put-lookups.ts'
import { updateQuota } from './sql-quota.ts'
import { type LongReads, createLongReads, createReadCopy, readInOneView } from './sql-reads.ts'
import { createSqlWalkStore } from './sql-walk-store.ts'
import { tendServer } from './with-retries.ts'
import { shrinkFile } from './sqlite-shrink.ts'
import { type SearchIndex, tendSearchIndex } from './sqlite-search.ts'
import type { CopyStore, WalkStore } from './store.ts'

/**
 * Which database, and which catalog's copy in it: another catalog address starts a new one. `timeouts`: how long statements
 * wait for another process's transaction; by default as long as a walk may.
 */
export type SqlStoreOptions = Readonly<{
  database: DatabaseAddress
  catalog: string
  timeouts?: BusyTimeouts
  /** Which times are of the future; by default the machine's. */
  clock?: Clock
  /** How long reads of a SQLite file are made; by default on the calling thread. */
  openLongReads?: OpenLongReads
}>

/** Opens what makes the long reads of a catalog's copy in the SQLite file at `path`. */
export type OpenLongReads = (
  place: Readonly<{ path: string; catalog: string }>,
) => LongReads & Readonly<{ close(): Promise<void> }>

/**
 * Opens the stored copy of one catalog.
 * @throws StoreError, StoreNewerError
 */
export async function openSqlStore(options: SqlStoreOptions): Promise<SqlStore> {
  const { catalog, clock = systemClock } = options
  const { reader, writer, close } = await openCopyDatabase(options.database, options.timeouts)
  const index = isPostgres(writer) ? tendServer(options) : tendSearchIndex(writer)
  const readCopy = createReadCopy(reader, catalog, clock)
  const longReads = openReadsOfFile(options)
  const store: SqlStore = {
    ...createSqlWalkStore(writer, catalog, clock),
    ...(isPostgres(writer) ? createPostgresClaims(writer, catalog) : createSqlClaims(writer, catalog, clock)),
    findProduct: (channelId, gtin) => findProduct(reader, { catalog, channelId, gtin, clock }),
    putLookups: (lookups) => putLookups(writer, catalog, { lookups, clock }),
    findChannelList: () => readInOneView(reader, (view) => findChannelList(view, catalog)),
    putChannelList: (channels, asOfMs) => putChannelList(writer, catalog, { channels, asOfMs }),
    holdChannelList: (asOfMs) => holdChannelList(writer, catalog, asOfMs),
    getCopyState: (channelId) => readCopyState(reader, catalog, channelId),
    ...(longReads ?? createLongReads(readCopy)),
    findDealCurrency: (channelId) => readCopy<string | undefined>(channelId, undefined, findDealCurrency),
    updateQuota: (nowMs, change) => updateQuota(writer, catalog, { nowMs, change }),
    findUnfinishedWalks: () => findUnfinishedWalks(reader, catalog, clock),
    findFutureCopies: () => findFutureCopies(reader, catalog, clock.nowMs()),
    readTime: () => readTime(reader),
    async ping() {
      await sql`select count(*) from copies`.execute(reader)
    },
    async checkWritable() {
      // A refused write closes its connection, so the next check opens a new one.
      if (isPostgres(writer)) await sql`select 1 from copies where false for update`.execute(writer)
    },
    async findDamage() {
      if (isPostgres(reader)) return null
      const found = await sql<{ quick_check: string }>`pragma quick_check(1)`.execute(reader)
      const [first] = found.rows
      return first === undefined || first.quick_check === 'ok' ? null : first.quick_check
    },
    // A server looks after its files itself.
    shrink: (signal) => (isPostgres(writer) ? Promise.resolve() : shrinkFile(writer, signal)),
    countOffers: (channelId) =>
      readCopy(channelId, 0, (view, { id, visibleWalk }) => countOffers(view, id, visibleWalk)),
    async close() {
      await index.stop()
      await longReads?.close()
      await close()
    },
  }
  return wrapErrors(store, index)
}

function openReadsOfFile({
  database,
  catalog,
  openLongReads,
}: SqlStoreOptions): ReturnType<OpenLongReads> | undefined {
  if (database.kind === 'postgres' || database.path === ':memory:') return undefined
  return openLongReads?.({ path: database.path, catalog })
}

/** Both sides of the copy, and what concerns the whole file. */
export type SqlStore = CopyStore &
  WalkStore &
  Readonly<{
    /** Reads every page; what is wrong with the first damaged one, in SQLite's words, or `null`. */
    findDamage(): Promise<string | null>
    /** Gives free pages of a SQLite file back to the disk, for some seconds at most. */
    shrink(signal?: AbortSignal): Promise<void>
    /** Offers of all products of a channel; it reads each of them. */
    countOffers(channelId: string): Promise<number>
  }>

/**
 * Gives every method the promise of the interface: a `StoreError` and nothing else. What is done twice over a damaged index
 * changes nothing the second time: it is one transaction, or steps of a walk, which may be repeated.
 */
function wrapErrors(store: SqlStore, index: SearchIndex): SqlStore {
  const entries = Object.entries(store).map(
    ([name, method]: [string, (...parameters: never[]) => Promise<unknown>]) => [
      name,
      async (...parameters: never[]): Promise<unknown> => {
        try {
          return await index.mend(() => method(...parameters))
        } catch (error) {
          if (error instanceof VitrineError) throw error
          throw new StoreError(`the stored copy failed at ${name}`, { cause: error })
        }
      },
    ],
  )
  return Object.fromEntries(entries) as SqlStore
}
