import { type Kysely, sql } from 'kysely'
import { type Clock, systemClock } from '../clock.ts'
import type { DatabaseAddress } from '../config/database-address.ts'
import { isPostgres } from '../database/is-postgres.ts'
import { readDatabaseTime } from '../database/lease-time.ts'
import type { MigrationListener } from '../database/migrate.ts'
import { StoreError, VitrineError } from '../errors.ts'
import { type LockTimeouts, openCopyDatabase } from './copy-database.ts'
import type { CopyTables } from './schema.ts'
import { createCountStore } from './sql-coverage.ts'
import { createEventStore } from './sql-events.ts'
import { findChannelList, recordEmptyChannelList, putChannelList } from './sql-channels.ts'
import { createLookupLeases } from './sql-lookup-leases.ts'
import { type OpenLongReads, createLongReads } from './long-reads.ts'
import {
  countOffers,
  createCopyReader,
  createMalformedReader,
  findFutureCopies,
  readCopyState,
  readInSnapshot,
} from './sql-copies.ts'
import { findDealCurrency } from './sql-deals.ts'
import {
  type HistoryRules,
  NO_HISTORY,
  countObservedDays,
  readPriceSeries,
  toKeptPeriod,
} from './sql-price-history.ts'
import { findUnfinishedWalks } from './sql-walk-leases.ts'
import { findPicture, findProduct, findProducts } from './sql-lookups.ts'
import { createLookupWriter } from './sql-lookup-writer.ts'
import { updateQuota } from './sql-quota.ts'
import { createSqlWalkStore } from './sql-walk-store.ts'
import { type HistoryTransfer, createHistoryTransfer } from './sql-history-transfer.ts'
import { maintainSearchIndex } from './sqlite-search-index.ts'
import { shrinkFile } from './sqlite-shrink.ts'
import { type CopyEntry, type CopyStore, type WalkStore, isShortRead } from './store.ts'
import { createServerRunner } from './with-retries.ts'

export type SqlStoreOptions = Readonly<{
  database: DatabaseAddress
  /** Identifies the copy: a different catalog address starts a new one. */
  catalog: string
  /** By default the timeouts of a walk. */
  timeouts?: LockTimeouts
  /** Decides which times are in the future; by default the system clock. */
  clock?: Clock
  /** By default, no observed prices are kept. */
  history?: HistoryRules
  onMigrated?: MigrationListener
  /** Opens the thread for long reads of a SQLite file; by default the calling thread runs them. */
  openLongReads?: OpenLongReads
}>

export type SqlStore = CopyStore &
  WalkStore &
  HistoryTransfer &
  Readonly<{
    /** Read every page of a SQLite file. Return SQLite's message about the first damaged page, or `null`. */
    findDamage(): Promise<string | null>
    /** Return free pages of a SQLite file to the disk, for a few seconds at most. */
    shrink(signal?: AbortSignal): Promise<void>
    /** Count the offers of a channel by reading every product. */
    countOffers(channelId: string): Promise<number>
  }>

/** Open the stored copy of one catalog. @throws StoreError, StoreVersionError */
export async function openSqlStore(options: SqlStoreOptions): Promise<SqlStore> {
  const { database, catalog, clock = systemClock, history = NO_HISTORY } = options
  const { reader, writer, close } = await openCopyDatabase(database, options.timeouts, options.onMigrated)
  const isServer = isPostgres(writer)
  const runner = isServer
    ? createServerRunner({ isWalk: options.timeouts === undefined })
    : maintainSearchIndex(writer)
  const readCopy = createCopyReader(reader, catalog, clock)
  const isFile = database.kind === 'sqlite' && database.path !== ':memory:'
  const readThread = isFile ? options.openLongReads?.({ path: database.path, catalog }) : undefined
  const directReads = createLongReads(readCopy)
  const longReads = readThread ?? directReads
  const methods: SqlStore = {
    findProduct: (channelId, gtin) => findProduct(reader, { catalog, channelId, gtin, clock }),
    findProducts: (channelId, gtins) =>
      readCopy(channelId, new Map<string, CopyEntry>(), (snapshot, copy) =>
        findProducts(snapshot, copy, gtins),
      ),
    findPicture: (pictureHash) => findPicture(reader, catalog, pictureHash),
    putLookups: createLookupWriter(writer, catalog, { clock, history }),
    ...createLookupLeases(writer, catalog, clock),
    findChannelList: () => readInSnapshot(reader, (snapshot) => findChannelList(snapshot, catalog)),
    putChannelList: (channels, asOfMs) => putChannelList(writer, catalog, channels, asOfMs),
    recordEmptyChannelList: (asOfMs) => recordEmptyChannelList(writer, catalog, asOfMs),
    getCopyState: (channelId) => readCopyState(reader, catalog, channelId),
    findMalformedEntry: createMalformedReader(readCopy),
    async findDeals(query, timeoutMs) {
      // What was observed is deleted with the next walk.
      if (history.keptDays === 0 && query.evidence === 'observed') return []
      return (isShortRead(query) ? directReads : longReads).findDeals(query, timeoutMs)
    },
    countDeals: (...parameters) => longReads.countDeals(...parameters),
    // The first products are a short index read. The startup message uses it, which needs no thread.
    searchProducts: (channelId, text, limit) =>
      (text === '' ? directReads : longReads).searchProducts(channelId, text, limit),
    findPriceSeries: (channelId, gtin) =>
      readCopy(channelId, [], (snapshot, { id, nowMs }) =>
        readPriceSeries(snapshot, id, { gtin, ...toKeptPeriod(history, nowMs) }),
      ),
    async countObservedDays(channelId) {
      if (history.keptDays === 0) return null
      return readCopy(channelId, { all: 0, imported: 0 }, (snapshot, { id, nowMs }) =>
        countObservedDays(snapshot, id, toKeptPeriod(history, nowMs)),
      )
    },
    findDealCurrency: (channelId) => readCopy<string | undefined>(channelId, undefined, findDealCurrency),
    ...createCountStore(writer, catalog, { clock, longReads }),
    ...createEventStore({ reader, writer }, catalog, clock),
    updateQuota: (nowMs, change) => updateQuota(writer, catalog, nowMs, change),
    findUnfinishedWalks: () => findUnfinishedWalks(reader, catalog, clock),
    findFutureCopies: () => findFutureCopies(reader, catalog, clock.nowMs()),
    readDatabaseTime: () => readDatabaseTime(reader),
    ping: async () => void (await sql`select count(*) from copies`.execute(reader)),
    // A rejected write closes its connection, so the next check opens a new one.
    async checkWritable() {
      if (isServer) await sql`select 1 from copies where false for update`.execute(writer)
    },
    ...createSqlWalkStore(writer, catalog, { clock, history }),
    ...createHistoryTransfer({ reader, writer }, catalog, { clock, history }),
    findDamage: async () => (isServer ? null : findDamage(reader)),
    // PostgreSQL maintains its files itself.
    shrink: async (signal) => (isServer ? undefined : shrinkFile(writer, signal)),
    countOffers: (channelId) =>
      readCopy(channelId, 0, (snapshot, { id, visibleWalk }) => countOffers(snapshot, id, visibleWalk)),
    async close() {
      await runner.stop()
      await readThread?.close()
      await close()
    },
  }
  return wrapMethods(methods, (name, action) =>
    runner.run(action).catch((error: unknown) => {
      if (error instanceof VitrineError) throw error
      throw new StoreError(`the stored copy failed at ${name}`, { cause: error })
    }),
  )
}

/** Run each method through `run`. */
function wrapMethods(
  methods: SqlStore,
  run: <T>(name: string, action: () => Promise<T>) => Promise<T>,
): SqlStore {
  const wrapped = Object.entries<(...parameters: never) => Promise<unknown>>(methods).map(
    ([name, method]) => [name, (...parameters: never) => run(name, () => method(...parameters))] as const,
  )
  return Object.fromEntries(wrapped) as SqlStore
}

async function findDamage(reader: Kysely<CopyTables>): Promise<string | null> {
  const { rows } = await sql<{ quick_check: string }>`pragma quick_check(1)`.execute(reader)
  const [first] = rows
  return first === undefined || first.quick_check === 'ok' ? null : first.quick_check
}
