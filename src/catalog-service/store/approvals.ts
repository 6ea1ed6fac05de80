import { type Kysely, type RawBuilder, sql } from 'kysely'
import { type CatalogTables, PAGE_OF_SHOP } from './schema.ts'

/** Whether a network channel may advertise a merchant. `unknown`: nobody has said, and an import may approve. */
export type ApprovalState = 'approved' | 'revoked' | 'unknown'

/** An approval, given or revoked, with names. `channelId` is `null` where the network channel serves none. */
export type Approval = Readonly<{
  merchant: string
  network: string
  networkChannelId: number
  channelId: string | null
  channel: string | null
  /** Unix milliseconds; `null` while it is approved. */
  revokedAtMs: number | null
}>

/** Which approvals are wanted; what is absent is not asked for. */
export type ApprovalQuery = Readonly<{ channelId?: string; networkId?: number }>

/** Approvals by channel, network and merchant. */
export async function fetchApprovals(
  database: Kysely<CatalogTables>,
  { channelId, networkId }: ApprovalQuery,
): Promise<readonly Approval[]> {
  let query = database
    .selectFrom('approvals as a')
    .innerJoin('network_channels as nc', 'nc.id', 'a.network_channel_id')
    .innerJoin('networks as n', 'n.id', 'nc.network_id')
    .innerJoin('merchants as m', 'm.id', 'a.merchant_id')
    .leftJoin('channels as c', 'c.id', 'nc.channel_id')
    .select([
      'm.name as merchant',
      'n.name as network',
      'nc.id as networkChannelId',
      'c.id as channelId',
      'c.name as channel',
      'a.revoked_at_ms as revokedAtMs',
    ])
    .orderBy(sql`c.created_at_ms is null, c.created_at_ms, c.id, n.name, nc.id, m.name`)
  if (channelId !== undefined) query = query.where('nc.channel_id', '=', channelId)
  if (networkId !== undefined) query = query.where('nc.network_id', '=', networkId)
  return query.execute()
}

/** A merchant in a network channel. */
export type ApprovalPlace = Readonly<{ networkChannelId: number; merchantId: number }>

/** What holds now. */
export async function getApprovalState(
  database: Kysely<CatalogTables>,
  { networkChannelId, merchantId }: ApprovalPlace,
): Promise<ApprovalState> {
  const row = await database
    .selectFrom('approvals')
    .select('revoked_at_ms')
    .where('network_channel_id', '=', networkChannelId)
    .where('merchant_id', '=', merchantId)
    .executeTakeFirst()
  if (row === undefined) return 'unknown'
  return row.revoked_at_ms === null ? 'approved' : 'revoked'
}

/**
 * Whom to approve or revoke in a network channel: one merchant, or `null` for every merchant that has offers in the
 * network (and, when revoking, whoever is approved). `revokedAtMs`: `null` approves.
 */
export type ApprovalChange = Readonly<{
  networkChannelId: number
  networkId: number
  merchantId: number | null
  revokedAtMs: number | null
}>

/** Writes approvals, and answers how many changed. A revoked one keeps its row, so that no import approves it again. */
export async function setApprovals(database: Kysely<CatalogTables>, change: ApprovalChange): Promise<number> {
  const { networkChannelId, revokedAtMs } = change
  const isOther =
    revokedAtMs === null ? sql`approvals.revoked_at_ms is not null` : sql`approvals.revoked_at_ms is null`
  const result = await sql`
    insert into approvals (network_channel_id, merchant_id, revoked_at_ms)
    select cast(${networkChannelId} as bigint), m.id, cast(${revokedAtMs} as bigint)
    from merchants m where ${toCondition(change)}
    on conflict (network_channel_id, merchant_id) do update set revoked_at_ms = excluded.revoked_at_ms
    where ${isOther}`.execute(database)
  return Number(result.numAffectedRows ?? 0)
}

function toCondition({
  merchantId,
  networkId,
  networkChannelId,
  revokedAtMs,
}: ApprovalChange): RawBuilder<unknown> {
  if (merchantId !== null) return sql`m.id = ${merchantId}`
  const hasOffers = sql`exists (select 1 from offers o where o.merchant_id = m.id and o.network_id = ${networkId})`
  if (revokedAtMs === null) return hasOffers
  return sql`(${hasOffers} or exists (
    select 1 from approvals a where a.network_channel_id = ${networkChannelId} and a.merchant_id = m.id))`
}

/** Which offers a merchant has in a network: any, with links of this network channel's own, with the shop's own pages. */
export type ShopLinks = Readonly<{ any: boolean; own: boolean; pages: boolean }>

/** Looks whether there are such offers: three looks into an index, however many there are. */
export async function findShopLinks(
  database: Kysely<CatalogTables>,
  { networkChannelId, networkId, merchantId }: ApprovalPlace & Readonly<{ networkId: number }>,
): Promise<ShopLinks> {
  const some = sql`select 1 from offers where merchant_id = ${merchantId} and network_id = ${networkId}`
  const { rows } = await sql<Record<keyof ShopLinks, number | boolean>>`
    select exists (${some}) as "any", exists (${some} and network_channel_id = ${networkChannelId}) as own,
      exists (${some} and network_channel_id = ${PAGE_OF_SHOP}) as pages`.execute(database)
  const [row] = rows
  return { any: Boolean(row?.any), own: Boolean(row?.own), pages: Boolean(row?.pages) }
}
