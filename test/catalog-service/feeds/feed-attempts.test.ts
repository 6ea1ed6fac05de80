import { once } from 'node:events'
import { sql } from 'kysely'
import { describe, expect, it, vi } from 'vitest'
import type { CatalogStore } from '../../../src/catalog-service/store/catalog-store.ts'
import {
  FEED_LEASE_MS,
  type FeedAttempt,
  acquireFeedLease,
  cancelFeedAttempt,
  computeNextRunMs,
  extendFeedLease,
  fetchFeedAttempts,
  finishFeedAttempt,
  isFeedQuiet,
  isFeedStale,
  removeFeedAttempts,
} from '../../../src/catalog-service/store/feed-attempts.ts'
import { type Feed, findFeedById } from '../../../src/catalog-service/store/feeds.ts'
import { DAY_MS, HOUR_MS, HOUR_SECONDS, MINUTE_MS } from '../../../src/clock.ts'
import { createLeaseOwner } from '../../../src/database/leases.ts'
import { createFakeClock } from '../../helpers/fake-clock.ts'
import { type StoreUnderTest, openSqliteTestStore, openTestStore } from '../harness.ts'
import { addFeed, createTable, dumpCatalog, getState, runTestFeed, startFeed } from './feed-fixture.ts'
import { send, startFeedServer } from './feed-server.ts'
import { EXITED_OWNER, OTHER_MACHINE_OWNER, openOtherStore } from './scheduler-fixture.ts'
import { getReader, getUsage } from '../store-handles.ts'

const FETCH_FAILURE = { code: 'VITRINE_FEED_FETCH_FAILED', message: 'no' }
const HELD_FAILURE = { code: 'VITRINE_FEED_HELD', message: 'held' }

type LeaseStore = Pick<CatalogStore, 'usage' | 'clock'>

const openFeed = async (open: () => Promise<StoreUnderTest> = openTestStore) => {
  const fixture = await open()
  return { ...fixture, feedId: await addFeed(fixture) }
}

/** Let the lease expire, also where the database server's clock counts. */
const expireLease = async (store: LeaseStore) =>
  (await getUsage(store)).updateTable('feed_attempts').set({ lease_until_ms: 1 }).execute()

/** Pause after the first read, so that another process can write between the read and the write. */
function pauseAfterRead(store: LeaseStore, work: () => Promise<unknown>): LeaseStore {
  let isFirst = true
  const read: LeaseStore['usage']['read'] = async (readRows) => {
    const rows = await store.usage.read(readRows)
    if (isFirst) {
      isFirst = false
      await work()
    }
    return rows
  }
  const write: LeaseStore['usage']['write'] = (writeRows) => store.usage.write(writeRows)
  return { usage: { read, write } as LeaseStore['usage'], clock: store.clock }
}

async function findAttempt(store: LeaseStore, feedId: number) {
  return (await fetchFeedAttempts(store)).get(feedId)
}

/** What the attempt before may have left. */
const PREVIOUS: Readonly<Record<string, (store: CatalogStore, feedId: number) => Promise<unknown>>> = {
  'no attempt': () => Promise.resolve(),
  success: async (store, feedId) => {
    await acquireFeedLease(store, feedId, 'before')
    await finishFeedAttempt(store, feedId, { owner: 'before', failure: null })
  },
  failure: async (store, feedId) => {
    await acquireFeedLease(store, feedId, 'before')
    await finishFeedAttempt(store, feedId, { owner: 'before', failure: FETCH_FAILURE })
  },
  'cancelled attempt': async (store, feedId) => {
    await acquireFeedLease(store, feedId, 'before')
    await cancelFeedAttempt(store, feedId, { owner: 'before', previous: undefined })
  },
  'expired lease': async (store, feedId) => {
    await acquireFeedLease(store, feedId, OTHER_MACHINE_OWNER)
    await expireLease(store)
  },
  'owner that has exited': (store, feedId) => acquireFeedLease(store, feedId, EXITED_OWNER),
}

describe.each(Object.entries(PREVIOUS))('two connections acquire a lease after: %s', (_, prepare) => {
  it('at the same time - one wins', async () => {
    const { feedId, ...fixture } = await openFeed()
    await prepare(fixture.store, feedId)
    fixture.clock.advance(MINUTE_MS)
    const stores = [fixture.store, await openOtherStore(fixture)]
    const owners = [createLeaseOwner(), createLeaseOwner()]
    const acquired = await Promise.all(
      stores.map((store, index) => acquireFeedLease(store, feedId, owners[index] ?? '')),
    )
    expect(acquired.filter((lease) => lease !== null)).toHaveLength(1)
    const winner = owners[acquired.findIndex((lease) => lease !== null)] ?? ''
    expect(await extendFeedLease(fixture.store, feedId, winner)).toBe(true)
  })

  it('at the same time and in the same millisecond as the attempt before - one wins', async () => {
    const { feedId, ...fixture } = await openFeed()
    await prepare(fixture.store, feedId)
    const stores = [fixture.store, await openOtherStore(fixture)]
    const acquired = await Promise.all(
      stores.map((store) => acquireFeedLease(store, feedId, createLeaseOwner())),
    )
    expect(acquired.filter((lease) => lease !== null)).toHaveLength(1)
  })

  it.each([
    ['still runs', async () => undefined],
    [
      'has finished',
      (store: CatalogStore, feedId: number) =>
        finishFeedAttempt(store, feedId, { owner: 'other', failure: null }),
    ],
  ])('the other one between read and write, and it %s - the first one loses', async (__, finish) => {
    const { feedId, ...fixture } = await openFeed()
    await prepare(fixture.store, feedId)
    fixture.clock.advance(MINUTE_MS)
    const other = await openOtherStore(fixture)
    let otherLease: unknown = null
    const store = pauseAfterRead(fixture.store, async () => {
      otherLease = await acquireFeedLease(other, feedId, 'other')
      await finish(other, feedId)
    })
    expect(await acquireFeedLease(store, feedId, 'first')).toBeNull()
    expect(otherLease).not.toBeNull()
    expect(await extendFeedLease(other, feedId, 'first')).toBe(false)
  })
})

describe('lease of a running attempt', () => {
  it.each([
    ['running process', createLeaseOwner(), true],
    ['another machine', OTHER_MACHINE_OWNER, true],
    ['process that has exited', EXITED_OWNER, false],
  ])('%s - another process is refused: %s %s', async (_, owner, isRefused) => {
    const { feedId, store } = await openFeed()
    await acquireFeedLease(store, feedId, owner)
    expect((await findAttempt(store, feedId))?.isRunning).toBe(isRefused)
    expect((await acquireFeedLease(store, feedId, createLeaseOwner())) === null).toBe(isRefused)
  })

  it('another machine - is replaced when its last extension expires, and not before', async () => {
    const { feedId, store, clock } = await openFeed(openSqliteTestStore)
    await acquireFeedLease(store, feedId, OTHER_MACHINE_OWNER)
    clock.advance(FEED_LEASE_MS - 1)
    expect(await extendFeedLease(store, feedId, OTHER_MACHINE_OWNER)).toBe(true)
    clock.advance(FEED_LEASE_MS - 1)
    expect(await acquireFeedLease(store, feedId, 'next')).toBeNull()
    clock.advance(1)
    expect(await acquireFeedLease(store, feedId, 'next')).toMatchObject({ previous: { failureCount: 1 } })
    expect(await extendFeedLease(store, feedId, OTHER_MACHINE_OWNER)).toBe(false)
  })

  it('expired, extended between read and write of another process - is kept', async () => {
    const { feedId, ...fixture } = await openFeed()
    await acquireFeedLease(fixture.store, feedId, OTHER_MACHINE_OWNER)
    await expireLease(fixture.store)
    const other = await openOtherStore(fixture)
    const store = pauseAfterRead(fixture.store, () => extendFeedLease(other, feedId, OTHER_MACHINE_OWNER))
    expect(await acquireFeedLease(store, feedId, 'next')).toBeNull()
    expect(await extendFeedLease(other, feedId, OTHER_MACHINE_OWNER)).toBe(true)
  })

  it('lost - the former owner can neither extend, finish nor cancel', async () => {
    const { feedId, store } = await openFeed()
    await acquireFeedLease(store, feedId, 'first')
    await expireLease(store)
    await acquireFeedLease(store, feedId, 'second')
    const attempt = await findAttempt(store, feedId)
    expect(await extendFeedLease(store, feedId, 'first')).toBe(false)
    await finishFeedAttempt(store, feedId, { owner: 'first', failure: null })
    await cancelFeedAttempt(store, feedId, { owner: 'first', previous: undefined })
    expect(await findAttempt(store, feedId)).toEqual(attempt)
    expect(attempt).toMatchObject({ isRunning: true, failureCount: 2 })
  })

  it('clock set back by a day, SQLite - the lease can be acquired at once', async () => {
    const { feedId, store, clock } = await openFeed(openSqliteTestStore)
    await acquireFeedLease(store, feedId, OTHER_MACHINE_OWNER)
    clock.step(-24 * HOUR_MS)
    expect((await findAttempt(store, feedId))?.isRunning).toBe(false)
    expect(await acquireFeedLease(store, feedId, 'next')).not.toBeNull()
    expect((await findAttempt(store, feedId))?.attemptedAtMs).toBe(clock.nowMs())
  })
})

describe('run whose lease was taken over', () => {
  it('download in progress - is stopped, changes nothing, and leaves the lease to its new owner', async () => {
    const fixture = await startFeed(send(createTable(3)))
    const { server, clock, store, feedId } = fixture
    await runTestFeed(fixture, feedId)
    const before = await dumpCatalog(store)
    let closed: Promise<unknown> | undefined
    server.respond = (_request, response) => {
      closed = once(response, 'close')
      response.writeHead(200).write('gtin,')
    }
    const failure = runTestFeed(fixture, feedId).catch((error: unknown) => error)
    await vi.waitFor(() => expect(closed).toBeDefined())
    await expireLease(store)
    expect(await acquireFeedLease(await openOtherStore(fixture), feedId, 'next')).not.toBeNull()
    clock.advance(FEED_LEASE_MS / 4)
    expect(await failure).toMatchObject({ message: 'the run was stopped' })
    await closed
    expect(await extendFeedLease(store, feedId, 'next')).toBe(true)
    expect(await findAttempt(store, feedId)).toMatchObject({ isRunning: true })
    expect(await dumpCatalog(store)).toBe(before)
    expect(clock.pendingWaits).toBe(0)
  })

  it('slow run whose lease nobody takes - keeps it for longer than one lease', async () => {
    const fixture = await openSqliteTestStore()
    let finish: (() => void) | undefined
    const { url } = await startFeedServer((request, response) => {
      finish = () => send(createTable(3))(request, response)
    })
    const feedId = await addFeed(fixture, { url })
    const run = runTestFeed(fixture, feedId)
    await vi.waitFor(() => expect(finish).toBeDefined())
    for (let extensions = 1; extensions <= 8; extensions += 1) {
      fixture.clock.advance(FEED_LEASE_MS / 4)
      const untilMs = fixture.clock.nowMs() + FEED_LEASE_MS
      await vi.waitFor(async () =>
        expect((await findAttempt(fixture.store, feedId))?.leaseUntilMs).toBe(untilMs),
      )
    }
    expect(await acquireFeedLease(fixture.store, feedId, 'next')).toBeNull()
    finish?.()
    expect(await run).toMatchObject({ kind: 'imported' })
    expect(await findAttempt(fixture.store, feedId)).toMatchObject({ isRunning: false, leaseUntilMs: 0 })
  })
})

describe('result of an attempt', () => {
  it('interrupted - counts as failed, and its successor increments the count', async () => {
    const { feedId, ...fixture } = await openFeed()
    const { store } = fixture
    await acquireFeedLease(store, feedId, EXITED_OWNER)
    expect(await findAttempt(store, feedId)).toMatchObject({
      failureCount: 1,
      errorCode: 'VITRINE_IMPORT_FAILED',
      error: 'the run was interrupted before its end',
      isRunning: false,
    })
    expect(await getState(fixture)).toMatchObject({ status: 'failed', error: expect.any(String) as string })
    await acquireFeedLease(store, feedId, 'next')
    await finishFeedAttempt(store, feedId, { owner: 'next', failure: FETCH_FAILURE })
    expect(await findAttempt(store, feedId)).toMatchObject({ failureCount: 2, error: 'no' })
    await acquireFeedLease(store, feedId, 'next')
    await finishFeedAttempt(store, feedId, { owner: 'next', failure: null })
    expect(await findAttempt(store, feedId)).toMatchObject({ failureCount: 0, errorCode: null, error: null })
  })

  it.each(Object.entries(PREVIOUS))('cancelled after: %s - leaves what was there', async (_, prepare) => {
    const { feedId, store, clock } = await openFeed()
    await prepare(store, feedId)
    const before = await findAttempt(store, feedId)
    clock.advance(MINUTE_MS)
    const lease = await acquireFeedLease(store, feedId, 'next')
    expect(lease?.previous).toEqual(before)
    await cancelFeedAttempt(store, feedId, { owner: 'next', previous: lease?.previous })
    expect(await findAttempt(store, feedId)).toEqual(
      before && { ...before, leaseUntilMs: 0, isRunning: false },
    )
  })

  it('feed that is not due any more - is not fetched, and its last attempt stays', async () => {
    const fixture = await startFeed()
    await runTestFeed(fixture, fixture.feedId)
    const before = await findAttempt(fixture.store, fixture.feedId)
    fixture.clock.advance(MINUTE_MS)
    const isDue = vi.fn<() => Promise<boolean>>().mockResolvedValue(false)
    expect(await runTestFeed(fixture, fixture.feedId, { isDue })).toEqual({ kind: 'skipped' })
    expect(isDue).toHaveBeenCalledWith(before)
    expect(await findAttempt(fixture.store, fixture.feedId)).toEqual(before)
    expect(fixture.server.requests).toHaveLength(1)
  })

  it('removed attempts - are absent; those of other feeds stay', async () => {
    const { feedId, store } = await openFeed()
    await acquireFeedLease(store, feedId, 'one')
    await acquireFeedLease(store, feedId + 1, 'one')
    await removeFeedAttempts(store, [])
    await removeFeedAttempts(store, [feedId])
    expect([...(await fetchFeedAttempts(store)).keys()]).toEqual([feedId + 1])
    expect(await extendFeedLease(store, feedId, 'one')).toBe(false)
  })

  it('attempt that fails for an unexpected reason - is recorded without its message', async () => {
    const fixture = await startFeed()
    const unexpected = new Error('do-not-tell')
    const onDownload = (): never => {
      throw unexpected
    }
    await expect(runTestFeed(fixture, fixture.feedId, { onDownload })).rejects.toThrow('cannot be fetched')
    const { rows } = await sql`select * from feed_attempts`.execute(await getUsage(fixture.store))
    expect(rows).toMatchObject([{ failure_count: 1, lease_owner: null, lease_until_ms: 0 }])
    expect(JSON.stringify(rows)).not.toContain('do-not-tell')
  })
})

describe('next run', () => {
  const FEED = { url: 'https://feeds.example/', everySeconds: HOUR_SECONDS, channelId: 'c', createdAtMs: 7 }
  const next = (failureCount: number, errorCode: string | null = null, feed: Partial<Feed> = {}) =>
    computeNextRunMs({ ...FEED, ...feed } as Feed, {
      attemptedAtMs: 1_000,
      failureCount,
      errorCode,
      retryAtMs: null,
      error: errorCode,
      leaseUntilMs: 0,
      isRunning: false,
    })

  it('before the first attempt - is due when it was created', () => {
    expect(computeNextRunMs(FEED as Feed, undefined)).toBe(7)
  })

  it.each([
    [0, 60],
    [1, 1],
    [2, 2],
    [3, 4],
    [6, 32],
    [7, 60],
    [2_000, 60],
  ])('%i failures in a row - after %i minutes', (failureCount, minutes) => {
    expect(next(failureCount, FETCH_FAILURE.code)).toBe(1_000 + minutes * MINUTE_MS)
  })

  it('held - after the interval, whatever the number of failures', () => {
    for (const count of [1, 2, 9]) expect(next(count, HELD_FAILURE.code)).toBe(1_000 + HOUR_MS)
  })

  it('interval shorter than the wait after a failure - after the interval', () => {
    expect(next(1, FETCH_FAILURE.code, { everySeconds: 30 })).toBe(31_000)
  })

  it.each([{ url: null }, { everySeconds: null }, { channelId: null }])('%o - never', (feed) => {
    expect(next(0, null, feed)).toBeNull()
    expect(next(1, FETCH_FAILURE.code, feed)).toBeNull()
    expect(computeNextRunMs({ ...FEED, ...feed } as Feed, undefined)).toBeNull()
  })

  it('quiet - after more than two intervals without a successful run', async () => {
    const { feedId, store, clock } = await openFeed()
    const find = async (change: Partial<Feed> = {}): Promise<boolean> => {
      const feed = await findFeedById(await getReader(store), feedId)
      return isFeedQuiet({ ...feed, url: 'https://feeds.example/', ...change } as Feed, clock)
    }
    clock.advance(2 * HOUR_MS)
    expect(await find()).toBe(false)
    clock.advance(1)
    expect(await find()).toBe(true)
    expect(await find({ fetchedAtMs: clock.nowMs() })).toBe(false)
    expect(await find({ url: null })).toBe(false)
    expect(await find({ everySeconds: null })).toBe(false)
  })

  const QUIET_AFTER_MS = 2 * HOUR_MS
  it.each([
    ['no attempt', undefined, {}, false],
    ['success before the downtime', { attemptedAtMs: 0, failureCount: 0 }, {}, false],
    ['failure before the downtime', { attemptedAtMs: QUIET_AFTER_MS, failureCount: 1 }, {}, false],
    ['failure after it', { attemptedAtMs: QUIET_AFTER_MS + 1, failureCount: 1 }, {}, true],
    ['running, no failure', { attemptedAtMs: DAY_MS, failureCount: 1, isRunning: true }, {}, false],
    ['running after a failure', { attemptedAtMs: DAY_MS, failureCount: 2, isRunning: true }, {}, true],
    ['cannot run', { attemptedAtMs: 0, failureCount: 0 }, { channelId: null }, true],
    ['not quiet', { attemptedAtMs: DAY_MS, failureCount: 1 }, { fetchedAtMs: DAY_MS }, false],
  ])('stale - %s', (_, attempt, change, isStale) => {
    const feed = { ...FEED, createdAtMs: 0, fetchedAtMs: 0, ...change } as Feed
    const last = attempt && ({ isRunning: false, ...attempt } as FeedAttempt)
    expect(isFeedStale(feed, last, createFakeClock(DAY_MS))).toBe(isStale)
  })
})
