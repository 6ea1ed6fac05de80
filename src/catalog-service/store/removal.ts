import { type RawBuilder, sql } from 'kysely'
import type { Catalog } from './schema.ts'

// Ids of removed networks, merchants and network channels are reused: no offers may remain under them.

type RemovedCounts = Readonly<{ offers: number; products: number }>

export async function removeNetwork(database: Catalog, id: number): Promise<RemovedCounts> {
  const removed = await removeOffers(database, toNetworkCondition(id))
  await database.deleteFrom('networks').where('id', '=', id).execute()
  return removed
}

export async function removeMerchant(database: Catalog, id: number): Promise<RemovedCounts> {
  const removed = await removeOffers(database, sql`merchant_id = ${id}`)
  await database.deleteFrom('merchants').where('id', '=', id).execute()
  return removed
}

/** Remove an organization with all it owns. Offers with its tracking links are found by approvals, which every import writes. */
export async function removeOrganization(database: Catalog, id: string): Promise<RemovedCounts> {
  const removed = await removeOffers(
    database,
    sql`(merchant_id, network_id, network_channel_id) in (
      select a.merchant_id, nc.network_id, nc.id from network_channels nc
      join approvals a on a.network_channel_id = nc.id where nc.organization_id = ${id})`,
  )
  await database.deleteFrom('organizations').where('id', '=', id).execute()
  return removed
}

export async function hasNetworkOffers(database: Catalog, networkId: number): Promise<boolean> {
  return hasOffers(database, toNetworkCondition(networkId))
}

export async function hasMerchantOffers(database: Catalog, merchantId: number): Promise<boolean> {
  return hasOffers(database, sql`merchant_id = ${merchantId}`)
}

/** Include the merchant so that the index on merchant and network is used; there is none on the network alone. */
function toNetworkCondition(networkId: number): RawBuilder<unknown> {
  return sql`merchant_id in (select id from merchants) and network_id = ${networkId}`
}

async function hasOffers(database: Catalog, condition: RawBuilder<unknown>): Promise<boolean> {
  const { rows } = await sql`select 1 from offers where ${condition} limit 1`.execute(database)
  return rows.length > 0
}

/** Record the GTINs that a query returns, for `removeTouchedProducts` in the same transaction. */
export async function recordTouchedGtins(database: Catalog, gtins: RawBuilder<unknown>): Promise<void> {
  await sql`insert into touched_gtins ${gtins} on conflict do nothing`.execute(database)
}

export async function removeTouchedProducts(database: Catalog): Promise<number> {
  const products = await sql`
    delete from products where gtin in (select gtin from touched_gtins)
      and not exists (select 1 from offers where offers.gtin = products.gtin)`.execute(database)
  await database.deleteFrom('touched_gtins').execute()
  return Number(products.numAffectedRows ?? 0)
}

/** Record the GTINs first: a search for products without offers would otherwise read the whole catalog. */
async function removeOffers(database: Catalog, condition: RawBuilder<unknown>): Promise<RemovedCounts> {
  await recordTouchedGtins(database, sql`select gtin from offers where ${condition}`)
  const offers = await sql`delete from offers where ${condition}`.execute(database)
  const products = await removeTouchedProducts(database)
  return { offers: Number(offers.numAffectedRows ?? 0), products }
}
