import { type QueryExecutorProvider, type RawBuilder, sql } from 'kysely'
import type { Clock } from '../clock.ts'
import { isPostgres } from './dialect.ts'

/**
 * Return the current time for leases, Unix milliseconds: in PostgreSQL the server's, which is the same for all machines. With
 * its own wrong clock, a machine could take over or extend leases. A SQLite file belongs to one machine.
 */
export function toLeaseTime(database: QueryExecutorProvider, clock: Clock): RawBuilder<number> {
  return isPostgres(database) ? SERVER_TIME : sql<number>`${clock.nowMs()}`
}

/** Not `now()`, which is the start of the transaction. */
const SERVER_TIME: RawBuilder<number> = sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint`

/** Read the database server's clock, Unix milliseconds; `null` for a file. */
export async function readDatabaseTime(database: QueryExecutorProvider): Promise<number | null> {
  if (!isPostgres(database)) return null
  const { rows } = await sql<{ now_ms: number }>`select ${SERVER_TIME} as now_ms`.execute(database)
  return rows[0]?.now_ms ?? null
}
