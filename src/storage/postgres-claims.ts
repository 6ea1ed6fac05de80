import { type Kysely, sql } from 'kysely'
import { MINUTE_MS, isWithin, systemClock } from '../clock.ts'
import { retryConflicts } from '../database/transact.ts'
import { createBatcher } from '../lib/batcher.ts'
import type { CopyTables } from './schema.ts'
import { SERVER_TIME } from './sql-time.ts'
import type { CopyStore } from './store.ts'

/** How often claims of processes that died with them are removed. */
const SWEEP_EVERY_MS: number = MINUTE_MS

type Product = Parameters<CopyStore['claimLookup']>[0]
type Claim = Product & Parameters<CopyStore['claimLookup']>[1]
type GivenBack = Product & Parameters<CopyStore['giveBackLookup']>[1]

/**
 * Claims on a server, where a transaction of its own for each would cost more than the look-up: those of one moment are made
 * together. In the order of their products, so that two machines that claim the same ones wait for each other once.
 */
export function createPostgresClaims(
  database: Kysely<CopyTables>,
  catalog: string,
): Pick<CopyStore, 'claimLookup' | 'giveBackLookup'> {
  let sweptAtMs = -Infinity
  const claim = createBatcher((claims: readonly Claim[]) =>
    retryConflicts(() => claimAll(database, catalog, claims)),
  )
  const giveBack = createBatcher(async (claims: readonly GivenBack[]) => {
    await retryConflicts(() => giveBackAll(database, catalog, claims))
    const nowMs = systemClock.nowMs()
    if (!isWithin(sweptAtMs, SWEEP_EVERY_MS, nowMs)) {
      sweptAtMs = nowMs
      await database.deleteFrom('lookup_claims').where('until_ms', '<=', SERVER_TIME).execute()
    }
    return claims.map(() => undefined)
  })
  return {
    claimLookup: (product, details) => claim({ ...product, ...details }),
    giveBackLookup: (product, details) => giveBack({ ...product, ...details }),
  }
}

function toKey({ channelId, gtin }: Product): string {
  return `${channelId} ${gtin}`
}

async function claimAll(
  database: Kysely<CopyTables>,
  catalog: string,
  claims: readonly Claim[],
): Promise<readonly boolean[]> {
  // Of two for one product the first has it.
  const wanted = new Map<string, Claim>()
  for (const one of claims) if (!wanted.has(toKey(one))) wanted.set(toKey(one), one)
  const rows = [...wanted].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one)
  const column = <Value>(pick: (claim: Claim) => Value): Value[] => rows.map(pick)
  // One that ends much later than any was made before the server's clock was set back.
  const longestMs = 2 * Math.max(...column((one) => one.forMs))
  const made = await sql<Readonly<{ channel_id: string; gtin: string }>>`
    insert into lookup_claims (catalog, channel_id, gtin, owner, until_ms)
    select ${catalog}, c.channel_id, c.gtin, c.owner, ${SERVER_TIME} + c.for_ms from unnest(
      ${column((one) => one.channelId)}::text[], ${column((one) => one.gtin)}::text[],
      ${column((one) => one.owner)}::text[], ${column((one) => one.forMs)}::bigint[])
      as c (channel_id, gtin, owner, for_ms)
    on conflict (catalog, channel_id, gtin) do update set owner = excluded.owner, until_ms = excluded.until_ms
      where lookup_claims.until_ms <= ${SERVER_TIME} or lookup_claims.until_ms > ${SERVER_TIME} + ${longestMs}::bigint
    returning channel_id, gtin`.execute(database)
  const mine = new Set(made.rows.map((row) => toKey({ channelId: row.channel_id, gtin: row.gtin })))
  return claims.map((one) => wanted.get(toKey(one)) === one && mine.has(toKey(one)))
}

async function giveBackAll(
  database: Kysely<CopyTables>,
  catalog: string,
  claims: readonly GivenBack[],
): Promise<void> {
  const rows = claims.toSorted((a, b) => (toKey(a) < toKey(b) ? -1 : 1))
  await sql`
    delete from lookup_claims l using unnest(
      ${rows.map((one) => one.channelId)}::text[], ${rows.map((one) => one.gtin)}::text[],
      ${rows.map((one) => one.owner)}::text[]) as c (channel_id, gtin, owner)
    where l.catalog = ${catalog} and l.channel_id = c.channel_id and l.gtin = c.gtin and l.owner = c.owner`.execute(
    database,
  )
}
