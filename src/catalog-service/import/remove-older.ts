import { type Kysely, type RawBuilder, sql } from 'kysely'
import { isPostgres } from '../../database/postgres.ts'
import { beginTouched, removeTouchedProducts } from '../store/remove-offers.ts'
import type { CatalogTables } from '../store/schema.ts'

/** From so many offers on, the table is read from end to end instead of shop by shop, which reads its pages again for each. */
const MANY_OFFERS = 200_000

/**
 * An import that has written everything: its number, and how many offers it has left. `manyOffers`: from how many offers of
 * its shops on the table is read from end to end.
 */
export type WrittenImport = Readonly<{ importId: number; offers: number; manyOffers?: number }>

/**
 * Removes what the shops of `import_shops` had before and the import did not bring again, and products that nobody
 * offers any more. Costs as much as those shops have offers, however large the catalog is. Answers how many offers went.
 */
export async function removeOlder(database: Kysely<CatalogTables>, written: WrittenImport): Promise<number> {
  const total = await countOffersOfShops(database)
  const removed = total - written.offers
  if (removed === 0) return 0
  await beginTouched(database, selectOlder(database, written, total))
  await sql`
    delete from offers where gtin in (select gtin from touched_gtins) and import_id is distinct from ${written.importId}
      and exists (select 1 from import_shops s where s.merchant_id = offers.merchant_id
        and s.network_id = offers.network_id and s.network_channel_id = offers.network_channel_id)`.execute(
    database,
  )
  await removeTouchedProducts(database)
  return removed
}

/** SQLite takes the tables in this order then: its planner would begin with the offers of everybody. */
function joinInOrder(database: Kysely<CatalogTables>): RawBuilder<unknown> {
  return isPostgres(database) ? sql`join` : sql`cross join`
}

/** From the index alone. */
async function countOffersOfShops(database: Kysely<CatalogTables>): Promise<number> {
  const counted = await sql<{ count: number }>`
    select count(*) as count from import_shops s ${joinInOrder(database)} offers o on o.merchant_id = s.merchant_id
      and o.network_id = s.network_id and o.network_channel_id = s.network_channel_id`.execute(database)
  return counted.rows[0]?.count ?? 0
}

function selectOlder(
  database: Kysely<CatalogTables>,
  { importId, manyOffers = MANY_OFFERS }: WrittenImport,
  total: number,
): RawBuilder<unknown> {
  if (total < manyOffers)
    return sql`
      select o.gtin from import_shops s ${joinInOrder(database)} offers o on o.merchant_id = s.merchant_id
        and o.network_id = s.network_id and o.network_channel_id = s.network_channel_id
      where o.import_id is distinct from ${importId}`
  return sql`
    select o.gtin from offers o where o.import_id is distinct from ${importId}
      and exists (select 1 from import_shops s where s.merchant_id = o.merchant_id
        and s.network_id = o.network_id and s.network_channel_id = o.network_channel_id)`
}
