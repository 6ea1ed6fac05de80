import { type Kysely, sql } from 'kysely'
import { isPostgres } from '../database/is-postgres.ts'
import type { CopyTables } from './schema.ts'

/**
 * SQLite drops the deal indexes during the first walk. Updating them costs more than the rest of the walk; building them at the
 * end costs a tenth. Grids are unavailable until then (ADR 0007).
 */

/**
 * One index per sort order, and one per filter that can be rare. The first one covers every column of filters and orders, so
 * that a full scan reads no rows, which are ten times as long.
 */
const FIRST_INDEXES = {
  deals_by_discount: `copy_id, currency, ratio_key, price_key, gtin, discount_percent, is_in_stock, is_best, is_best_in_stock,
    from_walk, until_walk, product_id, offer_index, merchant_key, brand_key, saving_key, first_seen_ms, search_text`,
  deals_by_saving: 'copy_id, currency, saving_key desc, price_key, gtin',
  deals_by_price: 'copy_id, currency, price_key, ratio_key, gtin',
  deals_by_newest: 'copy_id, currency, first_seen_ms desc, ratio_key, price_key, gtin',
  deals_by_brand: 'copy_id, currency, brand_key',
  deals_by_merchant: 'copy_id, currency, merchant_key',
} as const

/** It covers the filters, as the first one does. */
const DROP_COLUMNS = `copy_id, currency, drop_key, ratio_key, price_key, gtin, discount_percent, is_in_stock, is_best,
  is_best_in_stock, from_walk, until_walk, product_id, offer_index, merchant_key, brand_key`

/** The statement of migration 0012, which must not change. */
export const CREATE_DROP_INDEX = `create index if not exists deals_by_drop on deals (${DROP_COLUMNS})`

/** Migration 0016 replaces the covering indexes, so that they cover the network, and adds the one for rare networks. */
const NETWORK_INDEXES = {
  deals_by_discount: `${FIRST_INDEXES.deals_by_discount}, network_key`,
  deals_by_drop: `${DROP_COLUMNS}, network_key`,
  deals_by_network: 'copy_id, currency, network_key',
} as const

/** The statements of migration 0016, which must not change. */
export const CREATE_NETWORK_INDEXES: readonly string[] = Object.entries(NETWORK_INDEXES).flatMap(
  ([name, columns]) => [`drop index if exists ${name}`, `create index ${name} on deals (${columns})`],
)

const DEAL_INDEXES: Readonly<Record<string, string>> = { ...FIRST_INDEXES, ...NETWORK_INDEXES }

/** Drop the indexes, unless the database has a complete copy. */
export async function dropDealIndexes(database: Kysely<CopyTables>): Promise<void> {
  if (isPostgres(database)) return
  await database.transaction().execute(async (transaction) => {
    const { rows } = await sql`select 1 from copies where current_walk > 0 limit 1`.execute(transaction)
    if (rows.length > 0) return
    await dropIndexes(transaction, Object.keys(DEAL_INDEXES))
  })
}

/** Create missing indexes, each in its own transaction. */
export async function createDealIndexes(database: Kysely<CopyTables>): Promise<void> {
  if (isPostgres(database)) return
  await createIndexes(database, DEAL_INDEXES)
}

/** Create the indexes of migration 0007, which must not change. */
export async function createFirstDealIndexes(database: Kysely<CopyTables>): Promise<void> {
  await createIndexes(database, FIRST_INDEXES)
  // Created by migration 0001, replaced by `deals_by_discount`.
  await dropIndexes(database, ['deals_by_ratio'])
}

async function createIndexes(
  database: Kysely<CopyTables>,
  indexes: Readonly<Record<string, string>>,
): Promise<void> {
  for (const [name, columns] of Object.entries(indexes))
    await sql`create index if not exists ${sql.ref(name)} on deals (${sql.raw(columns)})`.execute(database)
}

async function dropIndexes(database: Kysely<CopyTables>, names: readonly string[]): Promise<void> {
  for (const name of names) await sql`drop index if exists ${sql.ref(name)}`.execute(database)
}
