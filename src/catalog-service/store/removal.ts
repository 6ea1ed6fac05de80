import { type RawBuilder, sql } from 'kysely'
import type { Catalog } from './schema.ts'

// Ids of removed networks, merchants and network channels are reused: no offers may remain under them.

type RemovedCounts = Readonly<{ offers: number; products: number }>

export async function removeNetwork(database: Catalog, id: number): Promise<RemovedCounts> {
  const removed = await removeShops(database, sql`s.network_id = ${id}`)
  await sql`delete from networks where id = ${id}`.execute(database)
  return removed
}

export async function removeMerchant(database: Catalog, id: number): Promise<RemovedCounts> {
  const removed = await removeShops(database, sql`s.merchant_id = ${id}`)
  await sql`delete from merchants where id = ${id}`.execute(database)
  return removed
}

/** Remove an organization with all it owns. */
export async function removeOrganization(database: Catalog, id: string): Promise<RemovedCounts> {
  const removed = await removeShops(
    database,
    sql`s.feed_id in (select f.id from feeds f where f.organization_id = ${id})`,
  )
  await sql`delete from organizations where id = ${id}`.execute(database)
  return removed
}

export async function hasNetworkOffers(database: Catalog, networkId: number): Promise<boolean> {
  return hasOffers(database, sql`s.network_id = ${networkId}`)
}

/** Whether the network has offers whose link is a page of the shop, which earns something only by a link template. */
export async function hasNetworkPages(database: Catalog, networkId: number): Promise<boolean> {
  return hasOffers(database, sql`s.network_id = ${networkId} and s.is_page = 1`)
}

export async function hasMerchantOffers(database: Catalog, merchantId: number): Promise<boolean> {
  return hasOffers(database, sql`s.merchant_id = ${merchantId}`)
}

/** `shops`: a condition on `feed_shops s`. */
async function hasOffers(database: Catalog, shops: RawBuilder<unknown>): Promise<boolean> {
  const { rows } = await sql`
    select 1 from feed_shops s where ${shops} and exists (
      select 1 from offers o where ${IS_OFFER_OF_SHOP}) limit 1`.execute(database)
  return rows.length > 0
}

/** Uses the index `offers_feed`. */
const IS_OFFER_OF_SHOP = sql`o.feed_id = s.feed_id and o.merchant_id = s.merchant_id and o.network_id = s.network_id`

/** Record the GTINs that a query returns, for `removeTouchedProducts` in the same transaction. */
export async function recordTouchedGtins(database: Catalog, gtins: RawBuilder<unknown>): Promise<void> {
  await sql`insert into touched_gtins ${gtins} on conflict do nothing`.execute(database)
}

/** Remove the touched products of feeds that have no offer of them any more. Return how many no feed has now. */
export async function removeTouchedProducts(database: Catalog): Promise<number> {
  await sql`
    delete from products where gtin in (select gtin from touched_gtins) and not exists (
      select 1 from offers where offers.gtin = products.gtin and offers.feed_id = products.feed_id)`.execute(
    database,
  )
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from touched_gtins t
    where not exists (select 1 from products p where p.gtin = t.gtin)`.execute(database)
  await sql`delete from touched_gtins`.execute(database)
  return rows[0]?.count ?? 0
}

/** Remove shops with their offers. Record the GTINs first: a search for products without offers would read the whole catalog. */
async function removeShops(database: Catalog, shops: RawBuilder<unknown>): Promise<RemovedCounts> {
  // `cross join` fixes SQLite's join order.
  await recordTouchedGtins(
    database,
    sql`select distinct o.gtin from feed_shops s cross join offers o where ${IS_OFFER_OF_SHOP} and ${shops}`,
  )
  const offers = await sql`
    delete from offers where gtin in (select gtin from touched_gtins) and exists (
      select 1 from feed_shops s where s.feed_id = offers.feed_id and s.merchant_id = offers.merchant_id
        and s.network_id = offers.network_id and ${shops})`.execute(database)
  const products = await removeTouchedProducts(database)
  // The next run of these feeds must import their files again, even unchanged ones.
  await sql`
    update feeds set etag = null, last_modified = null, content_digest = null,
      offer_count = (select count(*) from offers o where o.feed_id = feeds.id),
      product_count = (select count(distinct o.gtin) from offers o where o.feed_id = feeds.id)
    where id in (select s.feed_id from feed_shops s where ${shops})`.execute(database)
  await sql`delete from feed_shops as s where ${shops}`.execute(database)
  return { offers: Number(offers.numAffectedRows ?? 0), products }
}
