import { type Kysely, type SqlBool, type Transaction, sql } from 'kysely'
import { type Clock, SECOND_MS } from '../clock.ts'
import {
  toLeaseTime,
  type LeaseRow,
  acquireFencedLease,
  createExpiredCondition,
  extendLease,
  lockFence,
  releaseLease,
} from '../database/leases.ts'
import { WalkError } from '../errors.ts'
import type { CopyConnection } from './copy-database.ts'
import type { CopyTables } from './schema.ts'
import { type CopyRow, getOrCreateCopy } from './copies.ts'
import type { UnfinishedWalk, WalkStore } from './store.ts'

/** A walk that does not extend its lease for this long can be taken over by another process. */
export const LEASE_MS: number = 45 * SECOND_MS

export function createLeaseLostError(): WalkError {
  return new WalkError('another process took over the walk')
}

export type WalkWriter = Readonly<{
  copy: CopyRow
  /** Run work outside of a transaction, or with transactions of its own; it can run twice. */
  run: <T>(work: (database: Kysely<CopyTables>) => Promise<T>) => Promise<T>
  transact: <T>(work: (transaction: Transaction<CopyTables>) => Promise<T>) => Promise<T>
  /**
   * Run a transaction while the lease is locked. Without a lease of this process, the fence is not checked.
   * @throws WalkError when another process has acquired the lease
   */
  write: <T>(work: (transaction: Transaction<CopyTables>) => Promise<T>) => Promise<T>
}>

export type WalkLeases = Pick<WalkStore, 'acquireWalkLease' | 'releaseWalkLease' | 'findWalkLeaseOwner'> &
  Readonly<{ openWriter(channelId: string): Promise<WalkWriter> }>

/** A lease of this process. `fence`: a fencing token, which grows with each new owner. */
type OwnLease = Readonly<{ owner: string; fence: number }>

/**
 * Create the walk leases, which are in the copy's row. By the fence, a process that was suspended for longer than its lease
 * detects that another process has taken over the walk.
 */
export function createWalkLeases(connection: CopyConnection, catalog: string, clock: Clock): WalkLeases {
  const ownLeases = new Map<number, OwnLease>()
  const run: WalkWriter['run'] = (work) => connection.write(({ writer }) => work(writer))
  const findCopy = (channelId: string): Promise<CopyRow> =>
    run((database) => getOrCreateCopy(database, catalog, channelId))
  const toRow = ({ id }: CopyRow, database: Kysely<CopyTables>): LeaseRow => ({
    database,
    clock,
    table: 'copies',
    key: sql`id = ${id}`,
  })
  return {
    async acquireWalkLease(channelId, lease) {
      const copy = await findCopy(channelId)
      const { owner } = lease
      const ownLease = ownLeases.get(copy.id)
      // An expired lease of this process still belongs to it until another process acquires it.
      if (ownLease?.owner === owner)
        return run((database) => extendLease(toRow(copy, database), lease, ownLease.fence))
      const fence = await run((database) => acquireFencedLease(toRow(copy, database), lease))
      if (fence === undefined) return false
      ownLeases.set(copy.id, { owner, fence })
      return true
    },
    async releaseWalkLease(channelId, owner) {
      const copy = await findCopy(channelId)
      if (ownLeases.get(copy.id)?.owner === owner) ownLeases.delete(copy.id)
      await run((database) => releaseLease(toRow(copy, database), owner))
    },
    async findWalkLeaseOwner(channelId) {
      const { id } = await findCopy(channelId)
      const select = sql<{ owner: string | null }>`select lease_owner as owner from copies where id = ${id}`
      const { rows } = await run((database) => select.execute(database))
      return rows[0]?.owner ?? null
    },
    async openWriter(channelId) {
      const copy = await findCopy(channelId)
      return {
        copy,
        run,
        transact: (work) => connection.transact(work),
        write: (work) =>
          connection.transact(async (transaction) => {
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
