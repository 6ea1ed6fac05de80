import { sql } from 'kysely'
import { type Clock, MINUTE_MS, isWithin } from '../clock.ts'
import { createBatcher } from '../lib/concurrency.ts'
import { toLeaseTime } from '../database/lease-time.ts'
import { createExpiredCondition, toLeaseEnd } from '../database/leases.ts'
import type { CopyConnection } from './copy-database.ts'
import type { CopyStore } from './store.ts'

/** How often expired leases of crashed processes are deleted. */
const SWEEP_INTERVAL_MS: number = MINUTE_MS

type ProductKey = Parameters<CopyStore['acquireLookupLease']>[0]
type AcquireRequest = ProductKey & Parameters<CopyStore['acquireLookupLease']>[1]
type ReleaseRequest = ProductKey & Parameters<CopyStore['releaseLookupLease']>[1]

/**
 * Create the look-up leases. The lease of a crashed process expires. Concurrent requests share a statement, sorted by product so
 * that two machines never deadlock.
 */
export function createLookupLeases(
  connection: CopyConnection,
  catalog: string,
  clock: Clock,
): Pick<CopyStore, 'acquireLookupLease' | 'releaseLookupLease'> {
  let sweptAtMs = -Infinity

  const acquire = createBatcher(async (requests: readonly AcquireRequest[]) => {
    const firstByProduct = new Map<string, AcquireRequest>()
    for (const request of requests)
      if (!firstByProduct.has(toKey(request))) firstByProduct.set(toKey(request), request)
    const { rows: acquired } = await connection.write(async ({ writer }) => {
      const now = toLeaseTime(writer, clock)
      const leaseRows = sortByProduct([...firstByProduct.values()]).map(
        ({ channelId, gtin, owner, forMs }) =>
          sql`(${catalog}, ${channelId}, ${gtin}, ${owner}, ${toLeaseEnd(now, forMs)})`,
      )
      const isExpired = createExpiredCondition(
        'lookup_leases',
        now,
        Math.max(...requests.map(({ forMs }) => forMs)),
      )
      return sql<{ channelId: string; gtin: string }>`
      insert into lookup_leases (catalog, channel_id, gtin, lease_owner, lease_until_ms)
      values ${sql.join(leaseRows)}
      on conflict (catalog, channel_id, gtin) do update
      set lease_owner = excluded.lease_owner, lease_until_ms = excluded.lease_until_ms where ${isExpired}
      returning channel_id as ${sql.ref('channelId')}, gtin`.execute(writer)
    })
    const acquiredKeys = new Set(acquired.map(toKey))
    return requests.map(
      (request) => firstByProduct.get(toKey(request)) === request && acquiredKeys.has(toKey(request)),
    )
  })

  const release = createBatcher(async (requests: readonly ReleaseRequest[]) => {
    const conditions = sortByProduct(requests).map(
      ({ channelId, gtin, owner }) =>
        sql`channel_id = ${channelId} and gtin = ${gtin} and lease_owner = ${owner}`,
    )
    const deletion = sql`delete from lookup_leases
      where catalog = ${catalog} and (${sql.join(conditions, sql` or `)})`
    await connection.write(({ writer }) => deletion.execute(writer))
    const nowMs = clock.nowMs()
    if (!isWithin(sweptAtMs, SWEEP_INTERVAL_MS, nowMs)) {
      sweptAtMs = nowMs
      await connection.write(({ writer }) =>
        sql`delete from lookup_leases where lease_until_ms <= ${toLeaseTime(writer, clock)}`.execute(writer),
      )
    }
    return requests.map(() => undefined)
  })

  return {
    acquireLookupLease: (product, details) => acquire({ ...product, ...details }),
    releaseLookupLease: (product, details) => release({ ...product, ...details }),
  }
}

function sortByProduct<T extends ProductKey>(requests: readonly T[]): readonly T[] {
  return requests.toSorted((a, b) => (toKey(a) < toKey(b) ? -1 : 1))
}

function toKey({ channelId, gtin }: ProductKey): string {
  return `${channelId} ${gtin}`
}
