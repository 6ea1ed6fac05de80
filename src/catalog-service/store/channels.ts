import { sql } from 'kysely'
import type { WireChannel } from '../../catalog/contract.ts'
import { updateRow } from '../../database/dialect.ts'
import type { ChannelQuery } from './catalog-store.ts'
import type { Catalog } from './schema.ts'

export type OwnedChannel = WireChannel & Readonly<{ organizationId: string; organization: string }>

export async function fetchChannels(database: Catalog, organizationId: string): Promise<WireChannel[]> {
  const { rows } = await sql<WireChannel>`
    select id, name, kind, url from channels where organization_id = ${organizationId}
    order by created_at_ms, id`.execute(database)
  return rows
}

export async function hasChannel(database: Catalog, channel: ChannelQuery): Promise<boolean> {
  const { organizationId, channelId } = channel
  const { rows } = await sql`
    select 1 from channels where id = ${channelId} and organization_id = ${organizationId}`.execute(database)
  return rows.length > 0
}

export async function fetchOwnedChannels(database: Catalog): Promise<OwnedChannel[]> {
  const { rows } = await sql<OwnedChannel>`
    select c.id, c.name, c.kind, c.url, o.id as "organizationId", o.name as organization
    from channels c join organizations o on o.id = c.organization_id
    order by c.created_at_ms, c.id`.execute(database)
  return rows
}

export async function insertChannel(
  database: Catalog,
  channel: WireChannel & Readonly<{ organizationId: string; createdAtMs: number }>,
): Promise<void> {
  const { id, name, kind, url, organizationId, createdAtMs } = channel
  await sql`
    insert into channels (id, name, kind, url, organization_id, created_at_ms)
    values (${id}, ${name}, ${kind}, ${url}, ${organizationId}, ${createdAtMs})`.execute(database)
}

export async function updateChannel(
  database: Catalog,
  id: string,
  change: Partial<Omit<WireChannel, 'id'>>,
): Promise<void> {
  await updateRow(database, 'channels', id, change)
}

/** Remove a channel. Its network channels and their approvals stay, unassigned. */
export async function removeChannel(database: Catalog, id: string): Promise<void> {
  await sql`delete from channels where id = ${id}`.execute(database)
}
