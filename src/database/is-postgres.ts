import { type Kysely, PostgresAdapter } from 'kysely'

/** Whether a database or transaction uses PostgreSQL's protocol. A separate file, so that SQLite never loads `pg`. */
export function isPostgres<T>(database: Pick<Kysely<T>, 'getExecutor'>): boolean {
  return database.getExecutor().adapter instanceof PostgresAdapter
}
