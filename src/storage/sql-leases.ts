import { type Kysely, type RawBuilder, type SqlBool, type Transaction, sql } from 'kysely'
import { type Clock, SECOND_MS } from '../clock.ts'
import { isPostgres } from '../database/postgres.ts'
import { WalkError } from '../errors.ts'
import type { CopyTables } from './schema.ts'
import type { CopyRow } from './sql-copies.ts'
import { toLeaseTime } from './sql-time.ts'
import type { UnfinishedWalk, WalkStore } from './store.ts'

/** How long a walk may go without a sign of life before another process may take it over: with a look now and then, within a minute. */
export const LEASE_MS: number = 45 * SECOND_MS

/** What a walk ends with whose lease another process holds. */
export function createLeaseLost(): WalkError {
  return new WalkError('another process took the walk over')
}

/** Throws when another process has the walk by now; the first thing in a transaction. */
export type Guard = (transaction: Transaction<CopyTables>) => Promise<void>

/** Leases of walks, as who has opened the store holds them. */
export type Leases = Pick<WalkStore, 'takeLease' | 'releaseLease' | 'findLeaseOwner'> &
  Readonly<{
    /**
     * For a transaction that writes what a walk has brought: throws where the lease that was taken here is another's by now, and
     * keeps it until the transaction ends. One who never took a lease is not held up.
     */
    guard(copy: CopyRow): Guard
  }>

/** A lease that was taken here. `fence`: its number; whoever takes the lease after this one has a higher one. */
type Held = Readonly<{ owner: string; fence: number }>

/**
 * A lease is three columns of the copy's row: who walks, until when nobody else may, and a number that grows with each holder.
 * Who stood still for longer than his lease lasted, and wakes, is told by the number that the walk is another's.
 */
export function createLeases(
  database: Kysely<CopyTables>,
  open: (channelId: string) => Promise<CopyRow>,
  clock: Clock,
): Leases {
  const held = new Map<number, Held>()
  return {
    async takeLease(channelId, lease) {
      const copy = await open(channelId)
      const mine = held.get(copy.id)
      const fence =
        mine?.owner === lease.owner
          ? await extend(database, copy, { ...lease, now: toLeaseTime(database, clock), fence: mine.fence })
          : await take(database, copy, { ...lease, now: toLeaseTime(database, clock) })
      if (fence === undefined) return false
      held.set(copy.id, { owner: lease.owner, fence })
      return true
    },
    async releaseLease(channelId, owner) {
      const copy = await open(channelId)
      if (held.get(copy.id)?.owner === owner) held.delete(copy.id)
      await database
        .updateTable('copies')
        .set({ lease_owner: null, lease_until_ms: 0 })
        .where('id', '=', copy.id)
        .where('lease_owner', '=', owner)
        .execute()
    },
    async findLeaseOwner(channelId) {
      const copy = await open(channelId)
      const row = await database
        .selectFrom('copies')
        .select('lease_owner')
        .where('id', '=', copy.id)
        .executeTakeFirst()
      return row?.lease_owner ?? null
    },
    guard: (copy) => (transaction) => checkFence(transaction, copy, held.get(copy.id)),
  }
}

/** Walks that somebody began, and of which no end and no failure is known. */
export async function findUnfinishedWalks(
  database: Kysely<CopyTables>,
  catalog: string,
  clock: Clock,
): Promise<readonly UnfinishedWalk[]> {
  const now = toLeaseTime(database, clock)
  const rows = await database
    .selectFrom('copies')
    .select(['channel_id', 'lease_owner', isOver({ now, forMs: LEASE_MS }).as('is_over')])
    .where('catalog', '=', catalog)
    .whereRef('running_walk', '>', 'current_walk')
    .where('failure', 'is', null)
    .where('lease_owner', 'is not', null)
    .execute()
  return rows.map((row) => ({
    channelId: row.channel_id,
    owner: row.lease_owner ?? '',
    isOver: Boolean(row.is_over),
  }))
}

type Wanted = Parameters<WalkStore['takeLease']>[1] & Readonly<{ now: RawBuilder<number> }>

/** Has a lease ended? One that ends much later than any was taken before the clock was set back. */
function isOver({ now, forMs }: Pick<Wanted, 'now' | 'forMs'>): RawBuilder<SqlBool> {
  return sql`(lease_until_ms <= ${now} or lease_until_ms > ${now} + ${2 * forMs})`
}

/** One that has run out is still its holder's while nobody has taken it. */
async function extend(
  database: Kysely<CopyTables>,
  copy: CopyRow,
  { owner, now, forMs, fence }: Wanted & Held,
): Promise<number | undefined> {
  const row = await database
    .updateTable('copies')
    .set({ lease_until_ms: sql<number>`${now} + ${forMs}` })
    .where('id', '=', copy.id)
    .where('lease_owner', '=', owner)
    .where('lease_fence', '=', fence)
    .returning('lease_fence')
    .executeTakeFirst()
  return row?.lease_fence
}

async function take(
  database: Kysely<CopyTables>,
  copy: CopyRow,
  { owner, now, forMs }: Wanted,
): Promise<number | undefined> {
  const row = await database
    .updateTable('copies')
    .set(({ eb, ref }) => ({
      lease_owner: owner,
      lease_until_ms: sql<number>`${now} + ${forMs}`,
      lease_fence: eb(ref('lease_fence'), '+', 1),
    }))
    .where('id', '=', copy.id)
    .where((builder) => builder.or([builder('lease_owner', '=', owner), isOver({ now, forMs })]))
    .returning('lease_fence')
    .executeTakeFirst()
  return row?.lease_fence
}

async function checkFence(
  transaction: Transaction<CopyTables>,
  copy: CopyRow,
  held: Held | undefined,
): Promise<void> {
  if (held === undefined) return
  const row = await transaction
    .selectFrom('copies')
    .select('lease_fence')
    .where('id', '=', copy.id)
    .$if(isPostgres(transaction), (query) => query.forUpdate())
    .executeTakeFirst()
  if (row?.lease_fence !== held.fence) throw createLeaseLost()
}
