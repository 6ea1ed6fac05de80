import { describe, expect, it, vi } from 'vitest'
import { FEED_LEASE_MS, removeFeedAttempts } from '../../../src/catalog-service/store/feed-attempts.ts'
import { removeFeed, updateFeed } from '../../../src/catalog-service/store/feeds.ts'
import { DAY_MS, MINUTE_MS, MINUTE_SECONDS } from '../../../src/clock.ts'
import { StoreError } from '../../../src/errors.ts'
import { fetchProducts } from '../harness.ts'
import { CHANNEL, createTable, getState } from './feed-fixture.ts'
import { send, sendVersion, startFeedServer } from './feed-server.ts'
import {
  INTERVAL_MS,
  POLL_MS,
  addScheduled,
  advance,
  countRequests,
  createScenario,
  createSlowResponse,
  findAttempt,
  startOther,
  startScheduler,
  waitUntilIdle,
} from './scheduler-fixture.ts'

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

  it('slow host - delays its own feeds, not those of other hosts', async () => {
    const slow = createSlowResponse(createTable(1))
    const scenario = await createScenario((request, response) =>
      (request.url === '/slow' ? slow.respond : send(createTable(2)))(request, response),
    )
    const other = await startFeedServer(send(createTable(3)))
    await addScheduled(scenario, 'slow', { createdAtMs: 1 })
    await addScheduled(scenario, 'next', { createdAtMs: 2 })
    await addScheduled(scenario, 'other', { url: `${other.url}/other`, createdAtMs: 3 })
    startScheduler(scenario)
    await vi.waitFor(() => expect(scenario.logs).toMatchObject([{ fields: { feed: 'other' } }]))
    expect(scenario.server.requests.map(({ url }) => url)).toEqual(['/slow'])
    // Without another look at the schedule.
    slow.finish()
    await waitUntilIdle(scenario)
    expect(scenario.logs.map(({ fields }) => fields['feed'])).toEqual(['other', 'slow', 'next'])
  })

  it('many hosts - four at once', async () => {
    const scenario = await createScenario()
    const servers = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const slow = createSlowResponse(createTable(1))
        return { slow, server: await startFeedServer(slow.respond) }
      }),
    )
    for (const [index, { server }] of servers.entries())
      await addScheduled(scenario, `feed-${index}`, { url: server.url, createdAtMs: index })
    startScheduler(scenario)
    const countStarted = (): number => servers.filter(({ server }) => server.requests.length > 0).length
    await vi.waitFor(() => expect(countStarted()).toBe(4))
    servers[0]?.slow.finish()
    await vi.waitFor(() => expect(countStarted()).toBe(5))
    for (const { slow } of servers.slice(1, 5)) slow.finish()
    await vi.waitFor(() => expect(countStarted()).toBe(6))
    servers[5]?.slow.finish()
    await waitUntilIdle(scenario)
    expect(scenario.logs.filter(({ message }) => message === 'feed imported')).toHaveLength(6)
  })

  it('stopped while the schedule is read - no run starts', async () => {
    const scenario = await createScenario()
    for (let index = 0; index < 6; index += 1) await addScheduled(scenario, `feed-${index}`)
    const scheduler = startScheduler(scenario)
    await scheduler.stop()
    expect(scenario.server.requests).toEqual([])
  })

  it('stopped during runs - those that wait do not start', async () => {
    const slow = createSlowResponse(createTable(1))
    const scenario = await createScenario(slow.respond)
    for (const index of [1, 2, 3]) await addScheduled(scenario, `feed-${index}`, { createdAtMs: index })
    const scheduler = startScheduler(scenario)
    await vi.waitFor(() => expect(slow.closed).toBeDefined())
    await scheduler.stop()
    expect(scenario.server.requests.map(({ url }) => url)).toEqual(['/feed-1'])
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
    server.respond = send(createTable(1))
    slow.finish()
    await waitUntilIdle(scenario)
    const counts = ['a', 'b', 'c'].map((name) => countRequests(scenario, name))
    expect(counts).toEqual([2, 1, 1])
    expect(await findAttempt(scenario, removed)).toBeUndefined()
    expect(scenario.logs.filter(({ level }) => level !== 'info')).toEqual([])
    await advance(scenario, INTERVAL_MS)
    expect(countRequests(scenario, 'c')).toBe(2)
  })

  it('database that fails - the log has the remedy', async () => {
    const scenario = await createScenario()
    await addScheduled(scenario)
    const error = new StoreError('Cannot open the database', { remedy: 'Mount it with write access.' })
    startScheduler(scenario, { runFeed: () => Promise.reject(error) })
    await vi.waitFor(() =>
      expect(scenario.logs).toMatchObject([
        {
          message: 'feed run failed',
          fields: { reason: 'Cannot open the database. Mount it with write access.' },
        },
      ]),
    )
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

  it.each([
    ['429', '1800', 30],
    ['503, in the past', '0', 1],
    ['503, for two hours', '7200', 120],
  ])('as long as the server asks: %s', async (status, retryAfter, minutes) => {
    const scenario = await createScenario(
      send('', { 'retry-after': retryAfter }, Number.parseInt(status, 10)),
    )
    await addScheduled(scenario)
    startScheduler(scenario)
    await waitUntilIdle(scenario)
    scenario.server.respond = send(createTable(3))
    await advance(scenario, minutes * MINUTE_MS - POLL_MS)
    expect(countRequests(scenario)).toBe(1)
    await advance(scenario, POLL_MS)
    expect(countRequests(scenario)).toBe(2)
    expect(await getState(scenario)).toMatchObject({ status: 'ok' })
  })

  it('server that asks for a year - a day', async () => {
    const scenario = await createScenario(send('', { 'retry-after': String(365 * 86_400) }, 503))
    const feedId = await addScheduled(scenario)
    startScheduler(scenario)
    await waitUntilIdle(scenario)
    const attempt = await findAttempt(scenario, feedId)
    expect((attempt?.retryAtMs ?? 0) - (attempt?.attemptedAtMs ?? 0)).toBe(DAY_MS)
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
})
