import { type Kysely, sql } from 'kysely'
import { isPostgres } from '../database/postgres.ts'
import type { CopyTables } from './schema.ts'
import { isVisibleAt } from './sql-copies.ts'

/** Count the offers of all products of a copy at a walk; it reads every one of them. */
export async function countOffers(
  database: Kysely<CopyTables>,
  copyId: number,
  walk: number,
): Promise<number> {
  const length = isPostgres(database)
    ? sql<number>`json_array_length(offers::json)`
    : sql<number>`json_array_length(offers)`
  const row = await database
    .selectFrom('products')
    .select(sql<number | string | null>`sum(${length})`.as('count'))
    .where('copy_id', '=', copyId)
    .where(isVisibleAt<'products'>(walk))
    .executeTakeFirst()
  return Number(row?.count ?? 0)
}
