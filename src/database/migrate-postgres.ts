import { type Kysely, type Migration, type Transaction, sql } from 'kysely'
import { StoreNewerError } from '../errors.ts'
import { systemClock } from '../clock.ts'
import { retryConflicts } from './transact.ts'

/**
 * Brings a schema of a PostgreSQL database to the newest of `migrations`, in one transaction: of processes that start together
 * one does it, and the others wait for the row that it has locked, look, and find it done.
 * @throws StoreNewerError when it has migrations that this version does not know; it is left as it is.
 */
export async function migratePostgres<T>(
  database: Kysely<T>,
  schema: string,
  migrations: Readonly<Record<string, Migration>>,
): Promise<void> {
  await retryConflicts(() => prepare(database as Kysely<unknown>, schema))
  await retryConflicts(() =>
    database.transaction().execute((transaction) => migrate(transaction as Transaction<unknown>, migrations)),
  )
}

/** The tables that tell what was done, and the row that is locked. "If not exists" may still meet another who makes them. */
async function prepare(database: Kysely<unknown>, schema: string): Promise<void> {
  await sql`create schema if not exists ${sql.ref(schema)}`.execute(database)
  await sql`create table if not exists kysely_migration (name text primary key, timestamp text not null)`.execute(
    database,
  )
  await sql`create table if not exists migration_turn (id integer primary key)`.execute(database)
  await sql`insert into migration_turn (id) values (1) on conflict (id) do nothing`.execute(database)
}

async function migrate(
  transaction: Transaction<unknown>,
  migrations: Readonly<Record<string, Migration>>,
): Promise<void> {
  await sql`select id from migration_turn for update`.execute(transaction)
  const { rows } = await sql<{ name: string }>`select name from kysely_migration`.execute(transaction)
  const done = new Set(rows.map(({ name }) => name))
  if (rows.some(({ name }) => !Object.hasOwn(migrations, name)))
    throw new StoreNewerError('the database was made by a newer version of Vitrine; nothing was changed')
  for (const name of Object.keys(migrations).toSorted()) {
    if (done.has(name)) continue
    await migrations[name]?.up(transaction)
    await sql`insert into kysely_migration (name, timestamp) values (${name}, ${new Date(systemClock.nowMs()).toISOString()})`.execute(
      transaction,
    )
  }
}
