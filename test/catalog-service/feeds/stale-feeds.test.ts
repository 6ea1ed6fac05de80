import { expect, test, vi } from 'vitest'
import { readFeedReport } from '../../../src/catalog-service/feeds/feed-warnings.ts'
import { DAY_MS, HOUR_MS } from '../../../src/clock.ts'
import type { Demo } from '../../../src/context.ts'
import { startHarness, stockCatalog } from '../../app/app-client.ts'
import type { Harness } from '../../helpers/harness.ts'
import { openSqliteTestStore } from '../harness.ts'
import { PRICE_MAX_AGE, createTable, getState } from './feed-fixture.ts'
import { type FeedHandler, send } from './feed-server.ts'
import {
  INTERVAL_MS,
  addScheduled,
  advance,
  createScenario,
  createSlowResponse,
  startScheduler,
  waitUntilIdle,
} from './scheduler-fixture.ts'

const FEEDS = ['a', 'b', 'c']

const fail: FeedHandler = (_request, response) => void response.writeHead(503).end()

async function start() {
  const scenario = await createScenario(send(createTable(3)), openSqliteTestStore)
  for (const name of FEEDS) await addScheduled(scenario, name)
  const readFeeds = () => readFeedReport(scenario.store, { ...PRICE_MAX_AGE, hasWarnings: false })
  const harness = await startHarness({ over: { demo: { readFeeds } as unknown as Demo } })
  await stockCatalog(harness)
  return { scenario, harness }
}

/** Walk, and return the stale feeds that were reported so far. */
async function walk({ clock, context }: Harness): Promise<readonly string[]> {
  clock.advance(HOUR_MS)
  await context.walks.runNow()
  const events = await context.store.listEvents(100)
  return events.map(({ details }) => ('feed' in details ? details.feed : details.type))
}

test('start after a day - feeds that have not run yet make no event; one that then fails makes one', async () => {
  const { scenario, harness } = await start()
  const { server, clock, schedulers } = scenario
  const before = startScheduler(scenario)
  await waitUntilIdle(scenario)
  await walk(harness)
  await before.stop()
  schedulers.length = 0
  clock.advance(DAY_MS)
  expect(await walk(harness)).toEqual([])

  const slow = createSlowResponse(createTable(3))
  let isFailing = false
  server.respond = (request, response) => {
    if (request.url === '/b' && slow.closed === undefined) return slow.respond(request, response)
    return (isFailing && request.url === '/c' ? fail : send(createTable(3)))(request, response)
  }
  let firstWalk: Promise<readonly string[]> | undefined
  startScheduler(scenario, { onRun: () => void (firstWalk ??= walk(harness)) })
  await vi.waitFor(() => expect(slow.closed).toBeDefined())
  const states = await Promise.all(FEEDS.map((name) => getState(scenario, name)))
  expect(states).toMatchObject([
    { status: 'ok', isQuiet: false },
    { status: 'running', isQuiet: true },
    { status: 'ok', isQuiet: true },
  ])
  expect(await firstWalk).toEqual([])
  slow.finish()
  await waitUntilIdle(scenario)

  isFailing = true
  await advance(scenario, 2 * INTERVAL_MS)
  expect(await walk(harness)).toEqual([])
  await advance(scenario, INTERVAL_MS)
  expect(await walk(harness)).toEqual(['c'])
  await advance(scenario, INTERVAL_MS)
  expect(await walk(harness)).toEqual(['c'])
})
