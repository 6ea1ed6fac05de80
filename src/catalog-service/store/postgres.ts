import { type Transaction, sql } from 'kysely'
import { MINUTE_MS, SECOND_MS, systemClock } from '../../clock.ts'
import type { PostgresAddress } from '../../config/database-address.ts'
import { checkServer } from '../../database/check-server.ts'
import { type MigrationListener, isUpToDate, migratePostgres } from '../../database/migrate.ts'
import { findPostgresFailure } from '../../database/postgres-failure.ts'
import { withTimeout, openPostgres } from '../../database/postgres.ts'
import { findSqlState, isConflict, retryConflicts } from '../../database/transaction.ts'
import { StoreError, StoreVersionError, VitrineError } from '../../errors.ts'
import { CATALOG_LOCKED, type CatalogDatabase, type CatalogRole } from './catalog-store.ts'
import type { Catalog, CatalogTables, UsageTables } from './schema.ts'
import { CATALOG_MIGRATIONS } from './tables.ts'

/** Schema of the catalog's tables. The stored copy may use the same database. */
const SCHEMA = 'vitrine_catalog'

/** Commands and imports may read the whole catalog; migrations may build an index over it. */
const LONG_STATEMENT_MS: number = 10 * MINUTE_MS

/** An import's transaction is idle while it reads its file, possibly from a slow disk. */
const IDLE_TRANSACTION_MS: number = 2 * MINUTE_MS

/** Share of a service's connections that count requests; one writes, the rest read. */
const USAGE_POOL_SHARE = 1 / 3

/** After a failed attempt to open the database, requests fail at once for this long instead of waiting. */
const REOPEN_DELAY_MS: number = SECOND_MS / 2

/** How long a starting service waits for its database before it serves without it. */
const START_TIMEOUT_MS: number = 5 * SECOND_MS

/** Time for a request in addition to its statement timeout. */
const REQUEST_MARGIN_MS: number = SECOND_MS / 4

/** How long a writer waits for the write lock; the same as on SQLite. */
const LOCK_TIMEOUT_MS: number = 5 * SECOND_MS

/** Retries of a write transaction. A wait is random; its maximum starts at `RETRY_WAIT_MS` and doubles with each retry. */
const MAX_RETRIES = 5
const RETRY_WAIT_MS = 50

const LOCK_NOT_AVAILABLE = '55P03'

/**
 * SQLSTATE class 42: the statement is invalid, so a retry fails too. An operator can fix a missing right (42501) and a prepared
 * statement that a pooler hides (42P05).
 */
const PERMANENT_ERROR_STATE = /^42(?!501|P05)/

/**
 * Open the catalog on a server that speaks PostgreSQL's protocol; several processes may share it. A `standalone` service also
 * starts without the database, responds with 503, and recovers when the database is available.
 * @throws StoreError when it cannot be opened; StoreVersionError when another version created it.
 */
export async function openPostgresCatalog(
  address: PostgresAddress,
  role: CatalogRole,
  onMigrated: MigrationListener,
): Promise<CatalogDatabase> {
  const { reader, usage, writer } = createConnections(address, role)
  const open = createOpener(writer.database, address, onMigrated)
  const close = async (): Promise<void> => {
    await Promise.all([reader.close(), usage.close(), writer.close()])
  }
  let openError: VitrineError | undefined
  try {
    await (role === 'standalone' ? withTimeout(open(), START_TIMEOUT_MS) : open())
  } catch (error) {
    openError = toOpenError(error, address.label)
    if (role !== 'standalone' || error instanceof StoreVersionError) {
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

/** Create a function that migrates the database once. After a failure, calls fail until `REOPEN_DELAY_MS` has passed. */
function createOpener(
  writer: Catalog,
  address: PostgresAddress,
  onMigrated: MigrationListener,
): () => Promise<void> {
  let opening: Promise<void> | undefined
  return () =>
    (opening ??= checkServer(address)
      .then(() => migrate(writer, onMigrated))
      .catch((error: unknown) => {
        systemClock.startTimer(REOPEN_DELAY_MS, () => (opening = undefined))
        throw toOpenError(error, address.label)
      }))
}

/** Check the version first: an up-to-date database needs no privilege to change tables. */
async function migrate(database: Catalog, onMigrated: MigrationListener): Promise<void> {
  if (!(await isUpToDate(database, CATALOG_MIGRATIONS)))
    await migratePostgres(database, SCHEMA, CATALOG_MIGRATIONS, onMigrated)
}

/** Run `work` in a transaction that first takes the write lock. Retry after a conflict, unless `work` is one-shot. */
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

/** Until the server analyzes the tables (a minute later), queries planned for empty tables would scan them fully. */
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

/** Convert failures of the database to StoreError. Any other error is a bug and stays unchanged. */
function toRequestError(error: unknown, label: string): unknown {
  if (error instanceof StoreVersionError) return new StoreError(error.message, { remedy: error.remedy })
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
