import { type Kysely, type Migration, type Transaction, sql } from 'kysely'
import { systemClock } from '../clock.ts'
import { StoreError, StoreNewerError, StoreOlderError, VitrineError } from '../errors.ts'
import { describePostgresFailure, findSqlState } from './failures.ts'
import { retry } from './retries.ts'

/** Migrations by name, applied in name order: `copy-0001-tables`. The word before the number names the database. */
export type Migrations = Readonly<Record<string, Migration>>

/** Receives the names of migrations that have changed an existing database. */
export type MigrationListener = (names: readonly string[]) => void

/**
 * Migrate a SQLite database in one transaction. Processes that start together wait for each other.
 * @throws StoreVersionError when the database has migrations that this version does not know; nothing is changed.
 * @throws StoreError when a migration fails; it is rolled back.
 */
export async function migrateDatabase<T>(
  database: Kysely<T>,
  migrations: Migrations,
  onMigrated: MigrationListener = () => {},
): Promise<void> {
  // This check takes no lock, so an up-to-date database opens even while an import writes for minutes.
  if (await isUpToDate(database, migrations)) return
  try {
    const names = await database.transaction().execute(async (transaction) => {
      await createMigrationTable(transaction)
      return applyPending(transaction, migrations, async () => ({
        place: `the database "${await findPath(transaction)}"`,
        removal: 'Move the file away',
      }))
    })
    if (names.length > 0) onMigrated(names)
  } catch (error) {
    if (error instanceof VitrineError) throw error
    const reason = error instanceof Error ? error.message : 'unknown'
    throw new StoreError(`Cannot migrate the database to this version of Vitrine: ${reason}`, {
      cause: error,
    })
  }
}

/** SQLSTATEs of a missing right. 3F000: a schema that the user may not use is ignored, so there is none for the tables. */
const MISSING_RIGHTS: ReadonlySet<string | undefined> = new Set(['42501', '3F000'])

/**
 * Migrate a schema of a PostgreSQL database in one transaction. A row lock serializes processes that start together.
 * @throws StoreVersionError when the schema has migrations that this version does not know; nothing is changed.
 * @throws StoreError when the user may not create or change the schema or its tables.
 */
export async function migratePostgres<T>(
  database: Kysely<T>,
  schema: string,
  migrations: Migrations,
  onMigrated: MigrationListener = () => {},
): Promise<void> {
  // "if not exists" can still conflict with another process that creates the same objects.
  await retry(() => createSchema(database, schema))
  try {
    await retry(async () => {
      await createMigrationTable(database)
      await sql`create table if not exists migration_lock (id integer primary key)`.execute(database)
      await sql`insert into migration_lock (id) values (1) on conflict (id) do nothing`.execute(database)
    })
    const names = await retry(() =>
      database.transaction().execute(async (transaction) => {
        await sql`select id from migration_lock for update`.execute(transaction)
        return applyPending(transaction, migrations, () => ({
          place: `the schema "${schema}" of the database`,
          removal: `Rename it: "alter schema ${schema} rename to ${schema}_old"`,
        }))
      }),
    )
    if (names.length > 0) onMigrated(names)
  } catch (error) {
    throw explainMissingRight(error, {
      problem: `The user may not create or change tables in the schema "${schema}"`,
      remedy: `Make the user the owner of the schema and of its tables: "alter schema ${schema} owner to USER", and "alter table … owner to USER" for each table.`,
    })
  }
}

/** Create the schema if it is missing. "if not exists" needs the right to create schemas even when this one exists. */
async function createSchema<T>(database: Kysely<T>, schema: string): Promise<void> {
  const { rows } = await sql`select 1 from pg_namespace where nspname = ${schema}`.execute(database)
  if (rows.length > 0) return
  try {
    await sql`create schema if not exists ${sql.ref(schema)}`.execute(database)
  } catch (error) {
    throw explainMissingRight(error, {
      problem: `The schema "${schema}" is missing, and the user may not create it`,
      remedy: `As an administrator of the database, run "create schema ${schema} authorization USER", or "grant create on database NAME to USER".`,
    })
  }
}

/** Return a StoreError if a right is missing, else the error itself. */
function explainMissingRight(
  error: unknown,
  { problem, remedy }: Readonly<{ problem: string; remedy: string }>,
): unknown {
  if (!MISSING_RIGHTS.has(findSqlState(error))) return error
  return new StoreError(`${problem}: ${describePostgresFailure(error)}`, { cause: error, remedy })
}

/** `true` when the database has exactly the migrations of this version; `false` also when it cannot be read. */
export async function isUpToDate<T>(database: Kysely<T>, migrations: Migrations): Promise<boolean> {
  try {
    const applied = await listApplied(database)
    return applied.size === Object.keys(migrations).length && [...applied].every((name) => name in migrations)
  } catch {
    return false
  }
}

/** Create the migration table. Databases of builds before 1.0.0 are recognised by it, so its name must stay. */
async function createMigrationTable<T>(database: Kysely<T>): Promise<void> {
  await sql`create table if not exists kysely_migration (name text primary key, timestamp text not null)`.execute(
    database,
  )
}

async function listApplied<T>(database: Kysely<T>): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ name: string }>`select name from kysely_migration`.execute(database)
  return new Set(rows.map(({ name }) => name))
}

async function findPath<T>(database: Kysely<T>): Promise<string> {
  const { rows } = await sql<{ file: string }>`select file from pragma_database_list`.execute(database)
  return rows[0]?.file ?? ''
}

/** Names of migrations in builds before 1.0.0. */
const UNRELEASED_NAME = /^(?:postgres-)?\d{4}-/

/** Whether a build before 1.0.0 applied these migrations. Its tables differ from those of all releases. */
export function isUnreleased(applied: Iterable<string>): boolean {
  return [...applied].some((name) => UNRELEASED_NAME.test(name))
}

/** What a new database lacks, by the word before the number of its migrations. */
const LOSSES: Readonly<Record<string, string>> = {
  copy: 'Walks fill it again, but its observed prices, counts and events are lost.',
  catalog: 'Set up its keys, channels and feeds again.',
  usage: 'Only its counts of requests are lost.',
}

function describeLoss(migrations: Migrations): string {
  const [word = ''] = Object.keys(migrations)[0]?.split('-') ?? []
  return LOSSES[word] ?? ''
}

/** Where the migrations are applied, and how an operator makes room for a new database: for messages. */
type Location = Readonly<{ place: string; removal: string }>

/** Return the names of the applied migrations, none for a new database. */
async function applyPending<T>(
  transaction: Transaction<T>,
  migrations: Migrations,
  describeLocation: () => Location | Promise<Location>,
): Promise<readonly string[]> {
  const applied = await listApplied(transaction)
  if (isUnreleased(applied)) {
    const { place, removal } = await describeLocation()
    throw new StoreOlderError(
      `A build of Vitrine before 1.0.0 created ${place}, and this version cannot use it; nothing was changed`,
      { remedy: `${removal}: Vitrine creates a new one. ${describeLoss(migrations)}` },
    )
  }
  if ([...applied].some((name) => !Object.hasOwn(migrations, name)))
    throw new StoreNewerError('A newer version of Vitrine has migrated the database; nothing was changed', {
      remedy: 'Start that version, or use another database.',
    })
  const pending = Object.keys(migrations)
    .filter((name) => !applied.has(name))
    .toSorted()
  for (const name of pending) {
    await migrations[name]?.up(transaction)
    const now = new Date(systemClock.nowMs()).toISOString()
    await sql`insert into kysely_migration (name, timestamp) values (${name}, ${now})`.execute(transaction)
  }
  return applied.size === 0 ? [] : pending
}
