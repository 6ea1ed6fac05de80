import type { WireChannel } from '../../catalog/contract.ts'
import type { ChannelQuery } from './catalog-store.ts'
import type { Catalog } from './schema.ts'

export type OwnedChannel = WireChannel & Readonly<{ organizationId: string; organization: string }>

/** A channel to be made; its id is in lower case. */
export type NewChannel = WireChannel & Readonly<{ organizationId: string; createdAtMs: number }>

export async function fetchChannels(
  database: Catalog,
  organizationId: string,
): Promise<readonly WireChannel[]> {
  return database
    .selectFrom('channels')
    .select(['id', 'name', 'kind', 'url'])
    .where('organization_id', '=', organizationId)
    .orderBy('created_at_ms')
    .orderBy('id')
    .execute()
}

export async function hasChannel(
  database: Catalog,
  { organizationId, channelId }: ChannelQuery,
): Promise<boolean> {
  const found = await database
    .selectFrom('channels')
    .select('id')
    .where('id', '=', channelId)
    .where('organization_id', '=', organizationId)
    .executeTakeFirst()
  return found !== undefined
}

export async function fetchOwnedChannels(database: Catalog): Promise<readonly OwnedChannel[]> {
  return database
    .selectFrom('channels as c')
    .innerJoin('organizations as o', 'o.id', 'c.organization_id')
    .select(['c.id', 'c.name', 'c.kind', 'c.url'])
    .select(['c.organization_id as organizationId', 'o.name as organization'])
    .orderBy('c.created_at_ms')
    .orderBy('c.id')
    .execute()
}

export async function insertChannel(
  database: Catalog,
  { id, name, kind, url, organizationId, createdAtMs }: NewChannel,
): Promise<void> {
  const row = { id, name, kind, url, organization_id: organizationId, created_at_ms: createdAtMs }
  await database.insertInto('channels').values(row).execute()
}

export async function updateChannel(
  database: Catalog,
  id: string,
  change: Partial<Omit<WireChannel, 'id'>>,
): Promise<void> {
  await database.updateTable('channels').set(change).where('id', '=', id).execute()
}

/** Remove a channel. Its network channels stay, with their approvals, and serve none. */
export async function removeChannel(database: Catalog, id: string): Promise<void> {
  await database.deleteFrom('channels').where('id', '=', id).execute()
}
