import { type Kysely, type RawBuilder, type SqlBool, type Transaction, sql } from 'kysely'
import { type Clock, SECOND_MS } from '../clock.ts'
import { isPostgres } from '../database/is-postgres.ts'
import { toLeaseTime } from '../database/lease-time.ts'
import { transact } from '../database/transaction.ts'
import { WalkError } from '../errors.ts'
import type { CopyTables } from './schema.ts'
import { type CopyRow, getOrCreateCopy } from './sql-copies.ts'
import type { UnfinishedWalk, WalkStore } from './store.ts'

/** A walk that does not extend its lease for this long can be taken over by another process. */
export const LEASE_MS: number = 45 * SECOND_MS

export function createLeaseLostError(): WalkError {
  return new WalkError('another process took over the walk')
}

export type WalkWriter = Readonly<{
  database: Kysely<CopyTables>
  copy: CopyRow
  /**
   * Run a transaction while the lease is locked. Without a lease of this process, the fence is not checked.
   * @throws WalkError when another process has acquired the lease
   */
  write<T>(work: (transaction: Transaction<CopyTables>) => Promise<T>): Promise<T>
}>

export type WalkLeases = Pick<WalkStore, 'acquireWalkLease' | 'releaseWalkLease' | 'findWalkLeaseOwner'> &
  Readonly<{ openWriter(channelId: string): Promise<WalkWriter> }>

/** A lease of this process. `fence`: a fencing token, which grows with each new owner. */
type OwnLease = Readonly<{ owner: string; fence: number }>

/**
 * Create the walk leases, three columns of the copy's row: owner, end, and a fencing token. By the token, a process that was
 * suspended for longer than its lease detects that another process has taken over the walk.
 */
export function createWalkLeases(database: Kysely<CopyTables>, catalog: string, clock: Clock): WalkLeases {
  const ownLeases = new Map<number, OwnLease>()
  return {
    async acquireWalkLease(channelId, { owner, forMs }) {
      const copy = await getOrCreateCopy(database, catalog, channelId)
      const ownLease = ownLeases.get(copy.id)
      const now = toLeaseTime(database, clock)
      const isOwn = ownLease?.owner === owner
      // An expired lease of this process still belongs to it until another process acquires it.
      const isAvailable = isOwn
        ? sql`lease_owner = ${owner} and lease_fence = ${ownLease.fence}`
        : sql`(lease_owner = ${owner} or ${createExpiredCondition(now, forMs)})`
      const { rows } = await sql<{ fence: number }>`update copies set lease_owner = ${owner},
        lease_until_ms = ${now} + cast(${forMs} as bigint), lease_fence = lease_fence + ${sql.lit(isOwn ? 0 : 1)}
        where id = ${copy.id} and ${isAvailable} returning lease_fence as fence`.execute(database)
      if (rows[0] === undefined) return false
      ownLeases.set(copy.id, { owner, fence: rows[0].fence })
      return true
    },
    async releaseWalkLease(channelId, owner) {
      const copy = await getOrCreateCopy(database, catalog, channelId)
      if (ownLeases.get(copy.id)?.owner === owner) ownLeases.delete(copy.id)
      await sql`update copies set lease_owner = null, lease_until_ms = 0
        where id = ${copy.id} and lease_owner = ${owner}`.execute(database)
    },
    async findWalkLeaseOwner(channelId) {
      const { id } = await getOrCreateCopy(database, catalog, channelId)
      const { rows } = await sql<{ owner: string | null }>`
        select lease_owner as owner from copies where id = ${id}`.execute(database)
      return rows[0]?.owner ?? null
    },
    async openWriter(channelId) {
      const copy = await getOrCreateCopy(database, catalog, channelId)
      return {
        database,
        copy,
        write: (work) =>
          transact(database, async (transaction) => {
            await checkFence(transaction, copy, ownLeases.get(copy.id))
            return work(transaction)
          }),
      }
    },
  }
}

export async function findUnfinishedWalks(
  database: Kysely<CopyTables>,
  catalog: string,
  clock: Clock,
): Promise<readonly UnfinishedWalk[]> {
  const { rows } = await sql<{ channel_id: string; owner: string; is_over: SqlBool }>`
    select channel_id, lease_owner as owner, ${createExpiredCondition(toLeaseTime(database, clock), LEASE_MS)} as is_over from copies
    where catalog = ${catalog} and running_walk > current_walk and failure is null and lease_owner is not null`.execute(
    database,
  )
  return rows.map((row) => ({
    channelId: row.channel_id,
    owner: row.owner,
    isLeaseExpired: Boolean(row.is_over),
  }))
}

/** Build the condition that a lease has expired. An end too far ahead was written before the clock was set back. */
function createExpiredCondition(now: RawBuilder<number>, forMs: number): RawBuilder<SqlBool> {
  return sql`(lease_until_ms <= ${now} or lease_until_ms > ${now} + cast(${2 * forMs} as bigint))`
}

async function checkFence(
  transaction: Transaction<CopyTables>,
  copy: CopyRow,
  lease: OwnLease | undefined,
): Promise<void> {
  if (lease === undefined) return
  const lock = isPostgres(transaction) ? sql`for update` : sql``
  const { rows } = await sql<{ fence: number }>`
    select lease_fence as fence from copies where id = ${copy.id} ${lock}`.execute(transaction)
  if (rows[0]?.fence !== lease.fence) throw createLeaseLostError()
}
