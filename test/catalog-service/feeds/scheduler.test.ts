import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { sql } from 'kysely'
import { describe, expect, it, vi } from 'vitest'
import type { FeedSecrets } from '../../../src/catalog-service/feeds/feed-address.ts'
import {
  type FeedScheduler,
  isFeedDue,
  startFeedScheduler,
} from '../../../src/catalog-service/feeds/scheduler.ts'
import type { CatalogStore } from '../../../src/catalog-service/store/catalog-store.ts'
import {
  FEED_LEASE_MS,
  acquireFeedLease,
  fetchFeedAttempts,
  removeFeedAttempts,
} from '../../../src/catalog-service/store/feed-attempts.ts'
import { type NewFeed, removeFeed, updateFeed } from '../../../src/catalog-service/store/feeds.ts'
import { openCatalogStore } from '../../../src/catalog-service/store/open-store.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, MINUTE_SECONDS, SECOND_MS } from '../../../src/clock.ts'
import { Secret } from '../../../src/config/secrets.ts'
import { createLeaseOwner } from '../../../src/database/lease-owner.ts'
import { addCleanup } from '../../helpers/cleanup.ts'
import { type StoreUnderTest, fetchProducts, openSqliteTestStore, openTestStore } from '../harness.ts'
import { CHANNEL, addFeed, createTable, getState, runTestFeed } from './feed-fixture.ts'
import { type FeedHandler, type FeedServer, send, sendVersion, startFeedServer } from './feed-server.ts'

const POLL_MS = 15 * SECOND_MS
/** The interval of the feeds. */
const INTERVAL_MS = 10 * MINUTE_MS
const EVERY = { everySeconds: 10 * MINUTE_SECONDS } as const

const MACHINE = createLeaseOwner().split(' ').slice(2).join(' ')
const EXITED_OWNER = `x ${spawnSync(process.execPath, ['-e', '']).pid} ${MACHINE}`

type LogLine = Readonly<{ level: string; message: string; fields: Readonly<Record<string, unknown>> }>

type Scenario = StoreUnderTest &
  Readonly<{ server: FeedServer; schedulers: FeedScheduler[]; logs: LogLine[] }>

async function createScenario(
  respond: FeedHandler = send(createTable(3)),
  open: () => Promise<StoreUnderTest> = openTestStore,
): Promise<Scenario> {
  const server = await startFeedServer(respond)
  return { ...(await open()), server, schedulers: [], logs: [] }
}

/** Add a feed whose path is its name. */
const addScheduled = (scenario: Scenario, name = 'feed', change: Partial<NewFeed> = {}): Promise<number> =>
  addFeed(scenario, { name, url: `${scenario.server.url}/${name}`, ...EVERY, ...change })

type SchedulerChange = Readonly<{ store?: CatalogStore; secrets?: FeedSecrets; onImported?: () => void }>

/** Start a scheduler whose runs read the schedule again, as those in a thread do. */
function startScheduler(
  scenario: Scenario,
  { store = scenario.store, secrets = new Map(), onImported }: SchedulerChange = {},
): FeedScheduler {
  const owner = createLeaseOwner()
  const log =
    (level: string) =>
    (fields: object, message: string): void =>
      void scenario.logs.push({ level, message, fields: { ...fields } })
  const scheduler = startFeedScheduler({
    store,
    logger: { info: log('info'), warn: log('warn'), error: log('error') },
    runFeed: (feedId, signal) =>
      runTestFeed({ store, folder: scenario.folder }, feedId, {
        owner,
        secrets,
        signal,
        isDue: (previous) => isFeedDue(store, previous, feedId),
      }),
    onImported,
  })
  scenario.schedulers.push(scheduler)
  addCleanup(() => scheduler.stop())
  return scheduler
}

/** Start a scheduler with its own connections to the catalog, as another process. */
async function startOther(scenario: Scenario): Promise<FeedScheduler> {
  const { database, clock } = scenario
  const store = await openCatalogStore({ database, clock })
  addCleanup(() => store.close())
  return startScheduler(scenario, { store })
}

/** Wait until all schedulers wait for the next poll. A run has a timer of its own. */
async function waitUntilIdle({ clock, schedulers }: Scenario): Promise<void> {
  await vi.waitFor(() => expect(clock.pendingDelaysMs).toEqual(schedulers.map(() => POLL_MS)), {
    interval: 1,
  })
}

/** Advance the clock from poll to poll. */
async function advance(scenario: Scenario, byMs: number): Promise<void> {
  await waitUntilIdle(scenario)
  for (let passedMs = 0; passedMs < byMs; passedMs += POLL_MS) {
    scenario.clock.advance(POLL_MS)
    await waitUntilIdle(scenario)
  }
}

const countRequests = ({ server }: Scenario, name = 'feed'): number =>
  server.requests.filter(({ url }) => url === `/${name}`).length

async function findAttempt({ store }: Scenario, feedId: number) {
  return (await fetchFeedAttempts(store)).get(feedId)
}

/** Start a response that does not end. `finish` ends it. */
function createSlowResponse(body: string) {
  const slow = {
    /** Resolves when the client has gone. */
    closed: undefined as Promise<unknown> | undefined,
    finish: () => {},
    respond: ((_request, response) => {
      slow.closed = once(response, 'close')
      slow.finish = () => void response.end(body.slice(1))
      response.writeHead(200, { 'content-length': Buffer.byteLength(body) }).write(body.slice(0, 1))
    }) as FeedHandler,
  }
  return slow
}

describe('due feeds', () => {
  it('two processes on one catalog - fetch each feed once an interval', async () => {
    const scenario = await createScenario(sendVersion(createTable(3), { etag: '"1"' }))
    const names = ['one', 'two', 'three']
    for (const name of names) await addScheduled(scenario, name)
    startScheduler(scenario)
    await startOther(scenario)
    await waitUntilIdle(scenario)
    for (let intervals = 1; intervals <= 4; intervals += 1) {
      expect(names.map((name) => countRequests(scenario, name))).toEqual([intervals, intervals, intervals])
      await advance(scenario, INTERVAL_MS - POLL_MS)
      expect(scenario.server.requests).toHaveLength(3 * intervals)
      await advance(scenario, POLL_MS)
    }
    expect(scenario.logs.map(({ message }) => message).toSorted()).toEqual([
      ...Array.from({ length: 12 }, () => 'feed has not changed'),
      ...Array.from({ length: 3 }, () => 'feed imported'),
    ])
  })

  it('several - the one that waits longest is first', async () => {
    const scenario = await createScenario()
    await addScheduled(scenario, 'a', { createdAtMs: 3 })
    await addScheduled(scenario, 'b', { createdAtMs: 1 })
    await addScheduled(scenario, 'c', { createdAtMs: 2 })
    startScheduler(scenario)
    await waitUntilIdle(scenario)
    expect(scenario.server.requests.map(({ url }) => url)).toEqual(['/b', '/c', '/a'])
  })

  it('added while the scheduler runs - is fetched at the next poll', async () => {
    const scenario = await createScenario()
    startScheduler(scenario)
    await waitUntilIdle(scenario)
    await addScheduled(scenario)
    expect(scenario.server.requests).toEqual([])
    await advance(scenario, POLL_MS)
    expect(countRequests(scenario)).toBe(1)
    expect(await fetchProducts(scenario, CHANNEL)).toHaveLength(3)
  })

  it.each([
    ['schedule', { everySeconds: null }],
    ['address', { url: null }],
  ])('without %s - never run, and leave no attempt', async (_, change) => {
    const scenario = await createScenario()
    const feedId = await addScheduled(scenario, 'feed', change)
    await addScheduled(scenario, 'other')
    startScheduler(scenario)
    await advance(scenario, 2 * INTERVAL_MS)
    expect(countRequests(scenario)).toBe(0)
    expect(countRequests(scenario, 'other')).toBe(3)
    expect(await findAttempt(scenario, feedId)).toBeUndefined()
  })

  it('channel removed - does not run until it has another one', async () => {
    const scenario = await createScenario()
    const feedId = await addScheduled(scenario)
    await scenario.store.write((database) => updateFeed(database, feedId, { channelId: null }))
    startScheduler(scenario)
    await advance(scenario, INTERVAL_MS)
    expect(countRequests(scenario)).toBe(0)
    await scenario.store.write((database) => updateFeed(database, feedId, { channelId: CHANNEL }))
    await advance(scenario, POLL_MS)
    expect(countRequests(scenario)).toBe(1)
    expect(scenario.logs).toMatchObject([{ message: 'feed imported' }])
  })

  it('removed, or given a longer interval, after the schedule was read - is not fetched', async () => {
    const slow = createSlowResponse(createTable(1))
    const scenario = await createScenario()
    const { server, store } = scenario
    await addScheduled(scenario, 'a', { createdAtMs: 1 })
    const [removed, changed] = [await addScheduled(scenario, 'b'), await addScheduled(scenario, 'c')]
    startScheduler(scenario)
    await advance(scenario, INTERVAL_MS - POLL_MS)
    server.respond = (request, response) =>
      (request.url === '/a' ? slow.respond : send(createTable(1)))(request, response)
    scenario.clock.advance(POLL_MS)
    await vi.waitFor(() => expect(slow.closed).toBeDefined())
    await store.write((database) => removeFeed(database, removed))
    await removeFeedAttempts(store, [removed])
    await store.write((database) => updateFeed(database, changed, { everySeconds: 20 * MINUTE_SECONDS }))
    slow.finish()
    await waitUntilIdle(scenario)
    const counts = ['a', 'b', 'c'].map((name) => countRequests(scenario, name))
    expect(counts).toEqual([2, 1, 1])
    expect(await findAttempt(scenario, removed)).toBeUndefined()
    expect(scenario.logs.filter(({ level }) => level !== 'info')).toEqual([])
    await advance(scenario, INTERVAL_MS)
    expect(countRequests(scenario, 'c')).toBe(2)
  })

  it('removed during its download - the run ends without an offer, and the others continue', async () => {
    const slow = createSlowResponse(createTable(3))
    const scenario = await createScenario(slow.respond)
    const { server, store, clock } = scenario
    const feedId = await addScheduled(scenario)
    startScheduler(scenario)
    await vi.waitFor(() => expect(slow.closed).toBeDefined())
    await store.write((database) => removeFeed(database, feedId))
    await removeFeedAttempts(store, [feedId])
    server.respond = send(createTable(2))
    await addScheduled(scenario, 'other', { createdAtMs: 1 })
    clock.advance(FEED_LEASE_MS / 4)
    await slow.closed
    await advance(scenario, POLL_MS)
    expect(scenario.logs).toMatchObject([
      { message: 'feed run failed', fields: { feed: 'feed' } },
      { message: 'feed imported', fields: { feed: 'other' } },
    ])
    expect(await fetchProducts(scenario, CHANNEL)).toHaveLength(2)
    expect(await findAttempt(scenario, feedId)).toBeUndefined()
  })
})

describe('lease of another process', () => {
  it('that has exited - the feed runs after the first wait of a failure', async () => {
    const scenario = await createScenario()
    const feedId = await addScheduled(scenario)
    await acquireFeedLease(scenario.store, feedId, EXITED_OWNER)
    startScheduler(scenario)
    await advance(scenario, MINUTE_MS - POLL_MS)
    expect(countRequests(scenario)).toBe(0)
    await advance(scenario, POLL_MS)
    expect(countRequests(scenario)).toBe(1)
    expect(await getState(scenario)).toMatchObject({ status: 'ok' })
  })

  it('on another machine - the feed runs when the lease expires, and not before', async () => {
    const scenario = await createScenario(undefined, openSqliteTestStore)
    const feedId = await addScheduled(scenario)
    await acquireFeedLease(scenario.store, feedId, 'x 1 another-machine')
    startScheduler(scenario)
    await advance(scenario, FEED_LEASE_MS - POLL_MS)
    expect(countRequests(scenario)).toBe(0)
    expect(await getState(scenario)).toMatchObject({ status: 'running' })
    await advance(scenario, POLL_MS)
    expect(countRequests(scenario)).toBe(1)
  })

  it('run in progress - the other process waits for it, however long it takes', async () => {
    const slow = createSlowResponse(createTable(3))
    const scenario = await createScenario(slow.respond, openSqliteTestStore)
    const feedId = await addScheduled(scenario)
    startScheduler(scenario)
    await vi.waitFor(() => expect(slow.closed).toBeDefined())
    await startOther(scenario)
    for (let passedMs = 0; passedMs < 2 * FEED_LEASE_MS; passedMs += POLL_MS) {
      scenario.clock.advance(POLL_MS)
      await vi.waitFor(async () => {
        const { leaseUntilMs = 0 } = (await findAttempt(scenario, feedId)) ?? {}
        expect(leaseUntilMs - scenario.clock.nowMs()).toBeGreaterThan(FEED_LEASE_MS - 2 * POLL_MS)
        expect(scenario.clock.pendingDelaysMs).toContain(POLL_MS)
      })
    }
    slow.finish()
    await waitUntilIdleAfterSteps(scenario)
    expect(scenario.server.requests).toHaveLength(1)
    expect(await getState(scenario)).toMatchObject({ status: 'ok', offers: 3 })
  })
})

/** Wait until the run has ended and both schedulers wait, whatever is left of their waits. */
const waitUntilIdleAfterSteps = ({ clock, schedulers }: Scenario): Promise<void> =>
  vi.waitFor(() => {
    expect(clock.pendingDelaysMs).toHaveLength(schedulers.length)
    expect(Math.max(...clock.pendingDelaysMs)).toBeLessThanOrEqual(POLL_MS)
  })

describe('waits after a failure', () => {
  it('1, 2, 4 and 8 minutes, then the interval; a success resets them', async () => {
    const scenario = await createScenario(send('', {}, 500))
    await addScheduled(scenario)
    startScheduler(scenario)
    await waitUntilIdle(scenario)
    let requests = 1
    for (const minutes of [1, 2, 4, 8, 10, 10]) {
      await advance(scenario, minutes * MINUTE_MS - POLL_MS)
      expect(countRequests(scenario)).toBe(requests)
      await advance(scenario, POLL_MS)
      expect(countRequests(scenario)).toBe((requests += 1))
    }
    scenario.server.respond = send(createTable(3))
    await advance(scenario, INTERVAL_MS)
    expect(await getState(scenario)).toMatchObject({ status: 'ok' })
    scenario.server.respond = send('', {}, 500)
    await advance(scenario, INTERVAL_MS)
    requests = countRequests(scenario)
    await advance(scenario, MINUTE_MS)
    expect(countRequests(scenario)).toBe(requests + 1)
  })

  it('held run - a whole interval', async () => {
    const scenario = await createScenario()
    await addScheduled(scenario)
    startScheduler(scenario)
    await waitUntilIdle(scenario)
    scenario.server.respond = send(createTable(0))
    await advance(scenario, INTERVAL_MS)
    expect(await getState(scenario)).toMatchObject({ status: 'held' })
    await advance(scenario, INTERVAL_MS - POLL_MS)
    expect(countRequests(scenario)).toBe(2)
    await advance(scenario, POLL_MS)
    expect(countRequests(scenario)).toBe(3)
  })

  it('one failing feed - does not delay the others', async () => {
    const scenario = await createScenario((request, response) =>
      send(createTable(1), {}, request.url === '/bad' ? 500 : 200)(request, response),
    )
    await addScheduled(scenario, 'bad', { createdAtMs: 1 })
    await addScheduled(scenario, 'good')
    startScheduler(scenario)
    await advance(scenario, INTERVAL_MS)
    expect(countRequests(scenario, 'bad')).toBe(4)
    expect(countRequests(scenario, 'good')).toBe(2)
  })
})

describe('clock of the machine', () => {
  it('set back by a day - the feed runs at once, then once an interval', async () => {
    const scenario = await createScenario()
    await addScheduled(scenario)
    startScheduler(scenario)
    await waitUntilIdle(scenario)
    scenario.clock.step(-DAY_MS)
    await advance(scenario, POLL_MS)
    expect(countRequests(scenario)).toBe(2)
    await advance(scenario, INTERVAL_MS - POLL_MS)
    expect(countRequests(scenario)).toBe(2)
    await advance(scenario, POLL_MS)
    expect(countRequests(scenario)).toBe(3)
  })

  it('set back by half a minute - the feed waits no longer than that', async () => {
    const scenario = await createScenario()
    await addScheduled(scenario)
    startScheduler(scenario)
    await waitUntilIdle(scenario)
    scenario.clock.step(-MINUTE_MS / 2)
    await advance(scenario, INTERVAL_MS)
    expect(countRequests(scenario)).toBe(1)
    await advance(scenario, MINUTE_MS / 2)
    expect(countRequests(scenario)).toBe(2)
  })

  it('set forward by a day, then back - one more run for each', async () => {
    const scenario = await createScenario()
    await addScheduled(scenario)
    startScheduler(scenario)
    await waitUntilIdle(scenario)
    for (const byMs of [DAY_MS, -DAY_MS]) {
      const before = countRequests(scenario)
      scenario.clock.step(byMs)
      await advance(scenario, INTERVAL_MS - POLL_MS)
      expect(countRequests(scenario)).toBe(before + 1)
    }
  })

  it('set back during a run - another process that takes over ends that run', async () => {
    const slow = createSlowResponse(createTable(3))
    const scenario = await createScenario(slow.respond, openSqliteTestStore)
    await addScheduled(scenario)
    startScheduler(scenario)
    await vi.waitFor(() => expect(slow.closed).toBeDefined())
    scenario.clock.step(-HOUR_MS)
    scenario.server.respond = send(createTable(2))
    await startOther(scenario)
    await vi.waitFor(() => expect(scenario.logs).toMatchObject([{ message: 'feed imported' }]))
    scenario.clock.advance(FEED_LEASE_MS / 4)
    await slow.closed
    await vi.waitFor(() => expect(scenario.logs).toHaveLength(2))
    expect(scenario.logs[1]).toMatchObject({ level: 'warn', fields: { reason: 'the run was stopped' } })
    expect(await getState(scenario)).toMatchObject({ status: 'ok', offers: 2 })
  })
})

describe('stop', () => {
  it('while waiting - ends at once, and runs no feed any more', async () => {
    const scenario = await createScenario()
    const scheduler = startScheduler(scenario)
    await waitUntilIdle(scenario)
    await addScheduled(scenario)
    await scheduler.stop()
    expect(scenario.clock.pendingWaits).toBe(0)
    scenario.clock.advance(INTERVAL_MS)
    expect(scenario.server.requests).toEqual([])
  })

  it('during a download - ends the run and releases its lease; the next feed does not start', async () => {
    const slow = createSlowResponse(createTable(3))
    const scenario = await createScenario(slow.respond)
    const feedId = await addScheduled(scenario, 'feed', { createdAtMs: 1 })
    await addScheduled(scenario, 'other')
    const scheduler = startScheduler(scenario)
    await vi.waitFor(() => expect(slow.closed).toBeDefined())
    await scheduler.stop()
    await slow.closed
    expect(await findAttempt(scenario, feedId)).toMatchObject({
      leaseUntilMs: 0,
      isRunning: false,
      failureCount: 1,
    })
    expect(scenario.server.requests).toHaveLength(1)
    expect(scenario.clock.pendingWaits).toBe(0)
    expect(scenario.logs).toEqual([])
    // The next process runs it after the first wait of a failure.
    scenario.schedulers.pop()
    scenario.server.respond = send(createTable(3))
    await startOther(scenario)
    await advance(scenario, MINUTE_MS)
    expect(await getState(scenario)).toMatchObject({ status: 'ok', offers: 3 })
  })
})

describe('database that is unavailable', () => {
  it('for a while - one line in the log, then feeds run again', async () => {
    const scenario = await createScenario()
    const { store, logs } = scenario
    await addScheduled(scenario)
    startScheduler(scenario)
    await waitUntilIdle(scenario)
    const rename = (from: string, to: string): Promise<unknown> =>
      sql`alter table ${sql.table(from)} rename to ${sql.table(to)}`.execute(store.usage)
    for (let outages = 1; outages <= 2; outages += 1) {
      logs.length = 0
      await rename('feed_attempts', 'feed_attempts_away')
      await advance(scenario, INTERVAL_MS)
      expect(logs).toEqual([
        {
          level: 'error',
          message: 'feeds cannot be read',
          fields: { reason: expect.stringMatching(/\w/) as string },
        },
      ])
      expect(countRequests(scenario)).toBe(outages)
      await rename('feed_attempts_away', 'feed_attempts')
      await advance(scenario, POLL_MS)
      expect(countRequests(scenario)).toBe(outages + 1)
    }
  })
})

describe('log', () => {
  it('import, unchanged, failure - one line each, with the name of the feed and no secret', async () => {
    const scenario = await createScenario(send(createTable(3)))
    const { server, logs, clock } = scenario
    const secrets = new Map([['TOKEN', new Secret('do-not-tell')]])
    const onImported = vi.fn<() => void>()
    await addScheduled(scenario, 'feed', { url: `${server.url}/\${TOKEN}?key=\${TOKEN}` })
    startScheduler(scenario, { secrets, onImported })
    await waitUntilIdle(scenario)
    await advance(scenario, INTERVAL_MS)
    expect(onImported).toHaveBeenCalledTimes(1)
    server.respond = send(`${createTable(2)}1,No price,https://shop.example/,in_stock,\n`)
    await advance(scenario, INTERVAL_MS)
    expect(onImported).toHaveBeenCalledTimes(2)
    server.respond = send('', {}, 403)
    await advance(scenario, INTERVAL_MS)
    server.respond = ({ socket }) => void socket.resetAndDestroy()
    await advance(scenario, MINUTE_MS)
    expect(server.requests.at(-1)?.url).toBe('/do-not-tell?key=do-not-tell')
    const failure = { feed: 'feed', code: 'VITRINE_FEED_FETCH_FAILED' }
    expect(logs).toEqual([
      {
        level: 'info',
        message: 'feed imported',
        fields: { feed: 'feed', products: 3, offers: 3, removedOffers: 0, rejected: 0, durationMs: 0 },
      },
      { level: 'info', message: 'feed has not changed', fields: { feed: 'feed', durationMs: 0 } },
      {
        level: 'info',
        message: 'feed imported',
        fields: {
          feed: 'feed',
          products: 2,
          offers: 2,
          removedOffers: 1,
          rejected: 1,
          rejectsPath: expect.stringMatching(/feed\.rejects$/) as string,
          durationMs: 0,
        },
      },
      {
        level: 'warn',
        message: 'feed run failed',
        fields: { ...failure, reason: expect.stringContaining('responded with status 403') as string },
      },
      {
        level: 'warn',
        message: 'feed run failed',
        fields: { ...failure, reason: expect.stringContaining('the connection was reset') as string },
      },
    ])
    expect(JSON.stringify(logs)).not.toContain('do-not-tell')
    expect(clock.pendingDelaysMs).toEqual([POLL_MS])
  })
})
