import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import * as fc from 'fast-check'
import { sql } from 'kysely'
import { Client } from 'pg'
import { recordCall, createQuotaState } from '../../../src/catalog/quota.ts'
import { createRateLimiter } from '../../../src/catalog/rate-limiter.ts'
import type { Product } from '../../../src/catalog/contract.ts'
import { LEASE_MS } from '../../../src/storage/walk-leases.ts'
import { openCopyDatabase } from '../../../src/storage/copy-database.ts'
import { COPY_MIGRATIONS } from '../../../src/storage/tables.ts'
import { openStoredCopy } from '../../../src/storage/stored-copy.ts'
import type { Lookup } from '../../../src/storage/store.ts'
import { createFakeClock } from '../../helpers/fake-clock.ts'
import { NOON_MS } from '../../helpers/harness.ts'
import { usePostgres } from '../../helpers/postgres.ts'
import { useDatabase } from '../use-database.ts'
import { makeParsedOffer, makeProduct, toGtin } from '../../helpers/products.ts'
import {
  CHANNEL,
  type Copy,
  begin,
  makePage,
  makeQuery,
  readBox,
  walkAll,
} from '../../storage/conformance/subject.ts'
import { toRunCount } from '../../helpers/property-runs.ts'

const CATALOG = 'https://one.example'

const server = usePostgres()
const database = useDatabase()
beforeEach(() => database.truncate())

/** Open a machine's connections to the shared database. The test must close them. */
const openUnclosed = (): Promise<Copy> => openStoredCopy({ database: database.address, catalog: CATALOG })

async function countDeadlocks(): Promise<number> {
  const [row] = await database.run(
    'select deadlocks from pg_stat_database where datname = current_database()',
  )
  return Number(row?.deadlocks)
}

/** Open a machine's connections to the shared database. They are closed after the test. */
async function open(): Promise<Copy> {
  const copy = await openUnclosed()
  onTestFinished(() => copy.close())
  return copy
}

async function openMany(count: number): Promise<readonly Copy[]> {
  const copies: Copy[] = []
  for (let index = 0; index < count; index += 1) copies.push(await open())
  return copies
}

const makeProducts = (from: number, until: number, title: string): Product[] =>
  Array.from({ length: until - from }, (_, index) => makeProduct({ gtin: toGtin(from + index), title }))

const count = (copy: Copy): Promise<unknown> =>
  copy.updateQuota(NOON_MS, (state) => recordCall(state, { purpose: 'lookup', nowMs: NOON_MS }))

const refresh = (copy: Copy, index: number): Promise<unknown> =>
  copy.updateQuota(NOON_MS, (state) =>
    recordCall(state, {
      purpose: index % 5 === 0 ? 'lookup' : 'refresh',
      nowMs: NOON_MS,
    }),
  )

describe('quota of four machines', () => {
  test('calls counted by all at the same time - are all counted', async () => {
    const copies = await openMany(4)
    await Promise.all(copies.flatMap((copy) => Array.from({ length: 30 }, () => count(copy))))
    expect(await copies[0]?.updateQuota(NOON_MS, (state) => state)).toEqual({
      ...createQuotaState(NOON_MS),
      calls: { walk: 0, refresh: 0, lookup: 120 },
      lookupsLastHour: 120,
    })
  })

  test('calls of which some change more than the count - are all counted', async () => {
    const copies = await openMany(4)
    await Promise.all(
      copies.map(async (copy) => {
        for (let index = 0; index < 50; index += 1) await refresh(copy, index)
      }),
    )
    const { calls } = (await copies[0]?.updateQuota(NOON_MS, (state) => state)) ?? {}
    expect(calls).toEqual({ walk: 0, refresh: 160, lookup: 40 })
  })

  test('limit of 100 calls, four machines that request 400 - exactly the share is allowed', async () => {
    const copies = await openMany(4)
    const clock = createFakeClock(NOON_MS)
    const limiters = copies.map((store) =>
      createRateLimiter({ clock, unknownLookupsPerHour: 1_000, dailyLimit: 100, store }),
    )
    const attempts = limiters.flatMap(({ acquire: take }) =>
      Array.from({ length: 100 }, () => take('refresh')),
    )
    const outcomes = await Promise.allSettled(attempts)
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(40)
  })

  test('429 received by one - blocks the next call of every machine', async () => {
    const copies = await openMany(3)
    const clock = createFakeClock(NOON_MS)
    const limiters = copies.map((store) => createRateLimiter({ clock, unknownLookupsPerHour: 10, store }))
    for (const limiter of limiters) await limiter.acquire('refresh')
    const limited = Object.assign(new Error('429'), { retryAfterMs: 60_000 })
    await limiters[1]?.recordRateLimit(limited as never, clock.nowMs())
    for (const limiter of limiters) await expect(limiter.acquire('refresh')).rejects.toThrow('paused')
  })
})

test('machine disconnected while it holds the quota lock - the others cannot count calls, and continue reading', async () => {
  const [first] = (await openMany(1)) as [Copy]
  await count(first)
  const disconnected = new Client({ connectionString: database.url })
  await disconnected.connect()
  onTestFinished(() => disconnected.end())
  await disconnected.query('begin; select * from vitrine_copy.quotas for update')
  const failures: unknown[] = []
  const other = await openStoredCopy({
    database: { ...database.address, statementTimeoutMs: 2_000 },
    catalog: CATALOG,
    service: { visitorTimeoutMs: 10_000, onFailure: (error) => failures.push(error) },
  })
  onTestFinished(() => other.close())
  await expect(other.updateQuota(NOON_MS, (state) => state)).rejects.toMatchObject({
    code: 'VITRINE_STORE_FAILED',
  })
  expect(await other.getCopyState(CHANNEL)).toMatchObject({ currentWalk: 0 })
  expect(failures).toEqual([])
})

test.each([
  ['visitors', 'service', '3s'],
  ['a walk', 'walk', '10s'],
] as const)(
  'connection for writes of %s - releases its locks when its transaction is idle',
  async (...row) => {
    const [, access, after] = row
    const opened = await openCopyDatabase(database.address, { access })
    onTestFinished(() => opened.close())
    const { rows } = await sql`show idle_in_transaction_session_timeout`.execute(opened.writer)
    expect(rows).toEqual([{ idle_in_transaction_session_timeout: after }])
  },
)

const lease = (owner: string): Parameters<Copy['acquireWalkLease']>[1] => ({ owner, forMs: LEASE_MS })

/** Expire all leases, because a test cannot change the server's clock. */
const expireLeases = (): Promise<unknown> => database.run('update vitrine_copy.copies set lease_until_ms = 0')

describe('leases of two machines', () => {
  test('suspended machine whose walk was taken over - can no longer write to it', async () => {
    const [sleeper, other] = (await openMany(2)) as [Copy, Copy]
    expect(await sleeper.acquireWalkLease(CHANNEL, lease('sleeper 1 a'))).toBe(true)
    const walk = await begin(sleeper, 100)
    await sleeper.applyPage(
      CHANNEL,
      makePage(walk, makeProducts(0, 2, 'first'), { asOfMs: 100, nextCursor: 'c' }),
    )
    await expireLeases()
    expect(await other.acquireWalkLease(CHANNEL, lease('other 1 b'))).toBe(true)
    const late = { asOfMs: 160, afterGtin: toGtin(1), nextCursor: null }
    const page = makePage(walk, makeProducts(2, 4, 'late'), late)
    await expect(sleeper.applyPage(CHANNEL, page)).rejects.toThrow('took over the walk')
    await expect(sleeper.completeWalk(CHANNEL, walk, { nowMs: 170, isMalformed: false })).rejects.toThrow(
      'took over the walk',
    )
    await sleeper.failWalk(CHANNEL, { code: 'VITRINE_WALK_FAILED', reason: 'a reason' }, 170)
    expect(await other.getCopyState(CHANNEL)).toMatchObject({
      currentWalk: 0,
      isRunning: true,
      failure: null,
    })
    expect(await readBox(other, toGtin(2))).toBe('unknown')
    await other.applyPage(CHANNEL, page)
    await other.completeWalk(CHANNEL, walk, { nowMs: 180, isMalformed: false })
    expect(await sleeper.getCopyState(CHANNEL)).toMatchObject({ currentWalk: 1, productCount: 4 })
  })

  test('lease that another owner had in between - is not extended, although it is free again', async () => {
    const [first, second] = (await openMany(2)) as [Copy, Copy]
    await first.acquireWalkLease(CHANNEL, lease('first 1 a'))
    await expireLeases()
    await second.acquireWalkLease(CHANNEL, lease('second 1 b'))
    await second.releaseWalkLease(CHANNEL, 'second 1 b')
    expect(await first.acquireWalkLease(CHANNEL, lease('first 1 a'))).toBe(false)
  })

  test('running walk and completed walk - only the running one is listed as unfinished', async () => {
    const [one, other] = (await openMany(2)) as [Copy, Copy]
    await one.acquireWalkLease(CHANNEL, lease('one 1 a'))
    const walk = await begin(one, 100)
    expect(await other.findUnfinishedWalks()).toEqual([
      { channelId: CHANNEL, owner: 'one 1 a', isLeaseExpired: false },
    ])
    await expireLeases()
    expect(await other.findUnfinishedWalks()).toMatchObject([{ isLeaseExpired: true }])
    await one.applyPage(CHANNEL, makePage(walk, [], { asOfMs: 100 }))
    await one.completeWalk(CHANNEL, walk, { nowMs: 110, isMalformed: false })
    expect(await other.findUnfinishedWalks()).toEqual([])
  })
})

/** Build products that change with every walk. In even walks, the first offer is not the one on sale. */
const makeCatalog = (walk: number): Product[] => {
  const sale = makeParsedOffer({
    merchant: walk % 2 === 0 ? 'Zaal' : 'Alpha',
    oldPrice: `${100 + walk}.00`,
  })
  const offers = [sale, makeParsedOffer({ merchant: 'Kopje' })]
  return [1, 2, 3].map((index) => makeProduct({ gtin: toGtin(index), title: `walk ${walk}`, offers }))
}

test('grid whose visitor waits longer than a statement may take - fails alone; the database stays available', async () => {
  const [first] = (await openMany(1)) as [Copy]
  await walkAll(first, makeCatalog(0), 100)
  const failures: unknown[] = []
  const copy = await openStoredCopy({
    database: { ...database.address, statementTimeoutMs: 300 },
    catalog: CATALOG,
    service: { visitorTimeoutMs: 60_000, onFailure: (error) => failures.push(error) },
  })
  onTestFinished(() => copy.close())
  const locking = new Client({ connectionString: database.url })
  await locking.connect()
  onTestFinished(() => locking.end())
  await locking.query('begin; lock table vitrine_copy.deals')
  const query = makeQuery({ searchText: 'walk', sort: 'saving' })
  await expect(copy.findDeals(query, 60_000)).rejects.toMatchObject({ code: 'VITRINE_UNAVAILABLE' })
  expect(failures).toEqual([])
  await locking.query('rollback')
  expect(await copy.findDeals(query, 60_000)).toHaveLength(3)
})

describe('walks, look-ups and readers of several machines at once', () => {
  test('readers while walks complete elsewhere - always find one complete version', async () => {
    const [walker, reader] = (await openMany(2)) as [Copy, Copy]
    await walkAll(walker, makeCatalog(0), 100)
    const walking = new AbortController()
    const walkOften = async (): Promise<void> => {
      for (let walk = 1; walk <= 30; walk += 1) {
        await walkAll(walker, makeCatalog(walk), 100 + walk)
        const entry = { product: makeCatalog(walk + 1)[0] ?? null, asOfMs: 100 + walk }
        await walker.putLookups([{ channelId: CHANNEL, gtin: toGtin(1), entry }])
      }
      walking.abort()
    }
    const readOften = async (): Promise<void> => {
      while (!walking.signal.aborted) {
        expect((await reader.findProduct(CHANNEL, toGtin(2)))?.product?.title).toMatch(/^walk/)
        const deals = await reader.findDeals(makeQuery())
        expect(deals).toHaveLength(3)
        for (const { offer } of deals) expect(offer.oldPrice).toBeTruthy()
        expect(await reader.searchProducts(CHANNEL, 'walk', 8)).toHaveLength(3)
      }
    }
    await Promise.all([walkOften(), readOften()])
  })

  test('look-ups of three machines during walks of a fourth - the newest data of each product is stored', async () => {
    const machines = await openMany(4)
    const [walker, ...visited] = machines as [Copy, ...Copy[]]
    const indexes = fc.nat({ max: 5 })
    const event = fc.record({ index: indexes, isAbsent: fc.boolean(), machine: fc.nat({ max: 2 }) })
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 6, maxLength: 24 }), async (events) => {
        await database.truncate()
        await walkAll(walker, makeProducts(0, 6, 'walk @100'), 100)
        // Each time is unique, so one of two entries for a product is always newer.
        const lookups = events.map(({ index, isAbsent, machine }, position) => {
          const asOfMs = 200 + 2 * position
          const product = isAbsent ? null : makeProduct({ gtin: toGtin(index), title: `look-up @${asOfMs}` })
          return { machine, lookup: { channelId: CHANNEL, gtin: toGtin(index), entry: { product, asOfMs } } }
        })
        const walkAtMs = 201 + 2 * Math.floor(events.length / 2)
        await Promise.all([
          walkAll(walker, makeProducts(0, 6, `walk @${walkAtMs}`), walkAtMs),
          ...visited.map(async (copy, machine) => {
            for (const one of lookups) if (one.machine === machine) await copy.putLookups([one.lookup])
          }),
        ])
        for (let index = 0; index < 6; index += 1) {
          const times = lookups
            .filter(({ lookup }) => lookup.gtin === toGtin(index))
            .map(({ lookup }) => lookup.entry)
          const newest = times.toSorted((a, b) => b.asOfMs - a.asOfMs)[0]
          const isLookup = newest !== undefined && newest.asOfMs > walkAtMs
          const expected = isLookup
            ? `${newest.product?.title ?? 'absent'} @${newest.asOfMs}`
            : `walk @${walkAtMs} @${walkAtMs}`
          expect(await readBox(walker, toGtin(index))).toBe(expected)
        }
      }),
      { numRuns: toRunCount(15) },
    )
  })
})

describe('machines that start together', () => {
  test('ten that open an empty database at once - each migration runs once', async () => {
    const empty = await server.makeDatabase()
    onTestFinished(() => empty.drop())
    const copies = await Promise.all(
      Array.from({ length: 10 }, () => openStoredCopy({ database: empty.address, catalog: CATALOG })),
    )
    for (const copy of copies) await copy.close()
    const steps = await server.run(empty.url, 'select name from vitrine_copy.kysely_migration order by name')
    expect(steps).toEqual(Object.keys(COPY_MIGRATIONS).map((name) => ({ name })))
  })
})

describe('two machines that store the same look-ups, one of them in reverse order', () => {
  test.each([
    ['unchanged products', (index: number) => makeProduct({ gtin: toGtin(index), title: 'Lamp' })],
    ['absences', () => null],
  ])('%s - no deadlock occurs', async (_name, find) => {
    const stores = [await openUnclosed(), await openUnclosed()]
    const makeLookups = (round: number, isReversed: boolean): readonly Lookup[] => {
      const indexes = Array.from({ length: 32 }, (_, index) => (isReversed ? 32 - index : index + 1))
      return indexes.map((index) => ({
        channelId: CHANNEL,
        gtin: toGtin(index),
        entry: { product: find(index), asOfMs: NOON_MS + round },
      }))
    }
    const before = await countDeadlocks()
    for (let round = 0; round < 8; round += 1)
      await Promise.all(stores.map((store, index) => store.putLookups(makeLookups(round, index === 1))))
    // A connection reports its statistics when it closes, which the server processes a moment later.
    for (const store of stores) await store.close()
    const countOpen = `select count(*)::int as count from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`
    await vi.waitFor(async () => expect(await database.run(countOpen)).toEqual([{ count: 0 }]), 10_000)
    expect(await countDeadlocks()).toBe(before)
  })
})
