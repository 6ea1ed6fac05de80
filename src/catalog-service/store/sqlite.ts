import { Kysely, SqliteDialect, sql } from 'kysely'
import { type MigrationListener, migrateDatabase } from '../../database/migrate.ts'
import { toOpenError } from '../../database/open-error.ts'
import { type SqliteOptions, openSqlite } from '../../database/sqlite.ts'
import { StoreError } from '../../errors.ts'
import type { CatalogDatabase } from './catalog-store.ts'
import { getCatalogId } from './meta.ts'
import type { CatalogTables, UsageTables } from './schema.ts'
import { CATALOG_MIGRATIONS, USAGE_MIGRATIONS } from './tables.ts'

/** Page caches. Twice the writer's cache imports an unsorted feed of a million products only 20 % faster. */
const WRITER_CACHE_BYTES: number = 32 * 1024 * 1024
const READER_CACHE_BYTES: number = 64 * 1024 * 1024

/** SQLite's maximum; enough for two million products. The kernel decides how much of it stays in memory. */
const MEMORY_MAP_BYTES: number = 2 * 1024 * 1024 * 1024 - 64 * 1024

/** Counting takes no time. When another program locks the file for longer than this, the request fails. */
const USAGE_BUSY_TIMEOUT_MS = 250

/**
 * Open the catalog's file and the usage file beside it. `isStandalone`: nothing else runs in this process, so the file can be
 * memory-mapped for reading (see `SqliteOptions`).
 * @throws StoreError when a file cannot be opened; StoreVersionError when another version made it.
 */
export async function openSqliteCatalog(
  path: string,
  isStandalone: boolean,
  onMigrated: MigrationListener,
): Promise<CatalogDatabase> {
  const opened: Pick<Kysely<unknown>, 'destroy'>[] = []
  const open = <T>(options: SqliteOptions): Kysely<T> => {
    const database = new Kysely<T>({ dialect: new SqliteDialect({ database: openSqlite(options) }) })
    opened.push(database)
    return database
  }
  // Kysely closes a database only after it was used; the statements below use each of them.
  const close = async (): Promise<void> => {
    for (const database of opened.toReversed()) await database.destroy()
  }
  try {
    const writer = open<CatalogTables>({ path, role: 'writer', cacheBytes: WRITER_CACHE_BYTES })
    await migrateDatabase(writer, CATALOG_MIGRATIONS, onMigrated)
    const usage = open<UsageTables>({ path: toUsageDatabasePath(path), role: 'writer' })
    await migrateDatabase(usage, USAGE_MIGRATIONS, onMigrated)
    await sql`pragma busy_timeout = ${sql.lit(USAGE_BUSY_TIMEOUT_MS)}`.execute(usage)
    const reader = open<CatalogTables>({
      path,
      role: 'reader',
      cacheBytes: READER_CACHE_BYTES,
      ...(isStandalone && { mapBytes: MEMORY_MAP_BYTES }),
    })
    // `openSqlite` makes the writer's transactions start with the write lock.
    const write: CatalogDatabase['write'] = (work) => writer.transaction().execute(work)
    await getCatalogId(reader)
    return {
      reader,
      usage,
      write,
      run: (work) => work(),
      runInSnapshot: (work) => reader.transaction().execute(work),
      close,
    }
  } catch (error) {
    await close()
    throw error instanceof StoreError ? toOpenError(path, error) : error
  }
}

export function toUsageDatabasePath(path: string): string {
  return path.endsWith('.db') ? `${path.slice(0, -'.db'.length)}-usage.db` : `${path}-usage`
}
