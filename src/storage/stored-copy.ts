import { type Kysely, sql } from 'kysely'
import { type Clock, SECOND_MS, systemClock } from '../clock.ts'
import type { DatabaseAddress } from '../config/database-address.ts'
import { type Connection, type ServiceOptions, openConnection } from '../database/connection.ts'
import { readDatabaseTime } from '../database/leases.ts'
import type { MigrationListener } from '../database/migrate.ts'
import { type LockTimeouts, type OpenDatabase, readInSnapshot } from '../database/open-database.ts'
import { runWithDeadline } from '../database/sqlite.ts'
import { findFileId } from '../lib/files.ts'
import { findChannelList, putChannelList, recordEmptyChannelList } from './channels.ts'
import { type CopyAccess, openCopyDatabase, shrinkFile, toConnectionKind } from './copy-database.ts'
import { createCountWriter } from './count-writer.ts'
import { findDealCurrency } from './deals.ts'
import { createEventStore } from './events.ts'
import { type LongReads, createLongReads } from './long-reads.ts'
import { createLookupWriter } from './lookup-writer.ts'
import { createLookupLeases, findPicture, findProduct, findProducts } from './lookups.ts'
import type { CopyTables } from './schema.ts'
import {
  type CopyReader,
  countOffers,
  createCopyReader,
  findFutureCopies,
  findMalformedEntry,
  readCopyState,
} from './copies.ts'
import { type HistoryTransfer, createHistoryTransfer } from './history-transfer.ts'
import {
  type HistoryRules,
  NO_HISTORY,
  countObservedDays,
  readPriceSeries,
  toKeptPeriod,
} from './price-history.ts'
import { updateQuota } from './quota.ts'
import { findUnfinishedWalks } from './walk-leases.ts'
import { maintainSearchIndex } from './search-index.ts'
import { type CopyEntry, type CopyStore, type DealEntry, type WalkStore, isShortRead } from './store.ts'
import type { StoreThreads } from './threads.ts'
import { createWalkStore } from './walks.ts'

export type StoredCopyOptions = Readonly<{
  database: DatabaseAddress
  /** Identifies the copy: a different catalog address starts a new one. */
  catalog: string
  /** By default `service` with `service`, otherwise `walk`. */
  access?: CopyAccess
  /** Absent for commands and walks, which need the database. */
  service?: Pick<ServiceOptions, 'onFailure' | 'onRecovered' | 'onReadOnly' | 'onWritable'> &
    Readonly<{
      /** How long visitors wait for a response. */
      visitorTimeoutMs: number
    }>
  /** Decides which times are in the future; by default the system clock. */
  clock?: Clock
  /** By default, no observed prices are kept. */
  history?: HistoryRules
  onMigrated?: MigrationListener
  /** For a SQLite file; by default the calling thread does what they would do. */
  threads?: Partial<StoreThreads>
}>

export type StoredCopy = CopyStore &
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

/** How long a server's write waits for a locked file. A walk locks it for milliseconds. */
const LOCKED_MS: number = 0.3 * SECOND_MS

/** Opening a file is expensive. */
const REOPEN_MS: number = 30 * SECOND_MS

/** Part of the time of a visitor in which a silent server must respond, so that the visitor still gets a response in time. */
const MAX_SILENCE_SHARE = 7 / 8

/** How long each step of a walk waits for an unavailable server. By then its lease has almost expired. */
const UNAVAILABLE_MS: number = 30 * SECOND_MS

/**
 * Open the stored copy of one catalog. Every method says in which lane it runs (`database/connection.ts`).
 * @throws StoreVersionError when another version created the database; without `service`, StoreError.
 */
export async function openStoredCopy(options: StoredCopyOptions): Promise<StoredCopy> {
  const { database, catalog, clock = systemClock, history = NO_HISTORY, threads } = options
  const connection = await connect(options)
  const isServer = database.kind === 'postgres'
  const path = findPath(database)
  const writeThread = path === undefined ? undefined : threads?.openLookupWriter?.({ path, catalog, history })
  return {
    ...createShortReads(connection, { catalog, clock, history }),
    ...createScans(connection, history),
    putLookups: writeThread
      ? (lookups) => connection.write(() => writeThread.putLookups(lookups))
      : createLookupWriter(connection, catalog, { clock, history }),
    ...createLookupLeases(connection, catalog, clock),
    putChannelList: (channels, asOfMs) =>
      connection.transact((transaction) => putChannelList(transaction, catalog, channels, asOfMs)),
    recordEmptyChannelList: (asOfMs) =>
      connection.write(({ writer }) => recordEmptyChannelList(writer, catalog, asOfMs)),
    addCounts: createCountWriter(connection, catalog, { clock }),
    ...createEventStore(connection, catalog, clock),
    updateQuota: (nowMs, change) =>
      connection.transact(
        (transaction) => updateQuota(transaction, catalog, nowMs, change),
        'read committed',
      ),
    findUnfinishedWalks: () => connection.read(({ reader }) => findUnfinishedWalks(reader, catalog, clock)),
    findFutureCopies: () => connection.read(({ reader }) => findFutureCopies(reader, catalog, clock.nowMs())),
    readDatabaseTime: () => connection.read(({ reader }) => readDatabaseTime(reader)),
    ping: () => connection.ping(),
    checkWritable: () => connection.checkWritable(),
    ...createWalkStore(connection, catalog, { clock, history }),
    ...createHistoryTransfer(connection, catalog, { clock, history }),
    findDamage: async () => (isServer ? null : connection.read(({ reader }) => findDamage(reader))),
    // PostgreSQL maintains its files itself.
    shrink: async (signal) =>
      isServer ? undefined : connection.write(({ writer }) => shrinkFile(writer, signal)),
    countOffers: (channelId) =>
      connection.read(({ readCopy }) =>
        readCopy(channelId, 0, (snapshot, { id, visibleWalk }) => countOffers(snapshot, id, visibleWalk)),
      ),
    async close() {
      await writeThread?.close()
      await connection.close()
    },
  }
}

function findAccess({ access, service }: StoredCopyOptions): CopyAccess {
  return access ?? (service === undefined ? 'walk' : 'service')
}

/** Return the path of a SQLite file. */
function findPath(database: DatabaseAddress): string | undefined {
  return database.kind === 'sqlite' && database.path !== ':memory:' ? database.path : undefined
}

type CopyOptions = Readonly<{ catalog: string; clock: Clock; history: HistoryRules }>

/** Reads of boxes, and of what grids need besides their deals. */
function createShortReads(
  connection: Connection<CopyTables, OpenCopy>,
  { catalog, clock, history }: CopyOptions,
) {
  return {
    findProduct: (channelId, gtin) =>
      connection.readShort(({ reader }) => findProduct(reader, { catalog, channelId, gtin, clock })),
    findProducts: (channelId, gtins) =>
      connection.read(({ readCopy }) =>
        readCopy(channelId, new Map<string, CopyEntry>(), (snapshot, copy) =>
          findProducts(snapshot, copy, gtins),
        ),
      ),
    findPicture: (pictureHash) =>
      connection.readShort(({ reader }) => findPicture(reader, catalog, pictureHash)),
    findChannelList: () =>
      connection.readShort(({ reader }) =>
        readInSnapshot(reader, (snapshot) => findChannelList(snapshot, catalog)),
      ),
    getCopyState: (channelId) =>
      connection.readShort(({ reader }) => readCopyState(reader, catalog, channelId)),
    findMalformedEntry: (channelId, gtin) =>
      connection.readShort(({ readCopy }) => findMalformedEntry(readCopy, channelId, gtin)),
    findPriceSeries: (channelId, gtin) =>
      connection.readShort(({ readCopy }) =>
        readCopy(channelId, [], (snapshot, { id, nowMs }) =>
          readPriceSeries(snapshot, id, { gtin, ...toKeptPeriod(history, nowMs) }),
        ),
      ),
    async countObservedDays(channelId) {
      if (history.keptDays === 0) return null
      return connection.readShort(({ readCopy }) =>
        readCopy(channelId, { all: 0, imported: 0 }, (snapshot, { id, nowMs }) =>
          countObservedDays(snapshot, id, toKeptPeriod(history, nowMs)),
        ),
      )
    },
    findDealCurrency: (channelId) =>
      connection.readShort(({ readCopy }) =>
        readCopy<string | undefined>(channelId, undefined, findDealCurrency),
      ),
  } satisfies Partial<CopyStore>
}

/** How long a short read of deals may block the thread that serves visitors. */
const MAX_SHORT_READ_MS = 20

/** Reads that can scan a whole copy. */
function createScans(connection: Connection<CopyTables, OpenCopy>, history: HistoryRules) {
  return {
    async findDeals(query, timeoutMs) {
      // What was observed is deleted with the next walk.
      if (history.keptDays === 0 && query.evidence === 'observed') return []
      return connection.readForVisitor(async ({ directReads, longReads }) => {
        if (!isShortRead(query) || directReads === longReads) return longReads.findDeals(query, timeoutMs)
        const read = (): Promise<readonly DealEntry[]> => directReads.findDeals(query, timeoutMs)
        // Where few deals are in stock, a page reads many: then the thread reads it, as long as any long read may take.
        return (
          (await runWithDeadline(MAX_SHORT_READ_MS, read)) ??
          longReads.findDeals(query, timeoutMs && timeoutMs / 2)
        )
      })
    },
    countDeals: (query, shopKeys) =>
      connection.read(({ longReads }) => longReads.countDeals(query, shopKeys)),
    // The first products are a short index read. The startup message uses it, which needs no thread.
    searchProducts: (channelId, text, limit) =>
      connection.read(({ directReads, longReads }) =>
        (text === '' ? directReads : longReads).searchProducts(channelId, text, limit),
      ),
    listAskedProducts: (channelId, request) =>
      connection.read(({ longReads }) => longReads.listAskedProducts(channelId, request)),
    listPlacements: (channelId, request) =>
      connection.read(({ longReads }) => longReads.listPlacements(channelId, request)),
    listClicks: (channelId, request) =>
      connection.read(({ longReads }) => longReads.listClicks(channelId, request)),
    sumClicks: (channelId, request) =>
      connection.read(({ longReads }) => longReads.sumClicks(channelId, request)),
    findLastShownDays: (channelId, gtins) =>
      connection.read(({ longReads }) => longReads.findLastShownDays(channelId, gtins)),
  } satisfies Partial<CopyStore>
}

function connect(options: StoredCopyOptions): Promise<Connection<CopyTables, OpenCopy>> {
  const { database, service, clock } = options
  const access = findAccess(options)
  return openConnection<CopyTables, OpenCopy>({
    open: (timeouts) => openCopy(options, timeouts),
    ...toConnectionKind(database),
    ...(clock && { clock }),
    ...(service === undefined && access === 'walk' && { unavailableMs: UNAVAILABLE_MS }),
    service: service && {
      ...service,
      maxSilenceMs: Math.round(service.visitorTimeoutMs * MAX_SILENCE_SHARE),
      lockedMs: LOCKED_MS,
      reopenMs: REOPEN_MS,
      ...(database.kind === 'sqlite' && { readFileId: () => findFileId(database.path) }),
    },
  })
}

/** `longReads`: on their own thread, if there is one. */
type OpenCopy = OpenDatabase<CopyTables> &
  Readonly<{ readCopy: CopyReader; directReads: LongReads; longReads: LongReads }>

async function openCopy(options: StoredCopyOptions, timeouts?: LockTimeouts): Promise<OpenCopy> {
  const { database, catalog, clock = systemClock, onMigrated, threads } = options
  const opened = await openCopyDatabase(database, {
    access: findAccess(options),
    timeouts,
    onMigrated,
  })
  const path = findPath(database)
  const readThread = path === undefined ? undefined : threads?.openLongReads?.({ path, catalog })
  const index = database.kind === 'sqlite' ? maintainSearchIndex(opened.writer) : undefined
  const readCopy = createCopyReader(opened.reader, catalog, clock)
  const directReads = createLongReads(
    readCopy,
    database.kind === 'postgres' ? database.statementTimeoutMs : Infinity,
  )
  return {
    ...opened,
    ...(index && { repair: index.repair }),
    readCopy,
    directReads,
    longReads: readThread ?? directReads,
    async close() {
      await index?.stop()
      await readThread?.close()
      await opened.close()
    },
  }
}

async function findDamage(reader: Kysely<CopyTables>): Promise<string | null> {
  const { rows } = await sql<{ quick_check: string }>`pragma quick_check(1)`.execute(reader)
  const [first] = rows
  return first === undefined || first.quick_check === 'ok' ? null : first.quick_check
}
