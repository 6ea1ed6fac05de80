import { Kysely, type SqliteDatabase, SqliteDialect, type Transaction, sql } from 'kysely'
import { MINUTE_MS, SECOND_MS } from '../clock.ts'
import type { DatabaseAddress, PostgresAddress } from '../config/database-address.ts'
import { StoreError, VitrineError } from '../errors.ts'
import { describeStoreFailure, findPostgresFailure, toOpenError } from './failures.ts'
import {
  type MigrationListener,
  type Migrations,
  isUpToDate,
  migrateDatabase,
  migratePostgres,
} from './migrate.ts'
import type { OpenPostgres } from './postgres.ts'
import { type SqliteOptions, openSqlite } from './sqlite.ts'

/** How long statements wait for another process's transaction, while opening a SQLite file and afterwards. */
export type LockTimeouts = Readonly<{ openingMs: number; openMs: number }>

/** Separate connections for reads and writes, so that reads never queue behind a transaction. */
export type OpenDatabase<Tables> = Readonly<{
  reader: Kysely<Tables>
  writer: Kysely<Tables>
  /** Repair what made a call fail that began at `startedMs` of `performance.now()`; `true`: the call may succeed now. */
  repair?(error: unknown, startedMs: number): Promise<boolean>
  close(): Promise<void>
}>

type Pool = Readonly<{ size: number; statementTimeoutMs: number; idleTransactionMs?: number }>

/** How a database is opened: as a file or as a schema of a server. */
export type DatabaseOptions = Readonly<{
  address: DatabaseAddress
  migrations: Migrations
  onMigrated?: MigrationListener | undefined
  file: Readonly<{
    timeouts: LockTimeouts
    writer?: Omit<SqliteOptions, 'path' | 'role'>
    /** `null`: the writer reads too. */
    reader?: Omit<SqliteOptions, 'path' | 'role'> | null
  }>
  server: Readonly<{
    schema: string
    reader: Pool
    /** `null`: the pool of the reader writes too. */
    writer: Pool | null
  }>
}>

/** A migration can build indexes over all rows. */
const MIGRATION_TIMEOUT_MS: number = 10 * MINUTE_MS

/** The check of the version may take as long as a write. */
const CHECK_TIMEOUT_FACTOR = 2

/** Reads of a file wait only while another process recovers or truncates the WAL. */
const READER_BUSY_TIMEOUT_MS: number = SECOND_MS / 10

/** Open and migrate a database. @throws StoreError, StoreVersionError */
export async function openDatabase<Tables>(options: DatabaseOptions): Promise<OpenDatabase<Tables>> {
  const { address } = options
  try {
    return await (address.kind === 'sqlite'
      ? openFile<Tables>(address.path, options)
      : openServer<Tables>(address, options))
  } catch (error) {
    if (address.kind === 'sqlite') throw toOpenError(address.path, error)
    if (error instanceof VitrineError) throw error
    const reason = findPostgresFailure(error)?.message ?? `${address.label}: ${describeStoreFailure(error)}`
    throw new StoreError(`Cannot open the database ${reason}`, { cause: error })
  }
}

async function openFile<Tables>(
  path: string,
  {
    migrations,
    onMigrated,
    file: { timeouts, writer: writerOptions, reader: readerOptions },
  }: DatabaseOptions,
): Promise<OpenDatabase<Tables>> {
  const { openingMs, openMs } = timeouts
  const writer = openKysely<Tables>({ ...writerOptions, path, role: 'writer', busyTimeoutMs: openingMs })
  try {
    await migrateDatabase(writer, migrations, onMigrated)
    await sql`pragma busy_timeout = ${sql.lit(openMs)}`.execute(writer)
  } catch (error) {
    await writer.destroy().catch(() => {})
    throw error
  }
  const hasReader = readerOptions !== null && path !== ':memory:'
  const reader = hasReader ? openReader<Tables>(path, { ...readerOptions, busyTimeoutMs: openMs }) : writer
  return {
    reader,
    writer,
    async close() {
      if (reader !== writer) await reader.destroy()
      await writer.destroy()
    },
  }
}

/** Create a read-only connection to an existing SQLite file. The first statement opens it. */
export function openReader<Tables>(
  path: string,
  { busyTimeoutMs = 0, ...options }: Omit<SqliteOptions, 'path' | 'role'> = {},
): Kysely<Tables> {
  const waitMs = Math.max(busyTimeoutMs, READER_BUSY_TIMEOUT_MS)
  return openKysely({ ...options, path, role: 'reader', busyTimeoutMs: waitMs })
}

function openKysely<Tables>(options: SqliteOptions): Kysely<Tables> {
  // Open a reader lazily: a walk needs none, and Kysely does not close a connection that it never used.
  const open = (): SqliteDatabase => openSqlite(options)
  const database = options.role === 'reader' ? () => Promise.resolve(open()) : open()
  return new Kysely<Tables>({ dialect: new SqliteDialect({ database }) })
}

async function openServer<Tables>(
  address: PostgresAddress,
  { migrations, onMigrated, server }: DatabaseOptions,
): Promise<OpenDatabase<Tables>> {
  // SQLite needs no driver of PostgreSQL.
  const [{ openPostgres }, { checkServer }] = await Promise.all([
    import('./postgres.ts'),
    import('./check-server.ts'),
  ])
  const { schema } = server
  const open = (pool: Pool): OpenPostgres<Tables> => openPostgres({ address, schema, ...pool })
  const withConnection = async <T>(
    statementTimeoutMs: number,
    work: (database: Kysely<Tables>) => Promise<T>,
  ): Promise<T> => {
    const { database, close } = open({ size: 1, statementTimeoutMs })
    try {
      return await work(database)
    } finally {
      await close()
    }
  }
  await checkServer(address)
  // Check the version first: an up-to-date database needs no right to change tables and no long timeout.
  const checkTimeoutMs = CHECK_TIMEOUT_FACTOR * address.statementTimeoutMs
  const isCurrent = await withConnection(checkTimeoutMs, (database) => isUpToDate(database, migrations))
  if (!isCurrent)
    await withConnection(MIGRATION_TIMEOUT_MS, (database) =>
      migratePostgres(database, schema, migrations, onMigrated),
    )
  const reader = open(server.reader)
  const writer = server.writer === null ? reader : open(server.writer)
  return {
    reader: reader.database,
    writer: writer.database,
    async close() {
      await Promise.all([reader.close(), ...(writer === reader ? [] : [writer.close()])])
    },
  }
}

/** Run all statements of a read in one snapshot, so that they see the same commits. */
export function readInSnapshot<Tables, T>(
  reader: Kysely<Tables>,
  read: (snapshot: Transaction<Tables>) => Promise<T>,
): Promise<T> {
  return reader.transaction().setIsolationLevel('repeatable read').setAccessMode('read only').execute(read)
}
