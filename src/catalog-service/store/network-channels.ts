import type { Kysely } from 'kysely'
import type { CatalogTables } from './schema.ts'

/** An organization's account at a network, and the channel that it serves; `null`: none. */
export type NetworkChannel = Readonly<{
  id: number
  networkId: number
  network: string
  organizationId: string
  organization: string
  /** `{publisher}` of the network's link template; `''`: nobody has named it, see `isPlaceholder`. */
  reference: string
  channelId: string | null
  channel: string | null
}>

/** Which network channels are wanted; what is absent is not asked for. */
export type NetworkChannelQuery = Readonly<{
  networkId?: number
  organizationId?: string
  channelId?: string
}>

/** Network channels by number. */
export async function fetchNetworkChannels(
  database: Kysely<CatalogTables>,
  { networkId, organizationId, channelId }: NetworkChannelQuery = {},
): Promise<readonly NetworkChannel[]> {
  let query = database
    .selectFrom('network_channels as nc')
    .innerJoin('networks as n', 'n.id', 'nc.network_id')
    .innerJoin('organizations as o', 'o.id', 'nc.organization_id')
    .leftJoin('channels as c', 'c.id', 'nc.channel_id')
    .select([
      'nc.id',
      'nc.network_id as networkId',
      'n.name as network',
      'nc.organization_id as organizationId',
      'o.name as organization',
      'nc.reference',
      'nc.channel_id as channelId',
      'c.name as channel',
    ])
    .orderBy('nc.id')
  if (networkId !== undefined) query = query.where('nc.network_id', '=', networkId)
  if (organizationId !== undefined) query = query.where('nc.organization_id', '=', organizationId)
  if (channelId !== undefined) query = query.where('nc.channel_id', '=', channelId)
  return query.execute()
}

/**
 * Has nobody named the reference? An import knows none: links that the feed brings need none, and a link that would need
 * it is not made.
 */
export function isPlaceholder({ reference }: NetworkChannel): boolean {
  return reference === ''
}

/** A network channel to be made. */
export type NewNetworkChannel = Readonly<{ organizationId: string; networkId: number; reference: string }>

/** Makes a network channel that serves no channel yet, and answers its number. */
export async function insertNetworkChannel(
  database: Kysely<CatalogTables>,
  { organizationId, networkId, reference }: NewNetworkChannel,
): Promise<number> {
  const row = await database
    .insertInto('network_channels')
    .values({ organization_id: organizationId, network_id: networkId, reference, channel_id: null })
    .returning('id')
    .executeTakeFirstOrThrow()
  return row.id
}

/** Gives a network channel another publisher's reference. */
export async function setReference(
  database: Kysely<CatalogTables>,
  id: number,
  reference: string,
): Promise<void> {
  await database.updateTable('network_channels').set({ reference }).where('id', '=', id).execute()
}

/**
 * Assigns a network channel to a channel, or to none. The one that the channel had in this network must be unassigned
 * before: the contract allows one per network and channel, and the database holds it.
 */
export async function setChannel(
  database: Kysely<CatalogTables>,
  id: number,
  channelId: string | null,
): Promise<void> {
  await database.updateTable('network_channels').set({ channel_id: channelId }).where('id', '=', id).execute()
}
