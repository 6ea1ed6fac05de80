import { type Transaction, sql } from 'kysely'
import { MINUTE_MS, SECOND_MS, systemClock } from '../../clock.ts'
import type { PostgresAddress } from '../../config/database-address.ts'
import { isUpToDate, migratePostgres } from '../../database/migrate.ts'
import { findPostgresFailure } from '../../database/postgres-failure.ts'
import { withTimeout, openPostgres } from '../../database/postgres.ts'
import { findSqlState, isConflict, retryConflicts } from '../../database/transaction.ts'
import { StoreError, StoreNewerError, VitrineError } from '../../errors.ts'
import { CATALOG_LOCKED, type CatalogDatabase, type CatalogRole } from './catalog-store.ts'
import { POSTGRES_CATALOG_MIGRATIONS } from './migrations.ts'
import type { Catalog, CatalogTables, UsageTables } from './schema.ts'

/** Where the catalog's tables are: the stored copy may share the database. */
const SCHEMA = 'vitrine_catalog'

/** A statement of a command or an import may read the whole catalog, and one of a migration make an index over it. */
const LONG_STATEMENT_MS: number = 10 * MINUTE_MS

/** An import rests while it reads its file, from a disk that may be slow. */
const IDLE_TRANSACTION_MS: number = 2 * MINUTE_MS

/** Of a service's connections, the part that counts; the rest reads. */
const USAGE_POOL_SHARE = 1 / 3

/** How long a failed opening holds for the requests that follow: each of them would wait for a connection. */
const REOPEN_DELAY_MS: number = SECOND_MS / 2

/** How long a service waits for its database at a start before it answers without. */
const START_TIMEOUT_MS: number = 5 * SECOND_MS

/** What a request may take beyond the one statement that it waits for. */
const REQUEST_MARGIN_MS: number = SECOND_MS / 4

/** How long a writer waits for the one before it; as long as for a file. */
const LOCK_TIMEOUT_MS: number = 5 * SECOND_MS

/** How often a transaction is repeated, and the longest first wait; random, so that two do not meet again. */
const MAX_RETRIES = 5
const RETRY_WAIT_MS = 50

const LOCK_NOT_AVAILABLE = '55P03'

/** SQLSTATEs of statements that cannot be right: another try would not help. Without a right to them it may. */
const PERMANENT_ERROR_STATE = /^42(?!501)/

/**
 * Open the catalog on a server that speaks PostgreSQL's protocol, which any number of processes may share. A service that
 * is `standalone` opens without it, answers that the catalog is busy, and goes on when it is available.
 * @throws StoreError when it cannot be opened; StoreNewerError when a newer version made it.
 */
export async function openPostgresCatalog(
  address: PostgresAddress,
  role: CatalogRole,
): Promise<CatalogDatabase> {
  const { reader, usage, writer } = createConnections(address, role)
  const open = createOpener(writer.database, address.label)
  const close = async (): Promise<void> => {
    await Promise.all([reader.close(), usage.close(), writer.close()])
  }
  let openError: VitrineError | undefined
  try {
    await (role === 'standalone' ? withTimeout(open(), START_TIMEOUT_MS) : open())
  } catch (error) {
    openError = toOpenError(error, address.label)
    if (role !== 'standalone' || error instanceof StoreNewerError) {
      await close()
      throw openError
    }
  }
  const run: CatalogDatabase['run'] = async (work) => {
    try {
      return await withTimeout(open().then(work), address.statementTimeoutMs + REQUEST_MARGIN_MS)
    } catch (error) {
      throw toRequestError(error, address.label)
    }
  }
  return {
    reader: reader.database,
    usage: usage.database,
    run,
    runInSnapshot(work) {
      const snapshot = reader.database.transaction().setIsolationLevel('repeatable read')
      return run(() => retryConflicts(() => snapshot.setAccessMode('read only').execute(work)))
    },
    async write(work, { isOneShot = false } = {}) {
      await open()
      const result = await writeWithLock(writer.database, work, isOneShot)
      if (isOneShot) await analyze(writer.database)
      return result
    },
    ...(openError !== undefined && { openError }),
    close,
  }
}

function createConnections(address: PostgresAddress, role: CatalogRole) {
  const isCommand = role === 'command'
  const statementTimeoutMs = isCommand ? LONG_STATEMENT_MS : address.statementTimeoutMs
  const usageConnections = isCommand ? 1 : Math.max(1, Math.floor(address.poolSize * USAGE_POOL_SHARE))
  const readerConnections = isCommand ? 1 : Math.max(1, address.poolSize - usageConnections - 1)
  const connection = { address, schema: SCHEMA }
  return {
    reader: openPostgres<CatalogTables>({ ...connection, size: readerConnections, statementTimeoutMs }),
    usage: openPostgres<UsageTables>({ ...connection, size: usageConnections, statementTimeoutMs }),
    writer: openPostgres<CatalogTables>({
      ...connection,
      size: 1,
      statementTimeoutMs: LONG_STATEMENT_MS,
      idleTransactionMs: IDLE_TRANSACTION_MS,
    }),
  }
}

/** Return what opens the database once. After a failure it tries again, half a second later at the earliest. */
function createOpener(writer: Catalog, label: string): () => Promise<void> {
  let opening: Promise<void> | undefined
  return () =>
    (opening ??= migrate(writer).catch((error: unknown) => {
      systemClock.startTimer(REOPEN_DELAY_MS, () => (opening = undefined))
      throw toOpenError(error, label)
    }))
}

/** Look first: a database of this version is opened without a right to change its tables. */
async function migrate(database: Catalog): Promise<void> {
  await sql`select 1`.execute(database)
  if (!(await isUpToDate(database, POSTGRES_CATALOG_MIGRATIONS)))
    await migratePostgres(database, SCHEMA, POSTGRES_CATALOG_MIGRATIONS)
}

/**
 * Run `work` in a transaction that first changes a row which only writers know, and so waits for the writer before it. A
 * transaction that failed by a conflict is repeated, unless its work can be done only once.
 */
async function writeWithLock<T>(
  writer: Catalog,
  work: (transaction: Transaction<CatalogTables>) => Promise<T>,
  isOneShot: boolean,
): Promise<T> {
  for (let retries = 0; ; retries += 1) {
    let hasLock = false
    try {
      const transaction = writer.transaction().setIsolationLevel('read committed')
      return await transaction.execute(async (locked) => {
        await sql`set local lock_timeout = ${sql.lit(LOCK_TIMEOUT_MS)}`.execute(locked)
        await sql`update write_lock set counter = counter + 1 where id = 1`.execute(locked)
        hasLock = true
        return work(locked)
      })
    } catch (error) {
      const canRetry = hasLock ? !isOneShot : findSqlState(error) !== LOCK_NOT_AVAILABLE
      if (!isConflict(error) || !canRetry || retries >= MAX_RETRIES) throw toWriteError(error, hasLock)
      await systemClock.wait(Math.random() * RETRY_WAIT_MS * 2 ** retries)
    }
  }
}

/**
 * A table that was empty when its statements were planned is read from end to end until the server has analyzed it, which it
 * does by itself about a minute after an import. An engine without `analyze` does it then.
 */
async function analyze(database: Catalog): Promise<void> {
  for (const table of ['products', 'offers'])
    await sql`analyze ${sql.table(table)}`.execute(database).catch(() => {})
}

function toWriteError(error: unknown, hasLock: boolean): unknown {
  const failure = findPostgresFailure(error)
  if (failure === undefined) return error
  if (!hasLock && isConflict(error)) return new StoreError(CATALOG_LOCKED)
  return new StoreError(`the catalog cannot be written: ${failure.message}`)
}

function toOpenError(error: unknown, label: string): VitrineError {
  if (error instanceof VitrineError) return error
  const reason = describeFailure(error, label) ?? `${label}: unknown reason`
  return new StoreError(`the catalog's database cannot be opened: ${reason}`)
}

/** What is no failure of the database is a bug, and stays one. */
function toRequestError(error: unknown, label: string): unknown {
  if (error instanceof StoreNewerError) return new StoreError(error.message)
  if (error instanceof VitrineError) return error
  const failure = findPostgresFailure(error)
  if (failure !== undefined && PERMANENT_ERROR_STATE.test(findSqlState(failure) ?? '')) return failure
  const reason = describeFailure(error, label)
  return reason === undefined ? error : new StoreError(`the catalog's database failed: ${reason}`)
}

function describeFailure(error: unknown, label: string): string | undefined {
  const isTimeout = error instanceof Error && error.message.startsWith('the database did not respond')
  return findPostgresFailure(error)?.message ?? (isTimeout ? `${label}: ${error.message}` : undefined)
}
