import type { CatalogStore } from './catalog-store.ts'
import { toUtcDay } from './usage.ts'

/** Requests of the current UTC day, by organization; one without any is absent. */
export async function fetchRequestsToday(store: CatalogStore): Promise<ReadonlyMap<string, number>> {
  const rows = await store.usage
    .selectFrom('usage')
    .select(['organization_id', 'requests'])
    .where('day', '=', toUtcDay(store.clock.nowMs()))
    .execute()
  return new Map(rows.map((row) => [row.organization_id, row.requests]))
}

/** When each key was last used, Unix milliseconds; a key that never was is absent. */
export async function fetchKeyUses(store: CatalogStore): Promise<ReadonlyMap<string, number>> {
  const rows = await store.usage.selectFrom('key_uses').selectAll().execute()
  return new Map(rows.map((row) => [row.key_id, row.used_at_ms]))
}

/** Forgets the requests of an organization that was removed. */
export async function forgetOrganization(store: CatalogStore, organizationId: string): Promise<void> {
  await store.usage.deleteFrom('usage').where('organization_id', '=', organizationId).execute()
}

/** Forgets the uses of keys that were removed. */
export async function forgetKeys(store: CatalogStore, keyIds: readonly string[]): Promise<void> {
  if (keyIds.length === 0) return
  await store.usage.deleteFrom('key_uses').where('key_id', 'in', keyIds).execute()
}
