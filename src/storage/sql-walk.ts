import { type AliasedRawBuilder, type Expression, type Kysely, type SqlBool, sql } from 'kysely'
import { type Drops, addDrops } from '../catalog/parse.ts'
import { toLatestMs } from '../clock.ts'
import { transact } from '../database/transact.ts'
import { parseDrops } from './rows.ts'
import type { CopyTables } from './schema.ts'
import { isVisibleAt } from './sql-copies.ts'
import { deleteVersions } from './sql-versions.ts'

/** Most rows that one transaction writes: others who write to the same database never wait for long. */
export const MAX_TRANSACTION_ROWS = 200

/** Products looked at for one transaction that ends or removes some; each takes its deals along. */
const MAX_TRANSACTION_PRODUCTS = 100

/** Sums of a walk's pages. */
export async function sumPages(
  database: Kysely<CopyTables>,
  copyId: number,
  walk: number,
): Promise<Readonly<{ productCount: number; drops: Drops }>> {
  const rows = await database
    .selectFrom('walk_pages')
    .select(['product_count', 'drops'])
    .where('copy_id', '=', copyId)
    .where('walk', '=', walk)
    .execute()
  const drops: Drops = {}
  for (const row of rows) addDrops(drops, parseDrops(row.drops))
  return { productCount: rows.reduce((sum, row) => sum + row.product_count, 0), drops }
}

/** Products with a deal at a walk. */
export async function countDeals(
  database: Kysely<CopyTables>,
  copyId: number,
  walk: number,
): Promise<number> {
  const row = await database
    .selectFrom('deals')
    .select(sql<number>`count(distinct gtin)`.as('count'))
    .where('copy_id', '=', copyId)
    .where(isVisibleAt<'deals'>(walk))
    .executeTakeFirst()
  return row?.count ?? 0
}

/** Removes what ended at or before `walk`, in small transactions. */
export async function removeEnded(database: Kysely<CopyTables>, copyId: number, walk: number): Promise<void> {
  for (;;) {
    const rows = await database
      .selectFrom('products')
      .select(['id', countDealsOfProduct])
      .where('copy_id', '=', copyId)
      .where('until_walk', '<=', walk)
      .limit(MAX_TRANSACTION_PRODUCTS)
      .execute()
    if (rows.length === 0) break
    const removed = takeWithinRows(rows).map((row) => row.id)
    // A look-up elsewhere may have found one again since.
    await transact(database, (transaction) => deleteVersions(transaction, removed, walk))
  }
  await database.deleteFrom('walk_pages').where('copy_id', '=', copyId).where('walk', '<', walk).execute()
}

/** Removes absences that the pages of a walk begun at `startedAtMs` have confirmed or overruled, and those of the future. */
export async function removeAbsences(
  database: Kysely<CopyTables>,
  copyId: number,
  { startedAtMs, nowMs }: Readonly<{ startedAtMs: number; nowMs: number }>,
): Promise<void> {
  const isOld: Expression<SqlBool> = sql`(as_of_ms < ${startedAtMs} or as_of_ms > ${toLatestMs(nowMs)})`
  for (;;) {
    const rows = await database
      .selectFrom('absences')
      .select('gtin')
      .where('copy_id', '=', copyId)
      .where(isOld)
      .limit(MAX_TRANSACTION_ROWS)
      .execute()
    if (rows.length === 0) return
    const gtins = rows.map((row) => row.gtin)
    await database
      .deleteFrom('absences')
      .where('copy_id', '=', copyId)
      .where('gtin', 'in', gtins)
      .where(isOld)
      .execute()
  }
}

const countDealsOfProduct: AliasedRawBuilder<number, 'deal_count'> =
  sql<number>`(select count(*) from deals where deals.product_id = products.id)`.as('deal_count')

/** The first of the rows that one transaction may write with their deals; one at least. */
function takeWithinRows<T extends Readonly<{ deal_count: number }>>(rows: readonly T[]): readonly T[] {
  let sum = 0
  const end = rows.findIndex((row, index) => (sum += 1 + row.deal_count) > MAX_TRANSACTION_ROWS && index > 0)
  return end === -1 ? rows : rows.slice(0, end)
}
