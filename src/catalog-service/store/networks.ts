import { sql } from 'kysely'
import { insertRowForId, isEqual, updateRow } from '../../database/dialect.ts'
import type { Catalog } from './schema.ts'

/** An affiliate network. Without a template, its offers are shown only with tracking links from their feed. */
export type Network = Readonly<{ id: number; name: string; linkTemplate: string | null }>

export type NetworkChannel = Readonly<{
  id: number
  networkId: number
  network: string
  organizationId: string
  organization: string
  /** `{publisher}` in the network's link template; `''`: unknown. */
  reference: string
  channelId: string | null
  channel: string | null
}>

export async function fetchNetworks(database: Catalog): Promise<readonly Network[]> {
  const { rows } = await sql<Network>`
    select id, name, link_template as "linkTemplate" from networks order by name`.execute(database)
  return rows
}

export async function findNetwork(database: Catalog, name: string): Promise<Network | undefined> {
  const { rows } = await sql<Network>`
    select id, name, link_template as "linkTemplate" from networks where name = ${name}`.execute(database)
  return rows[0]
}

export async function insertNetwork(
  database: Catalog,
  { name, linkTemplate }: Omit<Network, 'id'>,
): Promise<number> {
  return insertRowForId(database, 'networks', { name, link_template: linkTemplate })
}

/** Change a network's given values. Each request builds its links, so a new template takes effect at once. */
export async function updateNetwork(
  database: Catalog,
  id: number,
  { name, linkTemplate }: Partial<Omit<Network, 'id'>>,
): Promise<void> {
  await updateRow(database, 'networks', id, { name, link_template: linkTemplate })
}

export async function fetchNetworkChannels(
  database: Catalog,
  filter: Readonly<{ networkId?: number; organizationId?: string; channelId?: string }> = {},
): Promise<readonly NetworkChannel[]> {
  const { networkId, organizationId, channelId } = filter
  const { rows } = await sql<NetworkChannel>`
    select nc.id, nc.network_id as "networkId", n.name as network, nc.reference,
      nc.organization_id as "organizationId", o.name as organization, nc.channel_id as "channelId", c.name as channel
    from network_channels nc join networks n on n.id = nc.network_id
      join organizations o on o.id = nc.organization_id left join channels c on c.id = nc.channel_id
    where ${isEqual('nc.network_id', networkId)} and ${isEqual('nc.organization_id', organizationId)}
      and ${isEqual('nc.channel_id', channelId)}
    order by nc.id`.execute(database)
  return rows
}

/** An import does not know the reference. Until it is set, templates that need it create no links. */
export function isReferenceMissing({ reference }: NetworkChannel): boolean {
  return reference === ''
}

export async function insertNetworkChannel(
  database: Catalog,
  networkChannel: Readonly<{
    organizationId: string
    networkId: number
    reference: string
    channelId?: string
  }>,
): Promise<number> {
  const { organizationId, networkId, reference, channelId: channel_id = null } = networkChannel
  const row = { organization_id: organizationId, network_id: networkId, reference, channel_id }
  return insertRowForId(database, 'network_channels', row)
}

export async function setPublisherReference(database: Catalog, id: number, reference: string): Promise<void> {
  await updateRow(database, 'network_channels', id, { reference })
}

/** Assign a channel; `null` unassigns. It may have one network channel per network: unassign the previous one first. */
export async function assignChannel(database: Catalog, id: number, channelId: string | null): Promise<void> {
  await updateRow(database, 'network_channels', id, { channel_id: channelId })
}

/**
 * Create a tracking link from a template. Values are percent-encoded; other braces stay unchanged. `{sub}` becomes empty: the
 * widget server fills it in place (offers/sub-ids.ts).
 */
export function createAffiliateLink(
  parts: Readonly<{ template: string; merchantUrl: string; merchant: string; publisher: string }>,
): string {
  const { template, merchantUrl: url, merchant, publisher } = parts
  const values = { url, merchant, publisher, sub: '' }
  return template.replace(/\{(url|merchant|publisher|sub)\}/g, (_, name: keyof typeof values) =>
    encodeURIComponent(values[name].toWellFormed()),
  )
}
