import { type Kysely, type Migration, type Transaction, sql } from 'kysely'
import { systemClock } from '../clock.ts'
import { StoreError, StoreNewerError, VitrineError } from '../errors.ts'
import { retryConflicts } from './transaction.ts'

/** Migrations by name, applied in the order of their names. */
export type Migrations = Readonly<Record<string, Migration>>

/**
 * Bring a SQLite database to the newest migration, in one transaction: processes that start together wait for each other.
 * @throws StoreNewerError when the database has migrations that this version does not know; it is left as it is.
 * @throws StoreError when a migration fails; nothing of it stays.
 */
export async function migrateDatabase<T>(database: Kysely<T>, migrations: Migrations): Promise<void> {
  // Looking needs no lock: a database of this version opens while another process writes for minutes, as an import does.
  if (await isUpToDate(database, migrations)) return
  try {
    await database.transaction().execute(async (transaction) => {
      await createMigrationTable(transaction)
      await applyPending(transaction, migrations)
    })
  } catch (error) {
    if (error instanceof VitrineError) throw error
    const reason = error instanceof Error ? error.message : 'unknown'
    throw new StoreError(`the database could not be brought to this version: ${reason}`, { cause: error })
  }
}

/**
 * Bring a schema of a PostgreSQL database to the newest migration, in one transaction: of processes that start together one
 * locks a row and does it; the others wait for the row, look, and find it done.
 * @throws StoreNewerError when it has migrations that this version does not know; it is left as it is.
 */
export async function migratePostgres<T>(
  database: Kysely<T>,
  schema: string,
  migrations: Migrations,
): Promise<void> {
  // "If not exists" may still meet another process that creates them.
  await retryConflicts(async () => {
    await sql`create schema if not exists ${sql.ref(schema)}`.execute(database)
    await createMigrationTable(database)
    await sql`create table if not exists migration_lock (id integer primary key)`.execute(database)
    await sql`insert into migration_lock (id) values (1) on conflict (id) do nothing`.execute(database)
  })
  await retryConflicts(() =>
    database.transaction().execute(async (transaction) => {
      await sql`select id from migration_lock for update`.execute(transaction)
      await applyPending(transaction, migrations)
    }),
  )
}

/** Has the database exactly the migrations of this version? One that cannot be read has not. */
export async function isUpToDate<T>(database: Kysely<T>, migrations: Migrations): Promise<boolean> {
  try {
    const applied = await listApplied(database)
    return applied.size === Object.keys(migrations).length && [...applied].every((name) => name in migrations)
  } catch {
    return false
  }
}

/** The table has the name that Kysely's own migrator gave it in earlier versions. */
async function createMigrationTable<T>(database: Kysely<T>): Promise<void> {
  await sql`create table if not exists kysely_migration (name text primary key, timestamp text not null)`.execute(
    database,
  )
}

async function listApplied<T>(database: Kysely<T>): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ name: string }>`select name from kysely_migration`.execute(database)
  return new Set(rows.map(({ name }) => name))
}

async function applyPending<T>(transaction: Transaction<T>, migrations: Migrations): Promise<void> {
  const applied = await listApplied(transaction)
  if ([...applied].some((name) => !Object.hasOwn(migrations, name)))
    throw new StoreNewerError('the database was made by a newer version of Vitrine; nothing was changed')
  for (const name of Object.keys(migrations).toSorted()) {
    if (applied.has(name)) continue
    await migrations[name]?.up(transaction)
    const now = new Date(systemClock.nowMs()).toISOString()
    await sql`insert into kysely_migration (name, timestamp) values (${name}, ${now})`.execute(transaction)
  }
}
