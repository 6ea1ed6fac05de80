import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { expect, vi } from 'vitest'
import type { FeedSecrets } from '../../../src/catalog-service/feeds/feed-address.ts'
import {
  type FeedScheduler,
  isFeedDue,
  startFeedScheduler,
} from '../../../src/catalog-service/feeds/scheduler.ts'
import type { CatalogStore } from '../../../src/catalog-service/store/catalog-store.ts'
import { type FeedAttempt, fetchFeedAttempts } from '../../../src/catalog-service/store/feed-attempts.ts'
import type { NewFeed } from '../../../src/catalog-service/store/feeds.ts'
import { openCatalogStore } from '../../../src/catalog-service/store/open-store.ts'
import { MINUTE_MS, MINUTE_SECONDS, SECOND_MS } from '../../../src/clock.ts'
import { createLeaseOwner } from '../../../src/database/leases.ts'
import { addCleanup } from '../../helpers/cleanup.ts'
import { type StoreUnderTest, openTestStore } from '../harness.ts'
import { addFeed, createTable, runTestFeed } from './feed-fixture.ts'
import { type FeedHandler, type FeedServer, send, startFeedServer } from './feed-server.ts'

/** How often the schedule is read. */
export const POLL_MS = 15 * SECOND_MS
/** The interval of the feeds. */
export const INTERVAL_MS = 10 * MINUTE_MS
const EVERY = { everySeconds: 10 * MINUTE_SECONDS } as const

const MACHINE = createLeaseOwner().split(' ').slice(2).join(' ')
export const OTHER_MACHINE_OWNER = 'x 1 another-machine'

/** A process of this machine that has ended. */
export const EXITED_OWNER = `x ${spawnSync(process.execPath, ['-e', '']).pid} ${MACHINE}`

type LogLine = Readonly<{ level: string; message: string; fields: Readonly<Record<string, unknown>> }>

type Scenario = StoreUnderTest &
  Readonly<{ server: FeedServer; schedulers: FeedScheduler[]; logs: LogLine[] }>

export async function createScenario(
  respond: FeedHandler = send(createTable(3)),
  open: () => Promise<StoreUnderTest> = openTestStore,
): Promise<Scenario> {
  const server = await startFeedServer(respond)
  return { ...(await open()), server, schedulers: [], logs: [] }
}

/** Add a feed whose path is its name. */
export const addScheduled = (
  scenario: Scenario,
  name = 'feed',
  change: Partial<NewFeed> = {},
): Promise<number> => addFeed(scenario, { name, url: `${scenario.server.url}/${name}`, ...EVERY, ...change })

type SchedulerChange = Readonly<{
  store?: CatalogStore
  secrets?: FeedSecrets
  onRun?: () => void
  /** Instead of a run. */
  runFeed?: () => Promise<never>
}>

/** Start a scheduler whose runs read the schedule again, as those in a thread do. */
export function startScheduler(
  scenario: Scenario,
  { store = scenario.store, secrets = new Map(), onRun, runFeed }: SchedulerChange = {},
): FeedScheduler {
  const owner = createLeaseOwner()
  const log =
    (level: string) =>
    (fields: object, message: string): void =>
      void scenario.logs.push({ level, message, fields: { ...fields } })
  const scheduler = startFeedScheduler({
    store,
    logger: { info: log('info'), warn: log('warn'), error: log('error') },
    owner,
    runFeed: (feedId, signal) =>
      runFeed?.() ??
      runTestFeed({ store, folder: scenario.folder }, feedId, {
        owner,
        secrets,
        signal,
        isDue: (previous) => isFeedDue(store, previous, feedId),
      }),
    onRun,
  })
  scenario.schedulers.push(scheduler)
  addCleanup(() => scheduler.stop())
  return scheduler
}

/** Open more connections to the catalog, as another process. */
export async function openOtherStore({ database, clock }: StoreUnderTest): Promise<CatalogStore> {
  const store = await openCatalogStore({ database, clock })
  addCleanup(() => store.close())
  return store
}

/** Start a scheduler with its own connections to the catalog, as another process. */
export async function startOther(scenario: Scenario): Promise<FeedScheduler> {
  return startScheduler(scenario, { store: await openOtherStore(scenario) })
}

/** Wait until all schedulers wait for the next poll. A run has a timer of its own. */
export async function waitUntilIdle({ clock, schedulers }: Scenario): Promise<void> {
  await vi.waitFor(() => expect(clock.pendingDelaysMs).toEqual(schedulers.map(() => POLL_MS)), {
    interval: 1,
  })
}

/** Advance the clock from poll to poll. */
export async function advance(scenario: Scenario, byMs: number): Promise<void> {
  await waitUntilIdle(scenario)
  for (let passedMs = 0; passedMs < byMs; passedMs += POLL_MS) {
    scenario.clock.advance(POLL_MS)
    await waitUntilIdle(scenario)
  }
}

export const countRequests = ({ server }: Scenario, name = 'feed'): number =>
  server.requests.filter(({ url }) => url === `/${name}`).length

export async function findAttempt({ store }: Scenario, feedId: number): Promise<FeedAttempt | undefined> {
  return (await fetchFeedAttempts(store)).get(feedId)
}

/** Start a response that does not end. `finish` ends it. */
export function createSlowResponse(body: string) {
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

/** Wait until the run has ended and both schedulers wait, whatever is left of their waits. */
export const waitUntilIdleAfterSteps = ({ clock, schedulers }: Scenario): Promise<void> =>
  vi.waitFor(() => {
    expect(clock.pendingDelaysMs).toHaveLength(schedulers.length)
    expect(Math.max(...clock.pendingDelaysMs)).toBeLessThanOrEqual(POLL_MS)
  })
