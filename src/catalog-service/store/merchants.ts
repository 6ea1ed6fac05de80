import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { CatalogTables } from './schema.ts'

/** A shop. */
export type Merchant = Readonly<{ id: number; name: string }>

/** A network of a shop: `reference` is what it calls the shop, `offers` is `null` when nobody asked for counts. */
export type MerchantNetwork = Readonly<{ name: string; reference: string | null; offers: number | null }>

/** A shop with the networks in which it has offers or a reference. */
export type ListedMerchant = Readonly<{ name: string; networks: readonly MerchantNetwork[] }>

/** Which shops are wanted. `limit`: at most as many; counting reads every offer of theirs. */
export type MerchantQuery = Readonly<{
  networkId: number | undefined
  limit: number | undefined
  isCounted: boolean
}>

type Row = Readonly<{
  id: number
  merchant: string
  network: string | null
  reference: string | null
  offers: number | null
}>

/** Shops by name. Nothing is counted unless asked for: each pair of shop and network is one look into an index. */
export async function fetchMerchants(
  database: Kysely<CatalogTables>,
  { networkId, limit, isCounted }: MerchantQuery,
): Promise<readonly ListedMerchant[]> {
  const first = limit === undefined ? sql`` : sql`limit ${limit}`
  const wanted = networkId === undefined ? sql`true` : isIn(sql`${networkId}`)
  const onlyNetwork = networkId === undefined ? sql`true` : sql`n.id = ${networkId}`
  const count = sql`(select count(*) from offers o where o.merchant_id = m.id and o.network_id = n.id)`
  const { rows } = await sql<Row>`
    with chosen as (select m.id, m.name from merchants m where ${wanted} order by m.name ${first})
    select m.id, m.name as merchant, n.name as network, nm.reference,
      ${isCounted ? sql`case when n.id is null then null else ${count} end` : sql`null`} as offers
    from chosen m left join networks n on ${onlyNetwork} and ${isIn(sql`n.id`)}
      left join network_merchants nm on nm.merchant_id = m.id and nm.network_id = n.id
    order by m.name, n.name`.execute(database)
  return toMerchants(rows)
}

function isIn(network: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(
    exists (select 1 from offers o where o.merchant_id = m.id and o.network_id = ${network})
    or exists (select 1 from network_merchants x where x.merchant_id = m.id and x.network_id = ${network}))`
}

function toMerchants(rows: readonly Row[]): readonly ListedMerchant[] {
  const merchants = new Map<number, { name: string; networks: MerchantNetwork[] }>()
  for (const { id, merchant, network, reference, offers } of rows) {
    const known = merchants.get(id) ?? { name: merchant, networks: [] }
    if (network !== null) known.networks.push({ name: network, reference, offers })
    merchants.set(id, known)
  }
  return [...merchants.values()]
}

/** The shop of exactly this name. */
export async function findMerchant(
  database: Kysely<CatalogTables>,
  name: string,
): Promise<Merchant | undefined> {
  return database.selectFrom('merchants').selectAll().where('name', '=', name).executeTakeFirst()
}

/** A shop whose name differs only in the case of its letters A to Z; the first by name. */
export async function findSimilarMerchant(
  database: Kysely<CatalogTables>,
  name: string,
): Promise<Merchant | undefined> {
  const { rows } = await sql<Merchant>`
    select id, name from merchants where lower(name) = lower(${name}) order by name limit 1`.execute(database)
  return rows[0]
}

/** Makes a shop and answers its number. */
export async function insertMerchant(database: Kysely<CatalogTables>, name: string): Promise<number> {
  const row = await database
    .insertInto('merchants')
    .values({ name })
    .returning('id')
    .executeTakeFirstOrThrow()
  return row.id
}

/** A shop in a network. */
export type MerchantPlace = Readonly<{ networkId: number; merchantId: number }>

/** Says what a network calls a shop; `null`: as everybody does. Answers whether it had been said before. */
export async function setMerchantReference(
  database: Kysely<CatalogTables>,
  { networkId, merchantId }: MerchantPlace,
  reference: string | null,
): Promise<boolean> {
  const removed = await database
    .deleteFrom('network_merchants')
    .where('network_id', '=', networkId)
    .where('merchant_id', '=', merchantId)
    .executeTakeFirst()
  if (reference !== null) {
    await database
      .insertInto('network_merchants')
      .values({ network_id: networkId, merchant_id: merchantId, reference })
      .execute()
  }
  return removed.numDeletedRows > 0n
}

/**
 * Removes a shop with its approvals, revoked ones too, and what networks call it. Call `removeMerchantOffers` before it:
 * a shop that gets the same number later must not find offers under it.
 */
export async function removeMerchant(database: Kysely<CatalogTables>, id: number): Promise<void> {
  await database.deleteFrom('merchants').where('id', '=', id).execute()
}
