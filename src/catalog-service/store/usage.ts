import { sql } from 'kysely'
import { LRUCache } from 'lru-cache'
import { type Clock, MINUTE_MS, isWithin } from '../../clock.ts'
import { retryConflicts } from '../../database/transaction.ts'
import { StoreError } from '../../errors.ts'
import { createBatcher } from '../../lib/concurrency.ts'
import type { CatalogDatabase, CatalogStore, Organization } from './catalog-store.ts'

const DAY_CHARACTERS = 10

/** Precision of a key's last use; it saves a write for each request. */
const KEY_USE_INTERVAL_MS: number = MINUTE_MS

const MAX_ORGANIZATIONS = 1_000

/** Applied as `maxSize`: `max` would allocate memory for all entries at once. */
const MAX_TRACKED_KEYS = 10_000

type UsageDatabase = Pick<CatalogDatabase, 'usage' | 'run'>

function toUtcDay(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, DAY_CHARACTERS)
}

/** Create the request counter of one process. Requests that arrive during a write are counted by the next write. */
export function createUsageCounter(database: UsageDatabase, clock: Clock): CatalogStore['countRequest'] {
  const batchers = new LRUCache<string, CatalogStore['countRequest']>({ max: MAX_ORGANIZATIONS })
  return (organization) => {
    const batcherKey = `${organization.id} ${organization.dailyLimit}`
    let count = batchers.get(batcherKey)
    if (count === undefined) {
      count = createBatcher(({ length }) =>
        countRequests(database, organization, { day: toUtcDay(clock.nowMs()), requests: length }),
      )
      batchers.set(batcherKey, count)
    }
    return count(organization)
  }
}

type RequestCount = Readonly<{ day: string; requests: number }>

/** Count all at once when all are within the limit, otherwise one by one. */
async function countRequests(
  database: UsageDatabase,
  organization: Organization,
  { day, requests }: RequestCount,
): Promise<boolean[]> {
  let counted = (await addRequests(database, organization, { day, requests })) ? requests : 0
  while (counted < requests - 1 && (await addRequests(database, organization, { day, requests: 1 })))
    counted += 1
  return Array.from({ length: requests }, (_, index) => index < counted)
}

/** One atomic statement. When its result is lost, the requests may have been counted. */
async function addRequests(
  { usage, run }: UsageDatabase,
  { id, dailyLimit }: Organization,
  { day, requests }: RequestCount,
): Promise<boolean> {
  if (dailyLimit !== null && requests > dailyLimit) return false
  const hasRoom = dailyLimit === null ? sql`true` : sql`usage.requests + excluded.requests <= ${dailyLimit}`
  const increment = sql`
    insert into usage (organization_id, day, requests) values (${id}, ${day}, ${requests})
    on conflict (organization_id, day) do update set requests = usage.requests + excluded.requests
    where ${hasRoom} returning requests`
  try {
    const { rows } = await run(() => retryConflicts(() => increment.execute(usage)))
    return rows.length > 0
  } catch (error) {
    if (error instanceof StoreError) throw error
    throw new StoreError('the daily count cannot be written', { cause: error })
  }
}

export function createKeyUseRecorder(
  { usage, run }: UsageDatabase,
  clock: Clock,
): CatalogStore['recordKeyUse'] {
  const recordedAtMs = new LRUCache<string, number>({ maxSize: MAX_TRACKED_KEYS, sizeCalculation: () => 1 })
  return (keyId) => {
    const nowMs = clock.nowMs()
    if (isWithin(recordedAtMs.get(keyId) ?? -Infinity, KEY_USE_INTERVAL_MS, nowMs)) return
    recordedAtMs.set(keyId, nowMs)
    const upsert = sql`
      insert into key_uses (key_id, used_at_ms) values (${keyId}, ${nowMs})
      on conflict (key_id) do update set used_at_ms = excluded.used_at_ms
      where excluded.used_at_ms > key_uses.used_at_ms`
    // A failure here must not fail the request, which has already been counted.
    run(() => upsert.execute(usage)).catch(() => {})
  }
}

/** Return the requests of the current UTC day by organization; organizations without requests are absent. */
export async function fetchRequestsToday({
  usage,
  clock,
}: CatalogStore): Promise<ReadonlyMap<string, number>> {
  const rows = await usage
    .selectFrom('usage')
    .selectAll()
    .where('day', '=', toUtcDay(clock.nowMs()))
    .execute()
  return new Map(rows.map((row) => [row.organization_id, row.requests]))
}

/** Return the last use of each key in Unix milliseconds; unused keys are absent. */
export async function fetchKeyUses({ usage }: CatalogStore): Promise<ReadonlyMap<string, number>> {
  const rows = await usage.selectFrom('key_uses').selectAll().execute()
  return new Map(rows.map((row) => [row.key_id, row.used_at_ms]))
}

export async function removeOrganizationUsage(
  { usage }: CatalogStore,
  organizationId: string,
): Promise<void> {
  await usage.deleteFrom('usage').where('organization_id', '=', organizationId).execute()
}

export async function removeKeyUses({ usage }: CatalogStore, keyIds: readonly string[]): Promise<void> {
  if (keyIds.length === 0) return
  await usage.deleteFrom('key_uses').where('key_id', 'in', keyIds).execute()
}
