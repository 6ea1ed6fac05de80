import { spawnSync } from 'node:child_process'
import {
  type FeedAttempt,
  FEED_LEASE_MS,
  acquireFeedLease,
  cancelFeedAttempt,
  extendFeedLease,
  fetchFeedAttempts,
  finishFeedAttempt,
} from '../../src/catalog-service/store/feed-attempts.ts'
import { openCatalogStore } from '../../src/catalog-service/store/open-store.ts'
import { type Clock, MINUTE_MS } from '../../src/clock.ts'
import type { DatabaseAddress } from '../../src/config/database-address.ts'
import { createLeaseOwner, hasOwnerExited } from '../../src/database/leases.ts'
import { WalkError } from '../../src/errors.ts'
import { type StoredCopy, openStoredCopy } from '../../src/storage/stored-copy.ts'
import { LEASE_MS } from '../../src/storage/walk-leases.ts'
import { addCleanup } from '../helpers/cleanup.ts'
import { toGtin } from '../helpers/products.ts'

/** Where the leases are, and the time by which they end. */
export type LeaseDatabase = Readonly<{
  copyAddress: DatabaseAddress
  catalogAddress: DatabaseAddress
  /** The clock of the process with that name. */
  getClock(owner: string): Clock
  /** Let time pass for leases, or set their clock back. */
  passTime(byMs: number): Promise<void>
  /** Set the clock of one machine, when it is not the clock of the leases. */
  setMachineClock?: (owner: string, aheadMs: number) => void
  /** Times that a lease has left when the next command runs: before and after each end of a lease of `forMs`. */
  listRemainingMs(forMs: number): readonly number[]
}>

/** One owner's use of a lease. An operation that this kind of lease does not have is absent. */
export type Lease = Readonly<{
  acquire(): Promise<boolean>
  extend?(): Promise<boolean>
  /** Write under the lease; `false`: rejected or ignored. */
  write?(): Promise<boolean>
  /** Write the result and release the lease with it; `false`: ignored. */
  finish?(): Promise<boolean>
  release(): Promise<void>
}>

export type LeaseKind = Readonly<{
  name: string
  forMs: number
  /** The lease of a process that has exited on this machine can be acquired at once. */
  endsWithProcess: boolean
  /** Expired leases are deleted now and then. */
  isSwept: boolean
  canExtend: boolean
  canFinish: boolean
  /** Acquired in a transaction: two at once would block the only thread of the test in SQLite. */
  isTransaction: boolean
  /** Open a connection for each process; other owners use the last one. `run` has its own lease. */
  open(database: LeaseDatabase, processes: readonly string[]): Promise<(owner: string, run: number) => Lease>
}>

/** The last parts of the name of a lease owner: a process of this machine that has exited. */
export const EXITED_PROCESS: string = [
  spawnSync(process.execPath, ['-e', '']).pid,
  ...createLeaseOwner().split(' ').slice(2),
].join(' ')

async function openAll<Store extends { close(): Promise<void> }>(
  processes: readonly string[],
  open: (owner: string) => Promise<Store>,
): Promise<(owner: string) => Store> {
  const stores = new Map<string, Store>()
  for (const owner of processes) {
    const store = await open(owner)
    addCleanup(() => store.close())
    stores.set(owner, store)
  }
  const last = [...stores.values()].at(-1)
  return (owner) => {
    const store = stores.get(owner) ?? last
    if (store === undefined) throw new Error('no process')
    return store
  }
}

const openCopies = (
  database: LeaseDatabase,
  processes: readonly string[],
): Promise<(owner: string) => StoredCopy> =>
  openAll(processes, (owner) =>
    openStoredCopy({
      database: database.copyAddress,
      catalog: 'https://one.example',
      clock: database.getClock(owner),
    }),
  )

/** Results that were written, so that each has its own text. */
let resultCount = 0

const walks: LeaseKind = {
  name: 'walk',
  forMs: LEASE_MS,
  endsWithProcess: true,
  isSwept: false,
  canExtend: true,
  canFinish: false,
  isTransaction: false,
  async open(database, processes) {
    const getCopy = await openCopies(database, processes)
    return (owner, run) => {
      const copy = getCopy(owner)
      const channel = `channel ${run}`
      const acquire = (): Promise<boolean> => copy.acquireWalkLease(channel, { owner, forMs: LEASE_MS })
      return {
        async acquire() {
          if (await acquire()) return true
          // As a walk does: the database does not know which processes have exited.
          const holder = await copy.findWalkLeaseOwner(channel)
          if (holder === null || !hasOwnerExited(holder)) return false
          await copy.releaseWalkLease(channel, holder)
          return acquire()
        },
        extend: acquire,
        async write() {
          try {
            await copy.recordRetry(channel, { code: 'VITRINE_WALK_FAILED', reason: owner })
            return true
          } catch (error) {
            if (error instanceof WalkError) return false
            throw error
          }
        },
        release: () => copy.releaseWalkLease(channel, owner),
      }
    }
  },
}

const lookups: LeaseKind = {
  name: 'look-up',
  forMs: 10 * MINUTE_MS,
  endsWithProcess: false,
  isSwept: true,
  canExtend: false,
  canFinish: false,
  isTransaction: false,
  async open(database, processes) {
    const getCopy = await openCopies(database, processes)
    return (owner, run) => {
      const copy = getCopy(owner)
      const product = { channelId: 'channel', gtin: toGtin(run) }
      return {
        acquire: () => copy.acquireLookupLease(product, { owner, forMs: lookups.forMs }),
        release: () => copy.releaseLookupLease(product, { owner }),
      }
    }
  },
}

const feeds: LeaseKind = {
  name: 'feed',
  forMs: FEED_LEASE_MS,
  endsWithProcess: true,
  isSwept: false,
  canExtend: true,
  canFinish: true,
  isTransaction: false,
  async open(database, processes) {
    const getStore = await openAll(processes, (owner) =>
      openCatalogStore({ database: database.catalogAddress, clock: database.getClock(owner) }),
    )
    return (owner, feedId) => {
      const store = getStore(owner)
      let previous: FeedAttempt | undefined
      return {
        async acquire() {
          const acquired = await acquireFeedLease(store, feedId, owner)
          previous = acquired?.previous
          return acquired !== null
        },
        extend: () => extendFeedLease(store, feedId, owner),
        async finish() {
          const message = `result ${(resultCount += 1)}`
          await finishFeedAttempt(store, feedId, { owner, failure: { code: 'TEST', message } })
          return (await fetchFeedAttempts(store)).get(feedId)?.error === message
        },
        release: () => cancelFeedAttempt(store, feedId, { owner, previous }),
      }
    }
  },
}

/** An event of this time is pending whatever the clocks show. */
const FAR_FUTURE_MS: number = Date.UTC(2100, 0)

const events: LeaseKind = {
  name: 'delivery of events',
  forMs: 10 * MINUTE_MS,
  endsWithProcess: false,
  isSwept: false,
  canExtend: false,
  canFinish: true,
  isTransaction: true,
  async open(database, processes) {
    const getCopy = await openCopies(database, processes)
    const feed = { name: 'feed', channelId: null, fetchedAtMs: null }
    await getCopy('').recordFeeds([{ ...feed, isStale: false }], FAR_FUTURE_MS)
    await getCopy('').recordFeeds([{ ...feed, isStale: true }], FAR_FUTURE_MS)
    return (owner) => {
      const copy = getCopy(owner)
      let id = ''
      return {
        async acquire() {
          const leased = await copy.leaseEvent({ owner, forMs: events.forMs })
          id = leased?.event.id ?? id
          return leased !== undefined
        },
        async finish() {
          const failure = `result ${(resultCount += 1)}`
          await copy.recordDelivery({ owner, id, failure, nextAttemptMs: 0 })
          return (await copy.readDeliveryState()).failure === failure
        },
        release: () => copy.releaseDelivery(owner),
      }
    }
  },
}

export const LEASE_KINDS: readonly LeaseKind[] = [walks, lookups, feeds, events]
