import { type Kysely, type SqlBool, type Transaction, sql } from 'kysely'
import { type Clock, SECOND_MS } from '../clock.ts'
import { toLeaseTime } from '../database/lease-time.ts'
import {
  type LeaseRow,
  acquireFencedLease,
  createExpiredCondition,
  extendLease,
  lockFence,
  releaseLease,
} from '../database/leases.ts'
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
 * Create the walk leases, which are in the copy's row. By the fence, a process that was suspended for longer than its lease
 * detects that another process has taken over the walk.
 */
export function createWalkLeases(database: Kysely<CopyTables>, catalog: string, clock: Clock): WalkLeases {
  const ownLeases = new Map<number, OwnLease>()
  const toRow = ({ id }: CopyRow, executor: Kysely<CopyTables> = database): LeaseRow => ({
    database: executor,
    clock,
    table: 'copies',
    key: sql`id = ${id}`,
  })
  return {
    async acquireWalkLease(channelId, lease) {
      const copy = await getOrCreateCopy(database, catalog, channelId)
      const { owner } = lease
      const ownLease = ownLeases.get(copy.id)
      // An expired lease of this process still belongs to it until another process acquires it.
      if (ownLease?.owner === owner) return extendLease(toRow(copy), lease, ownLease.fence)
      const fence = await acquireFencedLease(toRow(copy), lease)
      if (fence === undefined) return false
      ownLeases.set(copy.id, { owner, fence })
      return true
    },
    async releaseWalkLease(channelId, owner) {
      const copy = await getOrCreateCopy(database, catalog, channelId)
      if (ownLeases.get(copy.id)?.owner === owner) ownLeases.delete(copy.id)
      await releaseLease(toRow(copy), owner)
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
            const ownLease = ownLeases.get(copy.id)
            if (ownLease !== undefined && !(await lockFence(toRow(copy, transaction), ownLease.fence)))
              throw createLeaseLostError()
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
  const isExpired = createExpiredCondition('copies', toLeaseTime(database, clock), LEASE_MS)
  const { rows } = await sql<{ channel_id: string; owner: string; is_expired: SqlBool }>`
    select channel_id, lease_owner as owner, ${isExpired} as is_expired from copies
    where catalog = ${catalog} and running_walk > current_walk and failure is null and lease_owner is not null`.execute(
    database,
  )
  return rows.map((row) => ({
    channelId: row.channel_id,
    owner: row.owner,
    isLeaseExpired: Boolean(row.is_expired),
  }))
}
