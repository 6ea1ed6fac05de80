import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { SECOND_MS, systemClock } from '../../../src/clock.ts'
import { type RunningCommand, makeFolder, makeSettings, startBuilt } from '../../cli/run-cli.ts'
import { CHANNEL_ID, FAKE_KEY } from '../../helpers/fake-catalog.ts'
import { type PostgresServer, type TestDatabase, startPostgres } from '../../helpers/postgres.ts'
import { toGtin } from '../../helpers/products.ts'
import { findFreePort } from '../includes/program.ts'
import { type ReplicaBalancer, startReplicaBalancer } from './replica-balancer.ts'
import { type SlowCatalog, startSlowCatalog } from './slow-catalog.ts'

/** Visits cover part of a catalog of ten slow pages. Each box is visited several times while it is fresh. */
const PAGE_PRODUCTS = 40
const PRODUCTS: number = 10 * PAGE_PRODUCTS
const VISITED_PRODUCTS = 60
const PAGE_MS = 300
const VISIT_EVERY_MS = 40
const FRESH_SECONDS = 5
/** Longer than any cached data stays fresh. */
const OUTAGE_MS: number = (FRESH_SECONDS + 2) * SECOND_MS
/** After this time without a call, none is in progress. Longer than a replica may stall on a busy machine. */
const QUIET_PERIOD_MS: number = 3 * SECOND_MS
const DAILY_LIMIT = 40_000
const LONG_TIMEOUT_PARAMETERS = 'statement_timeout_ms=4000&connect_timeout_ms=4000'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.dispose())

type ReplicaSet = Readonly<{
  ports: readonly number[]
  replicas: Map<number, RunningCommand>
  start(port: number): RunningCommand
}>

async function startReplicaSet(catalog: SlowCatalog, databaseUrl: string, size: number): Promise<ReplicaSet> {
  const ports = await Promise.all(Array.from({ length: size }, findFreePort))
  const replicas = new Map<number, RunningCommand>()
  const start = (port: number): RunningCommand => {
    const replica = startBuilt(['serve', '--json'], {
      ...makeSettings(makeFolder()),
      VITRINE_CATALOG_URL: catalog.url,
      VITRINE_CATALOG_KEY: FAKE_KEY,
      VITRINE_CATALOG_DAILY_LIMIT: String(DAILY_LIMIT),
      VITRINE_DATABASE_URL: databaseUrl,
      VITRINE_FRESH_SECONDS: String(FRESH_SECONDS),
      // Walks of about three seconds, at fixed times of the minute.
      VITRINE_SYNC_CRON: '*/10 * * * * *',
      VITRINE_LOG_LEVEL: 'warn',
      VITRINE_PORT: String(port),
    })
    replicas.set(port, replica)
    return replica
  }
  for (const port of ports) start(port)
  return { ports, replicas, start }
}

/** Find the process that is walking, from its lease. */
async function findWalkerPid(url: string): Promise<number> {
  const [row] = await server.run(
    url,
    `select split_part(lease_owner, ' ', 2) as pid from vitrine_copy.copies
    where lease_owner is not null and running_walk > current_walk and current_walk > 0`,
  )
  return Number(row?.['pid'] ?? 0)
}

/** Count repeated page requests. A page is requested again only if its walker crashed while fetching it. */
function countRepeatedPages(catalog: SlowCatalog): number {
  const pages = catalog.calls.filter(({ kind }) => kind === 'page')
  const walks: string[][] = []
  for (const { subject } of pages) {
    if (subject === '' || walks.length === 0) walks.push([])
    walks.at(-1)?.push(subject)
  }
  return walks.reduce((sum, walk) => sum + walk.length - new Set(walk).size, 0)
}

/** Results of calls in this time are lost or not found: a replica was killed, or the database was away. Unix milliseconds. */
type Loss = Readonly<{ fromMs: number; toMs: number }>

/** A result is stored within this time, also on a busy machine. */
const MAX_STORE_MS: number = 2 * SECOND_MS

/** Find calls for a product whose previous response was still fresh and not lost, and return their ages. */
function findEarlyCallAges(catalog: SlowCatalog, losses: readonly Loss[]): readonly number[] {
  const lastMs = new Map<string, number>()
  const callAgesMs: number[] = []
  for (const { kind, subject, atMs } of catalog.calls) {
    if (kind !== 'product') continue
    const previousMs = lastMs.get(subject) ?? -Infinity
    const isLost = losses.some(({ fromMs, toMs }) => previousMs >= fromMs && previousMs <= toMs)
    if (!isLost && atMs - previousMs < FRESH_SECONDS * SECOND_MS) callAgesMs.push(atMs - previousMs)
    lastMs.set(subject, atMs)
  }
  return callAgesMs
}

async function isDatabaseUnavailable(port: number): Promise<boolean> {
  const { status } = await fetch(`http://127.0.0.1:${port}/readyz?require=database`)
  return status === 503
}

/** Wait until no call is in progress, and return the number of calls. */
async function countSettledCalls({ calls }: SlowCatalog): Promise<number> {
  for (;;) {
    const before = calls.length
    await systemClock.wait(QUIET_PERIOD_MS)
    if (calls.length === before) return before
  }
}

const GRID = `/fragments/${CHANNEL_ID}/deals`
const toBoxPath = (index: number): string => `/fragments/${CHANNEL_ID}/where-to-buy/${toGtin(index)}`

/** Send visits through each load balancer until stopped. */
function startLoad(balancers: readonly ReplicaBalancer[]): { stop(): Promise<void> } {
  const stopController = new AbortController()
  const startedAtMs = Date.now()
  const load = async (): Promise<void> => {
    const pendingVisits = new Set<Promise<void>>()
    // Select by time, not by count, so that the number of calls is comparable on a busy machine.
    for (
      let turn = 0;
      !stopController.signal.aborted;
      turn = Math.floor((Date.now() - startedAtMs) / VISIT_EVERY_MS)
    ) {
      const path = turn % 40 === 0 ? GRID : toBoxPath(turn % VISITED_PRODUCTS)
      for (const balancer of balancers) {
        const visit = balancer.visit(path).finally(() => pendingVisits.delete(visit))
        pendingVisits.add(visit)
      }
      await systemClock.wait(VISIT_EVERY_MS, stopController.signal)
    }
    await Promise.all(pendingVisits)
  }
  const allVisits = load()
  return {
    stop() {
      stopController.abort()
      return allVisits
    },
  }
}

test('three replicas - one killed during its walk, one restarted, database unavailable for longer than prices are fresh - serve without a failure, and call no more than one server', async () => {
  const databases = await Promise.all([
    server.makeDatabase(LONG_TIMEOUT_PARAMETERS),
    server.makeDatabase(LONG_TIMEOUT_PARAMETERS),
  ])
  const [shared, single] = databases
  const size = { products: PRODUCTS, pageProducts: PAGE_PRODUCTS, pageMs: PAGE_MS }
  const [catalog, singleCatalog] = [await startSlowCatalog(size), await startSlowCatalog(size)]
  const replicaSet = await startReplicaSet(catalog, shared.url, 3)
  const singleReplica = await startReplicaSet(singleCatalog, single.url, 1)
  const balancers = [
    startReplicaBalancer(replicaSet.ports),
    startReplicaBalancer(singleReplica.ports),
  ] as const
  const readWalk = async ({ url }: TestDatabase): Promise<number> =>
    Number((await server.run(url, 'select max(current_walk) as walk from vitrine_copy.copies'))[0]?.['walk'])
  const waitForWalks = async (walks: readonly number[]): Promise<void> => {
    for (const [index, walk] of walks.entries())
      await vi.waitFor(async () => expect(await readWalk(databases[index] ?? shared)).toBeGreaterThan(walk), {
        interval: 200,
      })
  }
  await waitForWalks([0, 0])
  await vi.waitFor(() => expect(replicaSet.ports.every(balancers[0].isReady)).toBe(true))
  const load = startLoad(balancers)

  // Kill the walking replica; another one resumes the walk.
  const page = catalog.holdPage(PRODUCTS / 2)
  await vi.waitFor(() => expect(page.isRequested()).toBe(true))
  const pid = await findWalkerPid(shared.url)
  const [killed = 0] = [...replicaSet.replicas].find(([, { child }]) => child.pid === pid) ?? []
  expect(killed).toBeGreaterThan(0)
  const walkBefore = await readWalk(shared)
  process.kill(pid, 'SIGKILL')
  const killedAtMs = Date.now()
  page.release()
  await waitForWalks([walkBefore])
  replicaSet.start(killed)

  // Restart another replica.
  const restarted = replicaSet.ports.find((port) => port !== killed) ?? 0
  await replicaSet.replicas.get(restarted)?.stop('SIGTERM')
  replicaSet.start(restarted)
  await vi.waitFor(() => expect(replicaSet.ports.every(balancers[0].isReady)).toBe(true))
  // Fill the caches of each replica before the database stops.
  await balancers[0].visitEach(GRID)
  for (let index = 0; index < VISITED_PRODUCTS; index += 1) await balancers[0].visitEach(toBoxPath(index))

  const walks = await Promise.all(databases.map(readWalk))
  const stoppedAtMs = Date.now()
  await server.stop('immediate')
  for (const port of replicaSet.ports)
    await vi.waitFor(async () => expect(await isDatabaseUnavailable(port)).toBe(true))
  const callsBeforeOutage = await countSettledCalls(catalog)
  await systemClock.wait(OUTAGE_MS)
  expect(catalog.calls.length - callsBeforeOutage).toBe(0)
  await server.start()
  await vi.waitFor(() => expect(catalog.calls.length).toBeGreaterThan(callsBeforeOutage))
  for (const port of replicaSet.ports)
    await vi.waitFor(async () => expect(await isDatabaseUnavailable(port)).toBe(false))
  const outage = { fromMs: stoppedAtMs - MAX_STORE_MS, toMs: Date.now() }
  await waitForWalks(walks)

  await load.stop()
  expect(balancers[0].failures()).toEqual([])
  expect(Object.keys(balancers[0].states())).toEqual(['200 shown'])
  // Three servers that share nothing would make three times as many calls.
  // Three replicas may reconnect up to two seconds earlier than one, and refresh meanwhile.
  const earlyCalls = (2 * SECOND_MS) / VISIT_EVERY_MS
  expect(catalog.calls.length).toBeLessThanOrEqual(singleCatalog.calls.length * 1.5 + earlyCalls)
  // Two walks were interrupted, by the kill and by the outage. Each repeats its current and its prefetched page.
  expect(countRepeatedPages(catalog)).toBeLessThanOrEqual(4)
  const kill = { fromMs: killedAtMs - MAX_STORE_MS, toMs: killedAtMs }
  // On a busy machine, a replica may not find a result in time, and calls for itself.
  expect(findEarlyCallAges(catalog, [kill, outage]).length).toBeLessThanOrEqual(4)
  expect(catalog.calls.length).toBeLessThan(DAILY_LIMIT)
})
