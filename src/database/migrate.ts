import { type Kysely, type Migration, Migrator, sql } from 'kysely'
import { StoreError, StoreNewerError } from '../errors.ts'

/**
 * Brings a database to the newest of `migrations` (name to migration, applied in the order of their names).
 * @throws StoreNewerError when the database has migrations that this version does not know; it is left as it is.
 * @throws StoreError when a migration fails; its transaction is rolled back.
 */
export async function migrateDatabase<T>(
  database: Kysely<T>,
  migrations: Readonly<Record<string, Migration>>,
): Promise<void> {
  if (await isUpToDate(database, migrations)) return
  makeTransactional(database)
  const migrator = new Migrator({
    db: database,
    provider: { getMigrations: () => Promise.resolve({ ...migrations }) },
  })
  const { error } = await migrator.migrateToLatest()
  if (error === undefined) return
  const reason = error instanceof Error ? error.message : 'unknown'
  if (reason.includes('previously executed migration')) {
    throw new StoreNewerError('the database was made by a newer version of Vitrine; nothing was changed')
  }
  throw new StoreError(`the database could not be brought to this version: ${reason}`, { cause: error })
}

/**
 * Looking needs no lock: a database of this version opens while another process writes for minutes, as an import does.
 * One without migrations, or that cannot be read, is the migrator's to judge.
 */
export async function isUpToDate<T>(
  database: Kysely<T>,
  migrations: Readonly<Record<string, Migration>>,
): Promise<boolean> {
  try {
    const { rows } = await sql<{ name: string }>`select name from kysely_migration`.execute(database)
    return rows.length === Object.keys(migrations).length && rows.every(({ name }) => name in migrations)
  } catch {
    return false
  }
}

/**
 * SQLite rolls back changes of tables like any other, but Kysely's adapter denies it and would leave half a migration
 * behind. In one transaction, processes that start at the same time also wait for each other.
 */
function makeTransactional<T>(database: Kysely<T>): void {
  Object.defineProperty(database.getExecutor().adapter, 'supportsTransactionalDdl', { value: true })
}
