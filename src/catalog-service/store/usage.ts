import { sql } from 'kysely'
import type { Organization } from './organizations.ts'
import type { CatalogStore } from './open-store.ts'

/** Characters of `2026-05-01` in an ISO time. */
const DAY_CHARACTERS = 10

/**
 * Counts one request of an organization on the current UTC day. Answers `false`, and counts nothing, when the daily
 * limit is reached. One statement, so that processes that share the file never let one too many through.
 */
export async function countRequest(store: CatalogStore, organization: Organization): Promise<boolean> {
  const day = new Date(store.clock.nowMs()).toISOString().slice(0, DAY_CHARACTERS)
  const limit = organization.dailyLimit ?? Number.MAX_SAFE_INTEGER
  const counted = await sql<{ requests: number }>`
    insert into usage (organization_id, day, requests)
    select ${organization.id}, ${day}, 1 where 0 < ${limit}
    on conflict (organization_id, day) do update set requests = requests + 1 where requests < ${limit}
    returning requests`.execute(store.usage)
  return counted.rows.length > 0
}
