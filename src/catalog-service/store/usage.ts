import { sql } from 'kysely'
import { LRUCache } from 'lru-cache'
import { type Clock, MINUTE_MS, isWithin } from '../../clock.ts'
import type { Connection } from '../../database/connection.ts'
import { inList } from '../../database/dialect.ts'
import { createBatcher } from '../../lib/concurrency.ts'
import type { CatalogStore, Organization } from './catalog-store.ts'
import type { UsageTables } from './schema.ts'

const DAY_CHARACTERS = 10

/** Precision of a key's last use; it saves a write for each request. */
const KEY_USE_INTERVAL_MS: number = MINUTE_MS

const MAX_ORGANIZATIONS = 1_000

/** Applied as `maxSize`: `max` would allocate memory for all entries at once. */
const MAX_TRACKED_KEYS = 10_000

function toUtcDay(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, DAY_CHARACTERS)
}

/** Create the request counter of one process. Requests that arrive during a write are counted by the next write. */
export function createUsageCounter(
  usage: Connection<UsageTables>,
  clock: Clock,
): CatalogStore['countRequest'] {
  const batchers = new LRUCache<string, CatalogStore['countRequest']>({ max: MAX_ORGANIZATIONS })
  return (organization) => {
    const batcherKey = `${organization.id} ${organization.dailyLimit}`
    let count = batchers.get(batcherKey)
    if (count === undefined) {
      count = createBatcher(({ length }) =>
        countRequests(usage, organization, { day: toUtcDay(clock.nowMs()), requests: length }),
      )
      batchers.set(batcherKey, count)
    }
    return count(organization)
  }
}

type RequestCount = Readonly<{ day: string; requests: number }>

/** Count all at once when all are within the limit, otherwise one by one. */
async function countRequests(
  usage: Connection<UsageTables>,
  organization: Organization,
  { day, requests }: RequestCount,
): Promise<boolean[]> {
  let counted = (await addRequests(usage, organization, { day, requests })) ? requests : 0
  while (counted < requests - 1 && (await addRequests(usage, organization, { day, requests: 1 })))
    counted += 1
  return Array.from({ length: requests }, (_, index) => index < counted)
}

/** One atomic statement. When its result is lost, the requests may have been counted. */
async function addRequests(
  usage: Connection<UsageTables>,
  { id, dailyLimit }: Organization,
  { day, requests }: RequestCount,
): Promise<boolean> {
  if (dailyLimit !== null && requests > dailyLimit) return false
  const hasRoom = dailyLimit === null ? sql`true` : sql`usage.requests + excluded.requests <= ${dailyLimit}`
  const increment = sql`
    insert into usage (organization_id, day, requests) values (${id}, ${day}, ${requests})
    on conflict (organization_id, day) do update set requests = usage.requests + excluded.requests
    where ${hasRoom} returning requests`
  const { rows } = await usage.write(({ writer }) => increment.execute(writer))
  return rows.length > 0
}

export function createKeyUseRecorder(
  usage: Connection<UsageTables>,
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
    usage.write(({ writer }) => upsert.execute(writer)).catch(() => {})
  }
}

/** Return the requests of the current UTC day by organization; organizations without requests are absent. */
export async function fetchRequestsToday({
  usage,
  clock,
}: CatalogStore): Promise<ReadonlyMap<string, number>> {
  const select = sql<UsageTables['usage']>`select * from usage where day = ${toUtcDay(clock.nowMs())}`
  const { rows } = await usage.read(({ reader }) => select.execute(reader))
  return new Map(rows.map((row) => [row.organization_id, row.requests]))
}

/** Return the last use of each key in Unix milliseconds; unused keys are absent. */
export async function fetchKeyUses({ usage }: CatalogStore): Promise<ReadonlyMap<string, number>> {
  const select = sql<UsageTables['key_uses']>`select * from key_uses`
  const { rows } = await usage.read(({ reader }) => select.execute(reader))
  return new Map(rows.map((row) => [row.key_id, row.used_at_ms]))
}

export async function removeOrganizationUsage(
  { usage }: CatalogStore,
  organizationId: string,
): Promise<void> {
  const deletion = sql`delete from usage where organization_id = ${organizationId}`
  await usage.write(({ writer }) => deletion.execute(writer))
}

export async function removeKeyUses({ usage }: CatalogStore, keyIds: readonly string[]): Promise<void> {
  await usage.write(({ writer }) =>
    sql`delete from key_uses where ${inList(writer, 'key_id', keyIds)}`.execute(writer),
  )
}
