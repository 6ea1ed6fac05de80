import { type Kysely, sql } from 'kysely'
import { type Clock, MINUTE_MS, isWithin } from '../clock.ts'
import { createBatcher } from '../lib/batcher.ts'
import type { CopyTables } from './schema.ts'
import { toLeaseTime } from './sql-leases.ts'
import type { CopyStore } from './store.ts'

/** How often expired claims of crashed processes are removed. */
const SWEEP_EVERY_MS: number = MINUTE_MS

type Product = Parameters<CopyStore['claimLookup']>[0]
type Claim = Product & Parameters<CopyStore['claimLookup']>[1]
type Release = Product & Parameters<CopyStore['releaseLookup']>[1]

/**
 * Claims of look-ups: leased rows, so that the claim of a process that crashed expires. Claims that come while others are under
 * way share a statement, in the order of their products: two machines that claim the same ones never wait for each other.
 */
export function createSqlClaims(
  database: Kysely<CopyTables>,
  catalog: string,
  clock: Clock,
): Pick<CopyStore, 'claimLookup' | 'releaseLookup'> {
  let sweptAtMs = -Infinity

  const claim = createBatcher(async (claims: readonly Claim[]) => {
    // Of two claims for one product the first wins.
    const wanted = new Map<string, Claim>()
    for (const one of claims) if (!wanted.has(toKey(one))) wanted.set(toKey(one), one)
    const now = toLeaseTime(database, clock)
    const rows = sortByProduct([...wanted.values()]).map(
      ({ channelId, gtin, owner, forMs }) =>
        sql`(${catalog}, ${channelId}, ${gtin}, ${owner}, ${now} + cast(${forMs} as bigint))`,
    )
    // A claim that ends much later than a new one was made before the clock was set back.
    const latest = sql`${now} + cast(${2 * Math.max(...claims.map(({ forMs }) => forMs))} as bigint)`
    const { rows: claimed } = await sql<{ channelId: string; gtin: string }>`
      insert into lookup_claims (catalog, channel_id, gtin, owner, until_ms) values ${sql.join(rows)}
      on conflict (catalog, channel_id, gtin) do update set owner = excluded.owner, until_ms = excluded.until_ms
      where lookup_claims.until_ms <= ${now} or lookup_claims.until_ms > ${latest}
      returning channel_id as ${sql.ref('channelId')}, gtin`.execute(database)
    const mine = new Set(claimed.map(toKey))
    return claims.map((one) => wanted.get(toKey(one)) === one && mine.has(toKey(one)))
  })

  const release = createBatcher(async (claims: readonly Release[]) => {
    const ends = sortByProduct(claims).map(
      ({ channelId, gtin, owner }) => sql`channel_id = ${channelId} and gtin = ${gtin} and owner = ${owner}`,
    )
    await sql`delete from lookup_claims
      where catalog = ${catalog} and (${sql.join(ends, sql` or `)})`.execute(database)
    const nowMs = clock.nowMs()
    if (!isWithin(sweptAtMs, SWEEP_EVERY_MS, nowMs)) {
      sweptAtMs = nowMs
      await sql`delete from lookup_claims where until_ms <= ${toLeaseTime(database, clock)}`.execute(database)
    }
    return claims.map(() => undefined)
  })

  return {
    claimLookup: (product, details) => claim({ ...product, ...details }),
    releaseLookup: (product, details) => release({ ...product, ...details }),
  }
}

function sortByProduct<T extends Product>(claims: readonly T[]): readonly T[] {
  return claims.toSorted((a, b) => (toKey(a) < toKey(b) ? -1 : 1))
}

function toKey({ channelId, gtin }: Product): string {
  return `${channelId} ${gtin}`
}
