import { type Kysely, PostgresAdapter } from 'kysely'

/** Does a database speak PostgreSQL's protocol? Transactions of it do, too. On its own, so that SQLite never loads `pg`. */
export function isPostgres<T>(database: Pick<Kysely<T>, 'getExecutor'>): boolean {
  return database.getExecutor().adapter instanceof PostgresAdapter
}
