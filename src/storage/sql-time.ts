import { type Kysely, type RawBuilder, sql } from 'kysely'
import { type Clock } from '../clock.ts'
import { isPostgres } from '../database/postgres.ts'
import type { CopyTables } from './schema.ts'

/**
 * The time that leases end by, Unix milliseconds: on a server its own, which is the same for all machines, so that one with a
 * wrong clock neither takes a lease away nor keeps one for a day. A file is of one machine.
 */
export function toLeaseTime(database: Kysely<CopyTables>, clock: Clock): RawBuilder<number> {
  return isPostgres(database) ? SERVER_TIME : sql<number>`${clock.nowMs()}`
}

/** In the middle of a transaction, too: `now()` would be its beginning. */
export const SERVER_TIME: RawBuilder<number> = sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint`

/** What the clock of the database says, Unix milliseconds; `null` for a file, which has none. */
export async function readTime(database: Kysely<CopyTables>): Promise<number | null> {
  if (!isPostgres(database)) return null
  const { rows } = await sql<{ now_ms: number }>`select ${SERVER_TIME} as now_ms`.execute(database)
  return rows[0]?.now_ms ?? null
}
