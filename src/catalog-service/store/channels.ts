import type { Kysely } from 'kysely'
import type { WireChannel } from '../../catalog/contract.ts'
import type { CatalogStore } from './catalog-store.ts'
import type { CatalogTables } from './schema.ts'

/** A channel as its owner sees it. */
export type OwnedChannel = WireChannel & Readonly<{ organizationId: string; organization: string }>

/** A channel to be made; its id is in lower case. */
export type NewChannel = WireChannel & Readonly<{ organizationId: string; createdAtMs: number }>

/** The channels of an organization, oldest first. */
export async function fetchChannels(
  store: Pick<CatalogStore, 'reader'>,
  organizationId: string,
): Promise<readonly WireChannel[]> {
  const rows = await store.reader
    .selectFrom('channels')
    .select(['id', 'name', 'kind', 'url'])
    .where('organization_id', '=', organizationId)
    .orderBy('created_at_ms')
    .orderBy('id')
    .execute()
  return rows.map((row) => ({ id: row.id, name: row.name, kind: row.kind, url: row.url }))
}

/** Every channel with its organization, oldest first. */
export async function fetchOwnedChannels(database: Kysely<CatalogTables>): Promise<readonly OwnedChannel[]> {
  const rows = await database
    .selectFrom('channels as c')
    .innerJoin('organizations as o', 'o.id', 'c.organization_id')
    .select(['c.id', 'c.name', 'c.kind', 'c.url', 'c.organization_id', 'o.name as organization'])
    .orderBy('c.created_at_ms')
    .orderBy('c.id')
    .execute()
  return rows.map(({ organization_id: organizationId, ...row }) => ({ ...row, organizationId }))
}

/** Makes a channel. */
export async function insertChannel(database: Kysely<CatalogTables>, channel: NewChannel): Promise<void> {
  const { organizationId, createdAtMs, id, name, kind, url } = channel
  await database
    .insertInto('channels')
    .values({ id, organization_id: organizationId, name, kind, url, created_at_ms: createdAtMs })
    .execute()
}

/** Changes a channel; what is absent stays. */
export async function updateChannel(
  database: Kysely<CatalogTables>,
  id: string,
  change: Partial<Omit<WireChannel, 'id'>>,
): Promise<void> {
  await database.updateTable('channels').set(change).where('id', '=', id).execute()
}

/** Removes a channel. Its network channels stay, with their approvals, and serve none. */
export async function removeChannel(database: Kysely<CatalogTables>, id: string): Promise<void> {
  await database.deleteFrom('channels').where('id', '=', id).execute()
}
