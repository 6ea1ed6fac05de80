import type { Kysely } from 'kysely'
import { type Clock, MINUTE_MS, isWithin } from '../clock.ts'
import { createBatcher } from '../lib/batcher.ts'
import type { CopyTables } from './schema.ts'
import { toLeaseTime } from './sql-time.ts'
import type { CopyStore } from './store.ts'

/** How often expired claims of crashed processes are removed. */
const SWEEP_EVERY_MS: number = MINUTE_MS

type Product = Parameters<CopyStore['claimLookup']>[0]
type Claim = Product & Parameters<CopyStore['claimLookup']>[1]
type Release = Product & Parameters<CopyStore['releaseLookup']>[1]

/**
 * Claims of look-ups: rows with an owner and an end. If the owner crashes, the claim expires and another process can take it.
 * Claims that come while others are under way share a transaction, in the order of their products, so that two machines that
 * claim the same ones wait for each other only once.
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
    const longestMs = Math.max(...claims.map(({ forMs }) => forMs))
    const rows = await database
      .insertInto('lookup_claims')
      .values(({ eb, val }) =>
        sortByProduct([...wanted.values()]).map(({ channelId, gtin, owner, forMs }) => ({
          catalog,
          channel_id: channelId,
          gtin,
          owner,
          until_ms: eb(now, '+', eb.cast<number>(val(forMs), 'bigint')),
        })),
      )
      .onConflict((conflict) =>
        conflict
          .columns(['catalog', 'channel_id', 'gtin'])
          .doUpdateSet(({ ref }) => ({ owner: ref('excluded.owner'), until_ms: ref('excluded.until_ms') }))
          .where(({ eb, or, ref, val }) =>
            or([
              eb(ref('lookup_claims.until_ms'), '<=', now),
              // A claim that ends much later than a new one was made before the clock was set back.
              eb(
                ref('lookup_claims.until_ms'),
                '>',
                eb(now, '+', eb.cast<number>(val(2 * longestMs), 'bigint')),
              ),
            ]),
          ),
      )
      .returning(['channel_id', 'gtin'])
      .execute()
    const mine = new Set(rows.map((row) => toKey({ channelId: row.channel_id, gtin: row.gtin })))
    return claims.map((one) => wanted.get(toKey(one)) === one && mine.has(toKey(one)))
  })

  const release = createBatcher(async (claims: readonly Release[]) => {
    await database
      .deleteFrom('lookup_claims')
      .where('catalog', '=', catalog)
      .where(({ and, or }) =>
        or(
          sortByProduct(claims).map(({ channelId, gtin, owner }) =>
            and({ channel_id: channelId, gtin, owner }),
          ),
        ),
      )
      .execute()
    const nowMs = clock.nowMs()
    if (!isWithin(sweptAtMs, SWEEP_EVERY_MS, nowMs)) {
      sweptAtMs = nowMs
      await database
        .deleteFrom('lookup_claims')
        .where('until_ms', '<=', toLeaseTime(database, clock))
        .execute()
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
