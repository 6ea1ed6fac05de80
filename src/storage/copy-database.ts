import { Kysely, type SqliteDatabase, SqliteDialect, sql } from 'kysely'
import {
  type DatabaseAddress,
  type PostgresAddress,
  type SqliteAddress,
  describeDatabase,
} from '../config/database-address.ts'
import { MINUTE_MS, SECOND_MS } from '../clock.ts'
import { StoreError, VitrineError } from '../errors.ts'
import { type MigrationListener, isUpToDate, migrateDatabase, migratePostgres } from '../database/migrate.ts'
import { toOpenError } from '../database/open-error.ts'
import type { OpenPostgres } from '../database/postgres.ts'
import { type SqliteOptions, openSqlite } from '../database/sqlite.ts'
import type { CopyTables } from './schema.ts'
import { COPY_MIGRATIONS } from './tables.ts'

/** Separate connections for reads and writes, so that reads never queue behind a transaction. */
export type CopyDatabase = Readonly<{
  reader: Kysely<CopyTables>
  writer: Kysely<CopyTables>
  close(): Promise<void>
}>

/** How long statements wait for another process's transaction, while opening the database and afterwards. */
export type LockTimeouts = Readonly<{ openingMs: number; openMs: number }>

/** Reads wait only while another process recovers or truncates the WAL. */
const READER_BUSY_TIMEOUT_MS = 100

/** Shorter than the forced stop of a walk thread, which can crash the process when SQLite is a native addon. */
const WALK_TIMEOUTS: LockTimeouts = { openingMs: 2 * SECOND_MS, openMs: 2 * SECOND_MS }

/** WAL sizes that trigger a checkpoint. The server's is larger, so that walks do most checkpoints. */
const CHECKPOINT_BYTES = { walk: 12 * 1_024 * 1_024, server: 48 * 1_024 * 1_024 } as const

/** The stored copy's schema in a PostgreSQL database. */
const SCHEMA = 'vitrine_copy'

/** Writes get a longer statement timeout than reads, because no visitor waits for them. */
const WRITE_TIMEOUT_FACTOR = 2

/** A walk can count a whole catalog, and a migration can index it. */
const LONG_STATEMENT_TIMEOUT_MS: number = 2 * MINUTE_MS

/** One connection writes a page while the other reads the copy's rows for the next page. */
const WALK_CONNECTIONS = 2

/** Share of the pool for writes; the rest is for reads. */
const WRITER_SHARE = 1 / 3

/** If a machine loses its network inside a transaction, other machines wait for its locks this long. */
const IDLE_TRANSACTION_TIMEOUT_MS: number = 3 * SECOND_MS

/** Open and migrate the stored copy's database. @throws StoreError, StoreVersionError */
export async function openCopyDatabase(
  address: DatabaseAddress,
  timeouts: LockTimeouts = WALK_TIMEOUTS,
  onMigrated: MigrationListener = () => {},
): Promise<CopyDatabase> {
  const role = timeouts === WALK_TIMEOUTS ? 'walk' : 'server'
  if (address.kind === 'sqlite')
    return openSqliteCopy(address, { role, timeouts, onMigrated }).catch((error: unknown) => {
      throw toOpenError(address.path, error)
    })
  return openPostgresCopy(address, { role, onMigrated }).catch((error: unknown) => {
    if (error instanceof VitrineError) throw error
    throw new StoreError(`Cannot open the database ${describeDatabase(address)}`, { cause: error })
  })
}

type Role = 'walk' | 'server'

async function openSqliteCopy(
  { path }: SqliteAddress,
  {
    role,
    timeouts,
    onMigrated,
  }: Readonly<{ role: Role; timeouts: LockTimeouts; onMigrated: MigrationListener }>,
): Promise<CopyDatabase> {
  const writer = openKysely({
    checkpointBytes: CHECKPOINT_BYTES[role],
    path,
    role: 'writer',
    canShrink: true,
    busyTimeoutMs: timeouts.openingMs,
  })
  try {
    await migrateDatabase(writer, COPY_MIGRATIONS, onMigrated)
    await sql`pragma busy_timeout = ${sql.lit(timeouts.openMs)}`.execute(writer)
  } catch (error) {
    await writer.destroy().catch(() => {})
    throw error
  }
  const reader =
    path === ':memory:' ? writer : openReader(path, Math.max(timeouts.openMs, READER_BUSY_TIMEOUT_MS))
  return {
    reader,
    writer,
    async close() {
      if (reader !== writer) await reader.destroy()
      await writer.destroy()
    },
  }
}

/** Create a read-only connection to an existing SQLite copy. The first statement opens the file. */
export function openReader(path: string, busyTimeoutMs: number = READER_BUSY_TIMEOUT_MS): Kysely<CopyTables> {
  return openKysely({ busyTimeoutMs, path, role: 'reader' })
}

function openKysely(options: SqliteOptions): Kysely<CopyTables> {
  // Open a reader lazily: a walk needs none, and Kysely does not close a connection that it never used.
  const open = (): SqliteDatabase => openSqlite(options)
  const database = options.role === 'reader' ? () => Promise.resolve(open()) : open()
  return new Kysely<CopyTables>({ dialect: new SqliteDialect({ database }) })
}

async function openPostgresCopy(
  address: PostgresAddress,
  { role, onMigrated }: Readonly<{ role: Role; onMigrated: MigrationListener }>,
): Promise<CopyDatabase> {
  const [{ openPostgres }, { checkServer }] = await Promise.all([
    import('../database/postgres.ts'),
    import('../database/check-server.ts'),
  ])
  const { poolSize, statementTimeoutMs } = address
  const writeTimeoutMs = statementTimeoutMs * WRITE_TIMEOUT_FACTOR
  const open = (size: number, timeoutMs: number, idleTransactionMs?: number): OpenPostgres<CopyTables> =>
    openPostgres({ address, schema: SCHEMA, size, statementTimeoutMs: timeoutMs, idleTransactionMs })
  const withConnection = async <T>(
    timeoutMs: number,
    work: (database: Kysely<CopyTables>) => Promise<T>,
  ): Promise<T> => {
    const { database, close } = open(1, timeoutMs)
    try {
      return await work(database)
    } finally {
      await close()
    }
  }
  await checkServer(address)
  // Check the version first: an up-to-date database needs no right to change tables and no long timeout.
  const isCurrent = await withConnection(writeTimeoutMs, (database) => isUpToDate(database, COPY_MIGRATIONS))
  if (!isCurrent)
    await withConnection(LONG_STATEMENT_TIMEOUT_MS, (database) =>
      migratePostgres(database, SCHEMA, COPY_MIGRATIONS, onMigrated),
    )
  if (role === 'walk') {
    const { database, close } = open(WALK_CONNECTIONS, LONG_STATEMENT_TIMEOUT_MS)
    return { reader: database, writer: database, close }
  }
  const writerCount = Math.max(1, Math.floor(poolSize * WRITER_SHARE))
  const writer = open(writerCount, writeTimeoutMs, IDLE_TRANSACTION_TIMEOUT_MS)
  const reader = open(poolSize - writerCount, statementTimeoutMs)
  return {
    reader: reader.database,
    writer: writer.database,
    async close() {
      await reader.close()
      await writer.close()
    },
  }
}
