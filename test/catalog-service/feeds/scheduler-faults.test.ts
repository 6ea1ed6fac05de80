import { sql } from 'kysely'
import { describe, expect, it, vi } from 'vitest'
import { FEED_LEASE_MS, acquireFeedLease } from '../../../src/catalog-service/store/feed-attempts.ts'
import { HOUR_MS, MINUTE_MS } from '../../../src/clock.ts'
import { Secret } from '../../../src/config/secrets.ts'
import { openSqliteTestStore } from '../harness.ts'
import { createTable, getState } from './feed-fixture.ts'
import { send } from './feed-server.ts'
import {
  EXITED_OWNER,
  INTERVAL_MS,
  OTHER_MACHINE_OWNER,
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
  waitUntilIdleAfterSteps,
} from './scheduler-fixture.ts'
import { getUsage } from '../store-handles.ts'

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
    await acquireFeedLease(scenario.store, feedId, OTHER_MACHINE_OWNER)
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

  it('clock set back during the run - another process that takes over ends that run', async () => {
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
    const nextId = await addScheduled(scenario, 'other')
    const scheduler = startScheduler(scenario)
    await vi.waitFor(() => expect(slow.closed).toBeDefined())
    await scheduler.stop()
    await slow.closed
    // The attempt is as if it had not begun: the feed is due at the next start.
    expect(await findAttempt(scenario, feedId)).toBeUndefined()
    expect(await findAttempt(scenario, nextId)).toBeUndefined()
    expect(scenario.server.requests).toHaveLength(1)
    expect(scenario.clock.pendingWaits).toBe(0)
    expect(scenario.logs).toEqual([])
    // The next process runs it at once.
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
    const rename = async (from: string, to: string): Promise<unknown> =>
      sql`alter table ${sql.table(from)} rename to ${sql.table(to)}`.execute(await getUsage(store))
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
    const onRun = vi.fn<() => void>()
    await addScheduled(scenario, 'feed', { url: `${server.url}/\${TOKEN}?key=\${TOKEN}` })
    startScheduler(scenario, { secrets, onRun })
    await waitUntilIdle(scenario)
    await advance(scenario, INTERVAL_MS)
    // A walk also finds out that the prices are current.
    expect(onRun).toHaveBeenCalledTimes(2)
    server.respond = send(`${createTable(2)}1,No price,https://shop.example/,in_stock,\n`)
    await advance(scenario, INTERVAL_MS)
    expect(onRun).toHaveBeenCalledTimes(3)
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
        fields: {
          feed: 'feed',
          products: 3,
          offers: 3,
          removedOffers: 0,
          rejected: 0,
          leftOutPictures: 0,
          durationMs: 0,
        },
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
          leftOutPictures: 0,
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
        fields: {
          ...failure,
          reason: expect.stringContaining('the connection was closed before the end') as string,
        },
      },
    ])
    expect(JSON.stringify(logs)).not.toContain('do-not-tell')
    expect(clock.pendingDelaysMs).toEqual([POLL_MS])
  })
})
