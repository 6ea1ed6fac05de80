import type { WireChannel } from '../../catalog/contract.ts'
import type { CatalogStore } from './open-store.ts'

/** The channels of an organization, or of all, oldest first. */
export async function fetchChannels(
  store: CatalogStore,
  organizationId?: string,
): Promise<readonly WireChannel[]> {
  let query = store.reader
    .selectFrom('channels')
    .select(['id', 'name', 'kind', 'url'])
    .orderBy('created_at_ms')
    .orderBy('id')
  if (organizationId !== undefined) query = query.where('organization_id', '=', organizationId)
  const rows = await query.execute()
  return rows.map((row) => ({ id: row.id, name: row.name, kind: row.kind, url: row.url }))
}
