import { type Kysely, sql } from 'kysely'
import { isPostgres } from '../database/dialect.ts'
import type { CopyTables } from './schema.ts'
import { SQLITE_DEAL_INDEXES } from './tables.ts'

/**
 * SQLite drops the deal indexes during the first walk. Updating them costs more than the rest of the walk; building them at the
 * end costs a tenth. Grids are unavailable until then (ADR 0007).
 */

/** Drop the indexes, unless the database has a complete copy. */
export async function dropDealIndexes(database: Kysely<CopyTables>): Promise<void> {
  if (isPostgres(database)) return
  await database.transaction().execute(async (transaction) => {
    const { rows } = await sql`select 1 from copies where current_walk > 0 limit 1`.execute(transaction)
    if (rows.length > 0) return
    for (const name of Object.keys(SQLITE_DEAL_INDEXES))
      await sql`drop index if exists ${sql.ref(name)}`.execute(transaction)
  })
}

/** Create missing indexes, each in its own transaction. */
export async function createDealIndexes(database: Kysely<CopyTables>): Promise<void> {
  if (isPostgres(database)) return
  for (const [name, target] of Object.entries(SQLITE_DEAL_INDEXES))
    await sql`create index if not exists ${sql.ref(name)} on ${sql.raw(target)}`.execute(database)
}
