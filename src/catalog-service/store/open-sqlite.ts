import { type Kysely as Database, Kysely, SqliteDialect } from 'kysely'
import type { Clock } from '../../clock.ts'
import { migrateDatabase } from '../../database/migrate.ts'
import { StoreError } from '../../errors.ts'
import { toOpenError } from '../../database/open-failure.ts'
import { type SqliteOptions, openSqlite } from '../../database/sqlite.ts'
import { CATALOG_MIGRATIONS, USAGE_MIGRATIONS } from './migrations.ts'
import { getCatalogId } from './meta.ts'
import type { CatalogStore } from './catalog-store.ts'
import type { CatalogTables, UsageTables } from './schema.ts'
import { type Snapshot, createSnapshot } from './snapshot.ts'
import { createSqliteReads } from './sqlite-reads.ts'
import { createSqliteCounter } from './usage.ts'

// oxlint-disable typescript/no-unnecessary-type-parameters -- only who writes a statement knows its rows
/** Runs one statement at once, on the calling thread; for what answers requests, where a promise costs as much as the work. */
export type RunNow = <Row>(statement: string, parameters: readonly unknown[]) => readonly Row[]
// oxlint-enable typescript/no-unnecessary-type-parameters

/**
 * Pages that a connection keeps, in bytes. A feed of a million products in any order is imported a fifth faster with twice as
 * many; look-ups in a million want the upper parts of both trees.
 */
const WRITER_CACHE_BYTES: number = 32 * 1024 * 1024
const READER_CACHE_BYTES: number = 64 * 1024 * 1024

/** As much as SQLite maps: a catalog of two million products. The kernel keeps of it what it has room for. */
const MAPPED_BYTES: number = 2 * 1024 * 1024 * 1024 - 64 * 1024

/** A count takes no time: whoever holds its file longer than this is no process of ours, and nobody waits for it. */
const USAGE_BUSY_MS = 250

/** The catalog in two files: its own, and one for usage, because an import holds the write lock of the first for minutes. */
export type SqliteCatalogStore = CatalogStore &
  Readonly<{
    /** The reader's connection. */
    read: RunNow
    /** What `read` sees. */
    snapshot: Snapshot
    /** The connection that counts. */
    runUsage: RunNow
  }>

/**
 * `path` is a SQLite file; the usage file stands beside it. `isServedAlone`: nothing else runs in this process, so that
 * the file may be mapped for reading (see `mapBytes` of the database).
 */
export type SqliteStoreOptions = Readonly<{ path: string; clock: Clock; isServedAlone?: boolean }>

/**
 * Opens the catalog's databases and brings them to this version.
 * @throws StoreError when a file cannot be opened; StoreNewerError when a newer version made it.
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<SqliteCatalogStore> {
  const { path, clock, isServedAlone = false } = options
  const opened: Opened<unknown>[] = []
  const close = async (): Promise<void> => {
    for (const { end } of opened.toReversed()) await end()
  }
  try {
    const writer = openDatabase<CatalogTables>(
      { path, role: 'writer', cacheBytes: WRITER_CACHE_BYTES },
      opened,
    )
    await migrateDatabase(writer.database, CATALOG_MIGRATIONS)
    const usage = openDatabase<UsageTables>({ path: toUsagePath(path), role: 'writer' }, opened)
    await migrateDatabase(usage.database, USAGE_MIGRATIONS)
    usage.run(`pragma busy_timeout = ${USAGE_BUSY_MS}`, [])
    const reader = openDatabase<CatalogTables>(
      {
        path,
        role: 'reader',
        cacheBytes: READER_CACHE_BYTES,
        ...(isServedAlone ? { mapBytes: MAPPED_BYTES } : {}),
      },
      opened,
    )
    const snapshot = createSnapshot(reader.run)
    const store: SqliteCatalogStore = {
      reader: reader.database,
      read: reader.run,
      snapshot,
      // The writer's transactions begin with the write lock.
      write: (work) => writer.database.transaction().execute(work),
      usage: usage.database,
      runUsage: usage.run,
      openReads: () => createSqliteReads(store),
      openUsageCounter: () => createSqliteCounter(store),
      clock,
      async close() {
        snapshot.end()
        await close()
      },
    }
    await getCatalogId(store)
    return store
  } catch (error) {
    await close()
    throw error instanceof StoreError ? toOpenError(path, error) : error
  }
}

type Opened<T> = Readonly<{ database: Database<T>; run: RunNow; end(): Promise<void> }>

function openDatabase<T>(options: SqliteOptions, opened: Opened<unknown>[]): Opened<T> {
  const sqlite = openSqlite(options)
  let isClosed = false
  const close = (): void => {
    if (!isClosed) sqlite.close()
    isClosed = true
  }
  const database = new Kysely<T>({
    dialect: new SqliteDialect({ database: { prepare: (statement) => sqlite.prepare(statement), close } }),
  })
  const made: Opened<T> = {
    database,
    run: (statement, parameters) => sqlite.prepare(statement).all(parameters) as never,
    async end() {
      await database.destroy()
      // Kysely closes a database only where it has used it.
      close()
    },
  }
  opened.push(made as Opened<unknown>)
  return made
}

/** Return the path of the usage database that stands beside the catalog's. */
export function toUsagePath(path: string): string {
  return path.endsWith('.db') ? `${path.slice(0, -'.db'.length)}-usage.db` : `${path}-usage`
}
