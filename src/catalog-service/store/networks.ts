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
  return database
    .selectFrom('networks')
    .select(['id', 'name', 'link_template as linkTemplate'])
    .orderBy('name')
    .execute()
}

export async function findNetwork(database: Catalog, name: string): Promise<Network | undefined> {
  return database
    .selectFrom('networks')
    .select(['id', 'name', 'link_template as linkTemplate'])
    .where('name', '=', name)
    .executeTakeFirst()
}

export async function insertNetwork(
  database: Catalog,
  { name, linkTemplate }: Omit<Network, 'id'>,
): Promise<number> {
  const insert = database.insertInto('networks').values({ name, link_template: linkTemplate })
  return (await insert.returning('id').executeTakeFirstOrThrow()).id
}

/** Change a network's given values. Each request builds its links, so a new template takes effect at once. */
export async function updateNetwork(
  database: Catalog,
  id: number,
  { name, linkTemplate }: Partial<Omit<Network, 'id'>>,
): Promise<void> {
  await database
    .updateTable('networks')
    .set({ name, link_template: linkTemplate })
    .where('id', '=', id)
    .execute()
}

export async function fetchNetworkChannels(
  database: Catalog,
  filter: Readonly<{ networkId?: number; organizationId?: string; channelId?: string }> = {},
): Promise<readonly NetworkChannel[]> {
  let query = database
    .selectFrom('network_channels as nc')
    .innerJoin('networks as n', 'n.id', 'nc.network_id')
    .innerJoin('organizations as o', 'o.id', 'nc.organization_id')
    .leftJoin('channels as c', 'c.id', 'nc.channel_id')
    .select(['nc.id', 'nc.network_id as networkId', 'n.name as network', 'nc.reference'])
    .select(['nc.organization_id as organizationId', 'o.name as organization'])
    .select(['nc.channel_id as channelId', 'c.name as channel'])
    .orderBy('nc.id')
  if (filter.networkId !== undefined) query = query.where('nc.network_id', '=', filter.networkId)
  if (filter.organizationId !== undefined)
    query = query.where('nc.organization_id', '=', filter.organizationId)
  if (filter.channelId !== undefined) query = query.where('nc.channel_id', '=', filter.channelId)
  return query.execute()
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
  const insert = database.insertInto('network_channels').values(row)
  return (await insert.returning('id').executeTakeFirstOrThrow()).id
}

export async function setPublisherReference(database: Catalog, id: number, reference: string): Promise<void> {
  await database.updateTable('network_channels').set({ reference }).where('id', '=', id).execute()
}

/** Assign a channel; `null` unassigns. It may have one network channel per network: unassign the previous one first. */
export async function assignChannel(database: Catalog, id: number, channelId: string | null): Promise<void> {
  await database.updateTable('network_channels').set({ channel_id: channelId }).where('id', '=', id).execute()
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
