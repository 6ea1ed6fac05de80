import { type Kysely, PostgresAdapter } from 'kysely'

/** Does a database, or its transaction, speak PostgreSQL's protocol? In a file of its own, so that SQLite never loads `pg`. */
export function isPostgres<T>(database: Pick<Kysely<T>, 'getExecutor'>): boolean {
  return database.getExecutor().adapter instanceof PostgresAdapter
}
