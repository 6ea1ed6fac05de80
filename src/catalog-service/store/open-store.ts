import { type Kysely as Database, Kysely, SqliteDialect } from 'kysely'
import type { Clock } from '../../clock.ts'
import { migrateDatabase } from '../../database/migrate.ts'
import { openSqlite } from '../../database/sqlite.ts'
import { CATALOG_MIGRATIONS, USAGE_MIGRATIONS } from './migrations.ts'
import { getCatalogId } from './meta.ts'
import type { CatalogTables, UsageTables } from './schema.ts'

/** The catalog's databases. Whoever opened the store closes it. */
export type CatalogStore = Readonly<{
  /** Answers requests; sees the last committed state, also while an import runs. */
  reader: Database<CatalogTables>
  /** One transaction at a time, over all processes. */
  writer: Database<CatalogTables>
  /** Counts requests; a file of its own, because an import holds the write lock of the catalog for minutes. */
  usage: Database<UsageTables>
  clock: Clock
  close(): Promise<void>
}>

/** `path` is a SQLite file or `:memory:`; the usage file stands beside it. */
export type CatalogStoreOptions = Readonly<{ path: string; clock: Clock }>

/**
 * Opens the catalog's databases and brings them to this version.
 * @throws StoreError when a file cannot be opened; StoreNewerError when a newer version made it.
 */
export async function openCatalogStore(options: CatalogStoreOptions): Promise<CatalogStore> {
  const { path, clock } = options
  const inMemory = path === ':memory:'
  const writer = openDatabase<CatalogTables>(path, 'writer')
  const reader = inMemory ? writer : openDatabase<CatalogTables>(path, 'reader')
  const usage = openDatabase<UsageTables>(inMemory ? path : toUsagePath(path), 'writer')
  const close = async (): Promise<void> => {
    if (!inMemory) await reader.destroy()
    await writer.destroy()
    await usage.destroy()
  }
  const store: CatalogStore = { reader, writer, usage, clock, close }
  try {
    await migrateDatabase(writer, CATALOG_MIGRATIONS)
    await migrateDatabase(usage, USAGE_MIGRATIONS)
    await getCatalogId(store)
    return store
  } catch (error) {
    await close()
    throw error
  }
}

function openDatabase<T>(path: string, role: 'reader' | 'writer'): Database<T> {
  return new Kysely<T>({
    dialect: new SqliteDialect({ database: () => Promise.resolve(openSqlite({ path, role })) }),
  })
}

function toUsagePath(path: string): string {
  return path.endsWith('.db') ? `${path.slice(0, -'.db'.length)}-usage.db` : `${path}-usage`
}
