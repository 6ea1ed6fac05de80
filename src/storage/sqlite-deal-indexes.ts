import { type Kysely, sql } from 'kysely'
import { isPostgres } from '../database/is-postgres.ts'
import type { CopyTables } from './schema.ts'

/**
 * The indexes of deals while the first copy of a database is walked. Each deal lies at four unrelated places of them, so that
 * keeping them in step costs more than all else of a walk; made at once from what is there, they cost a tenth. Nobody reads
 * them before the first walk is complete: grids wait for it (ADR 0007). A server keeps its indexes.
 */

/**
 * One index for each order of grids, and one for each filter that can be rare. The first holds everything that grids filter and
 * sort by, so that a search through all deals never reads a row: rows are ten times as long.
 */
const DEAL_INDEXES: Readonly<Record<string, string>> = {
  deals_by_discount: `copy_id, currency, ratio_key, price_key, gtin, discount_percent, is_in_stock, is_best, is_best_in_stock,
    from_walk, until_walk, product_id, offer_index, merchant_key, brand_key, saving_key, first_seen_ms, search_text`,
  deals_by_saving: 'copy_id, currency, saving_key desc, price_key, gtin',
  deals_by_price: 'copy_id, currency, price_key, ratio_key, gtin',
  deals_by_newest: 'copy_id, currency, first_seen_ms desc, ratio_key, price_key, gtin',
  deals_by_brand: 'copy_id, currency, brand_key',
  deals_by_merchant: 'copy_id, currency, merchant_key',
}

/** Made by migration 0001 and dropped by 0007: `deals_by_discount` has its order and more. */
const OLD_INDEX = 'deals_by_ratio'

/** Do without the indexes until the first walk of the first copy is complete; with any complete copy it changes nothing. */
export async function dropDealIndexes(database: Kysely<CopyTables>): Promise<void> {
  if (isPostgres(database)) return
  await database.transaction().execute(async (transaction) => {
    const { rows } = await sql`select 1 from copies where current_walk > 0 limit 1`.execute(transaction)
    if (rows.length > 0) return
    for (const name of [OLD_INDEX, ...Object.keys(DEAL_INDEXES)])
      await sql`drop index if exists ${sql.ref(name)}`.execute(transaction)
  })
}

/** Make the indexes that are missing, each in a transaction of its own; where none is, that costs nothing. */
export async function createDealIndexes(database: Kysely<CopyTables>): Promise<void> {
  if (isPostgres(database)) return
  for (const [name, columns] of Object.entries(DEAL_INDEXES))
    await sql`create index if not exists ${sql.ref(name)} on deals (${sql.raw(columns)})`.execute(database)
  await sql`drop index if exists ${sql.ref(OLD_INDEX)}`.execute(database)
}
