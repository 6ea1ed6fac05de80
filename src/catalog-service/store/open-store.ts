import { sql } from 'kysely'
import { type Clock, MINUTE_MS, SECOND_MS } from '../../clock.ts'
import type { DatabaseAddress, PostgresAddress } from '../../config/database-address.ts'
import { type Connection, type ServiceOptions, openConnection } from '../../database/connection.ts'
import { findSqlState, isLocked, toOpenError } from '../../database/failures.ts'
import type { MigrationListener } from '../../database/migrate.ts'
import { type OpenDatabase, openDatabase, readInSnapshot } from '../../database/open-database.ts'
import { StoreError } from '../../errors.ts'
import { CATALOG_LOCKED, type CatalogRole, type CatalogStore } from './catalog-store.ts'
import { fetchChannels, hasChannel } from './channels.ts'
import { findCaller } from './keys.ts'
import { getCatalogId } from './meta.ts'
import { findDefaultOrganization } from './organizations.ts'
import type { CatalogTables, UsageTables } from './schema.ts'
import { CATALOG_MIGRATIONS, USAGE_MIGRATIONS } from './tables.ts'
import { createKeyUseRecorder, createUsageCounter } from './usage.ts'
import { fetchVisiblePage, findVisibleProduct } from './visible-products.ts'

type CatalogStoreOptions = Readonly<{
  database: DatabaseAddress
  clock: Clock
  role?: CatalogRole
  onMigrated?: MigrationListener
}>

/** Page caches. Twice the writer's cache imports an unsorted feed of a million products only 20 % faster. */
const WRITER_CACHE_BYTES: number = 32 * 1024 * 1024
const READER_CACHE_BYTES: number = 64 * 1024 * 1024

/** SQLite's maximum; enough for two million products. The kernel decides how much of it stays in memory. */
const MEMORY_MAP_BYTES: number = 2 * 1024 * 1024 * 1024 - 64 * 1024

/** How long a writer waits for another one. */
const LOCK_TIMEOUT_MS: number = 5 * SECOND_MS

/** Counting takes no time. When another program locks the file for longer than this, the request fails. */
const USAGE_LOCK_TIMEOUT_MS = 250

/** Schema of the catalog's tables in a PostgreSQL database. The stored copy may use the same database. */
const SCHEMA = 'vitrine_catalog'

/** Commands and imports may read the whole catalog. */
const LONG_STATEMENT_MS: number = 10 * MINUTE_MS

/** An import's transaction is idle while it reads its file, possibly from a slow disk. */
const IDLE_TRANSACTION_MS: number = 2 * MINUTE_MS

/** Share of a service's connections that count requests; one writes, the rest read. */
const USAGE_POOL_SHARE = 1 / 3

/** Time for a request in addition to its statement timeout. */
const REQUEST_MARGIN_MS: number = SECOND_MS / 4

/** How long a starting service waits for its database server before it serves without it. */
const START_TIMEOUT_MS: number = 5 * SECOND_MS

/** PostgreSQL: a lock was not available within the lock timeout. */
const LOCK_NOT_AVAILABLE = '55P03'

/**
 * Open and migrate the catalog. A `standalone` service also starts without its database server, responds with 503, and recovers
 * when the database is available.
 * @throws StoreError when it cannot be opened; StoreVersionError when another version made it.
 */
export async function openCatalogStore(options: CatalogStoreOptions): Promise<CatalogStore> {
  const { clock } = options
  const catalog = await openCatalog(options)
  const usage = await openUsage(options).catch(async (error: unknown) => {
    await catalog.close()
    throw error
  })
  const read: CatalogStore['read'] = (work) => catalog.readForVisitor(({ reader }) => work(reader))
  const isServer = options.database.kind === 'postgres'
  return {
    clock,
    usage,
    read,
    write: createWriter(catalog, isServer),
    get problem() {
      return catalog.problem
    },
    findCaller: (key) => read((reader) => findCaller(reader, key)),
    async findDefaultCaller() {
      const organization = await read(findDefaultOrganization)
      return organization && { organization, keyId: null }
    },
    fetchChannels: (organizationId) => read((reader) => fetchChannels(reader, organizationId)),
    async findProduct(channel, gtin) {
      const query = { gtin, nowMs: clock.nowMs() }
      const product = await read((reader) => findVisibleProduct(reader, channel, query))
      if (product !== undefined) return product
      return (await read((reader) => hasChannel(reader, channel))) ? null : undefined
    },
    fetchPage: (query) =>
      read((reader) =>
        readInSnapshot(reader, async (snapshot) =>
          (await hasChannel(snapshot, query)) ? fetchVisiblePage(snapshot, query, clock.nowMs()) : undefined,
        ),
      ),
    countRequest: createUsageCounter(usage, clock),
    recordKeyUse: createKeyUseRecorder(usage, clock),
    async close() {
      await Promise.all([catalog.close(), usage.close()])
    },
  }
}

function openCatalog({ database, clock, role = 'command', onMigrated }: CatalogStoreOptions) {
  const open = async (): Promise<OpenDatabase<CatalogTables>> => {
    const opened = await openDatabase<CatalogTables>({
      address: database,
      migrations: CATALOG_MIGRATIONS,
      onMigrated,
      file: {
        timeouts: { openingMs: LOCK_TIMEOUT_MS, openMs: LOCK_TIMEOUT_MS },
        writer: { cacheBytes: WRITER_CACHE_BYTES },
        // Nothing else runs in the process of a standalone service, which a mapped file may crash (see `SqliteOptions`).
        reader: {
          cacheBytes: READER_CACHE_BYTES,
          ...(role === 'standalone' && { mapBytes: MEMORY_MAP_BYTES }),
        },
      },
      server: {
        schema: SCHEMA,
        reader: toPool(database, role).reader,
        writer: { size: 1, statementTimeoutMs: LONG_STATEMENT_MS, idleTransactionMs: IDLE_TRANSACTION_MS },
      },
    })
    try {
      // A damaged file is found now. In a server, "vitrine move" fills the tables later.
      if (database.kind === 'sqlite') await getCatalogId(opened.reader)
      return opened
    } catch (error) {
      await opened.close()
      throw database.kind === 'sqlite' ? toOpenError(database.path, error) : error
    }
  }
  return openConnection<CatalogTables, OpenDatabase<CatalogTables>>({
    open,
    table: 'meta',
    ...toConnectionOptions({ database, clock, role }),
  })
}

/** Usage has its own connections, and on SQLite its own file: an import locks the catalog for minutes. */
function openUsage({ database, clock, role = 'command', onMigrated }: CatalogStoreOptions) {
  const isFile = database.kind === 'sqlite'
  const address = isFile ? { ...database, path: toUsageDatabasePath(database.path) } : database
  return openConnection<UsageTables, OpenDatabase<UsageTables>>({
    open: () =>
      openDatabase<UsageTables>({
        address,
        migrations: isFile ? USAGE_MIGRATIONS : CATALOG_MIGRATIONS,
        onMigrated,
        file: { timeouts: { openingMs: LOCK_TIMEOUT_MS, openMs: USAGE_LOCK_TIMEOUT_MS }, reader: null },
        server: { schema: SCHEMA, reader: toPool(database, role).usage, writer: null },
      }),
    table: 'usage',
    ...toConnectionOptions({ database: address, clock, role }),
  })
}

/** The connections of a PostgreSQL database; a file has none. */
function toPool(database: DatabaseAddress, role: CatalogRole) {
  if (database.kind === 'sqlite' || role === 'command') {
    const command = { size: 1, statementTimeoutMs: LONG_STATEMENT_MS }
    return { reader: command, usage: command }
  }
  const { poolSize, statementTimeoutMs }: PostgresAddress = database
  const usageSize = Math.max(1, Math.floor(poolSize * USAGE_POOL_SHARE))
  return {
    reader: { size: Math.max(1, poolSize - usageSize - 1), statementTimeoutMs },
    usage: { size: usageSize, statementTimeoutMs },
  }
}

function toConnectionOptions({
  database,
  clock,
  role,
}: Readonly<{ database: DatabaseAddress; clock: Clock; role: CatalogRole }>) {
  const isServer = database.kind === 'postgres'
  const service: ServiceOptions | undefined = isServer
    ? {
        maxSilenceMs: database.statementTimeoutMs + REQUEST_MARGIN_MS,
        lockedMs: 0,
        reopenMs: 0,
        // An embedded catalog is prepared before it serves.
        mustOpen: role === 'embedded',
        startMs: START_TIMEOUT_MS,
        // Each request that fails is logged.
        onFailure: () => {},
      }
    : undefined
  return {
    kind: isServer ? 'server' : 'file',
    failure: 'the catalog cannot be read or written',
    clock,
    // A file stays open: a new one in its place would be an empty catalog.
    service: role === 'command' ? undefined : service,
  } as const
}

/** Create the writer, which allows one transaction at a time in all processes. */
function createWriter(catalog: Connection<CatalogTables>, isServer: boolean): CatalogStore['write'] {
  return async (work, { isOneShot = false } = {}) => {
    let hasLock = false
    try {
      const result = await catalog.transact(
        async (transaction) => {
          hasLock = false
          // SQLite's transactions begin with the write lock.
          if (isServer) {
            await sql`set local lock_timeout = ${sql.lit(LOCK_TIMEOUT_MS)}`.execute(transaction)
            await sql`update write_lock set counter = counter + 1 where id = 1`.execute(transaction)
          }
          hasLock = true
          return work(transaction)
        },
        'read committed',
        { canRepeat: (error) => findSqlState(error) !== LOCK_NOT_AVAILABLE && !(hasLock && isOneShot) },
      )
      if (isOneShot && isServer) await analyze(catalog)
      return result
    } catch (error) {
      const isTaken = isServer ? findSqlState(error) === LOCK_NOT_AVAILABLE : isLocked(error)
      throw isTaken && !hasLock ? new StoreError(CATALOG_LOCKED) : error
    }
  }
}

/** Until the server analyzes the tables (a minute later), queries planned for empty tables would scan them fully. */
async function analyze(catalog: Connection<CatalogTables>): Promise<void> {
  for (const table of ['products', 'offers'])
    await catalog.write(({ writer }) => sql`analyze ${sql.table(table)}`.execute(writer)).catch(() => {})
}

export function toUsageDatabasePath(path: string): string {
  return path.endsWith('.db') ? `${path.slice(0, -'.db'.length)}-usage.db` : `${path}-usage`
}
