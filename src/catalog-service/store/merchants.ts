import { type RawBuilder, sql } from 'kysely'
import { insertRowForId, isEqual } from '../../database/dialect.ts'
import type { Catalog } from './schema.ts'

export type Merchant = Readonly<{ id: number; name: string }>

/** `reference`: the network's own id of the shop. `offers` is `null` unless counts were requested. */
export type MerchantNetwork = Readonly<{ name: string; reference: string | null; offers: number | null }>

export type MerchantListing = Readonly<{ name: string; networks: readonly MerchantNetwork[] }>

type MerchantRow = Readonly<{ id: number; merchant: string; network: string | null }> &
  Omit<MerchantNetwork, 'name'>

/** Return shops in order of their names. Counts are expensive: without them each shop and network costs one index look-up. */
export async function fetchMerchants(
  database: Catalog,
  query: Readonly<{ networkId: number | undefined; limit: number | undefined; hasOfferCounts: boolean }>,
): Promise<readonly MerchantListing[]> {
  const { networkId, limit, hasOfferCounts } = query
  const limitClause = limit === undefined ? sql`` : sql`limit ${limit}`
  const merchantCondition = networkId === undefined ? sql`true` : createInNetworkCondition(sql`${networkId}`)
  const networkCondition = networkId === undefined ? sql`true` : sql`n.id = ${networkId}`
  const offerCount = sql`(select count(*) from (select distinct feed_id from feed_shops
      where merchant_id = m.id and network_id = n.id) s
    join offers o on o.feed_id = s.feed_id and o.merchant_id = m.id and o.network_id = n.id)`
  const { rows } = await sql<MerchantRow>`
    with chosen as (select m.id, m.name from merchants m where ${merchantCondition} order by m.name ${limitClause})
    select m.id, m.name as merchant, n.name as network, nm.reference,
      ${hasOfferCounts ? sql`case when n.id is null then null else ${offerCount} end` : sql`null`} as offers
    from chosen m left join networks n on ${networkCondition} and ${createInNetworkCondition(sql`n.id`)}
      left join network_merchants nm on nm.merchant_id = m.id and nm.network_id = n.id
    order by m.name, n.name`.execute(database)
  const merchants = new Map<number, { name: string; networks: MerchantNetwork[] }>()
  for (const { id, merchant, network, reference, offers } of rows) {
    const listing = merchants.get(id) ?? { name: merchant, networks: [] }
    if (network !== null) listing.networks.push({ name: network, reference, offers })
    merchants.set(id, listing)
  }
  return [...merchants.values()]
}

function createInNetworkCondition(network: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(
    exists (select 1 from feed_shops s where s.merchant_id = m.id and s.network_id = ${network})
    or exists (select 1 from network_merchants x where x.merchant_id = m.id and x.network_id = ${network}))`
}

export async function findMerchant(database: Catalog, name: string): Promise<Merchant | undefined> {
  const { rows } = await sql<Merchant>`select id, name from merchants where name = ${name}`.execute(database)
  return rows[0]
}

/** Find the first shop whose name equals `name` without regard to the case of A to Z. */
export async function findSimilarMerchant(database: Catalog, name: string): Promise<Merchant | undefined> {
  const lowered = name.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
  const { rows } = await sql<Merchant>`
    select id, name from merchants where lower(name) = ${lowered} order by name limit 1`.execute(database)
  return rows[0]
}

export async function insertMerchant(database: Catalog, name: string): Promise<number> {
  return insertRowForId(database, 'merchants', { name })
}

export type MerchantInNetwork = Readonly<{ networkId: number; merchantId: number }>

/** Set the network's own id of a shop; `null`: the network uses the shop's name. */
export async function setMerchantReference(
  database: Catalog,
  { networkId, merchantId }: MerchantInNetwork,
  reference: string | null,
): Promise<void> {
  await sql`
    delete from network_merchants where network_id = ${networkId} and merchant_id = ${merchantId}`.execute(
    database,
  )
  if (reference === null) return
  await sql`
    insert into network_merchants (network_id, merchant_id, reference)
    values (${networkId}, ${merchantId}, ${reference})`.execute(database)
}

/** A valid or revoked approval. `channelId` is `null` when the network channel is unassigned. */
export type Approval = Readonly<{
  merchant: string
  network: string
  networkChannelId: number
  channelId: string | null
  channel: string | null
  revokedAtMs: number | null
}>

export async function fetchApprovals(
  database: Catalog,
  { channelId, networkId }: Readonly<{ channelId?: string; networkId?: number }>,
): Promise<readonly Approval[]> {
  const { rows } = await sql<Approval>`
    select m.name as merchant, n.name as network, nc.id as "networkChannelId", c.id as "channelId",
      c.name as channel, a.revoked_at_ms as "revokedAtMs"
    from approvals a join network_channels nc on nc.id = a.network_channel_id
      join networks n on n.id = nc.network_id join merchants m on m.id = a.merchant_id
      left join channels c on c.id = nc.channel_id
    where ${isEqual('nc.channel_id', channelId)} and ${isEqual('nc.network_id', networkId)}
    order by c.created_at_ms is null, c.created_at_ms, c.id, n.name, nc.id, m.name`.execute(database)
  return rows
}

/** Whether a network channel may advertise a merchant. `unknown`: not decided; an import approves it. */
export type ApprovalState = 'approved' | 'revoked' | 'unknown'

export async function getApprovalState(
  database: Catalog,
  { networkChannelId, merchantId }: Readonly<{ networkChannelId: number; merchantId: number }>,
): Promise<ApprovalState> {
  const { rows } = await sql<{ isApproved: number | boolean }>`
    select revoked_at_ms is null as "isApproved" from approvals
    where network_channel_id = ${networkChannelId} and merchant_id = ${merchantId}`.execute(database)
  const [row] = rows
  if (row === undefined) return 'unknown'
  return row.isApproved ? 'approved' : 'revoked'
}

/** `merchantId: null` means all merchants with offers or a revocable approval. `revokedAtMs: null` approves. */
export type ApprovalChange = Readonly<{
  networkChannelId: number
  networkId: number
  merchantId: number | null
  revokedAtMs: number | null
}>

/** Write approvals and return how many changed. Revoked ones keep their row, so that no import approves them again. */
export async function setApprovals(database: Catalog, change: ApprovalChange): Promise<number> {
  const { networkChannelId, revokedAtMs } = change
  const isChanged =
    revokedAtMs === null ? sql`approvals.revoked_at_ms is not null` : sql`approvals.revoked_at_ms is null`
  const result = await sql`
    insert into approvals (network_channel_id, merchant_id, revoked_at_ms)
    select cast(${networkChannelId} as bigint), m.id, cast(${revokedAtMs} as bigint)
    from merchants m where ${toCondition(change)}
    on conflict (network_channel_id, merchant_id) do update set revoked_at_ms = excluded.revoked_at_ms
    where ${isChanged}`.execute(database)
  return Number(result.numAffectedRows ?? 0)
}

function toCondition(change: ApprovalChange): RawBuilder<unknown> {
  const { merchantId, networkId, networkChannelId, revokedAtMs } = change
  if (merchantId !== null) return sql`m.id = ${merchantId}`
  const hasOffers = sql`exists (select 1 from feed_shops s where s.merchant_id = m.id and s.network_id = ${networkId})`
  if (revokedAtMs === null) return hasOffers
  return sql`(${hasOffers} or exists (
    select 1 from approvals a where a.network_channel_id = ${networkChannelId} and a.merchant_id = m.id))`
}

/** Whether a merchant has offers in a network: any, with tracking links of this network channel, with shop pages. */
export type MerchantLinks = Readonly<{ hasOffers: boolean; hasOwnLinks: boolean; hasShopPages: boolean }>

export async function fetchMerchantLinks(
  database: Catalog,
  { networkChannelId, networkId, merchantId }: MerchantInNetwork & Readonly<{ networkChannelId: number }>,
): Promise<MerchantLinks> {
  const selectShops = sql`select 1 from feed_shops where merchant_id = ${merchantId} and network_id = ${networkId}`
  const { rows } = await sql<Record<keyof MerchantLinks, number | boolean>>`
    select exists (${selectShops}) as "hasOffers",
      exists (${selectShops} and network_channel_id = ${networkChannelId} and is_page = 0) as "hasOwnLinks",
      exists (${selectShops} and is_page = 1) as "hasShopPages"`.execute(database)
  const [row] = rows
  return {
    hasOffers: Boolean(row?.hasOffers),
    hasOwnLinks: Boolean(row?.hasOwnLinks),
    hasShopPages: Boolean(row?.hasShopPages),
  }
}
