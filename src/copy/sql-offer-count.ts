import { type Kysely, sql } from 'kysely'
import { isPostgres } from '../database/postgres.ts'
import type { CopyTables } from './schema.ts'
import { type CopyRow, isVisibleAt } from './sql-copies.ts'

/** Count the offers of all products that readers see; it reads every product of the channel. */
export async function countOffers(database: Kysely<CopyTables>, copy: CopyRow): Promise<number> {
  const length = isPostgres(database)
    ? sql<number>`json_array_length(offers::json)`
    : sql<number>`json_array_length(offers)`
  const row = await database
    .selectFrom('products')
    .select(sql<number | string | null>`sum(${length})`.as('count'))
    .where('copy_id', '=', copy.id)
    .where(isVisibleAt<'products'>(copy.visibleWalk))
    .executeTakeFirst()
  return Number(row?.count ?? 0)
}
