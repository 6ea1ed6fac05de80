import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { SECOND_MS, systemClock } from '../../../src/clock.ts'
import { type Running, makeFolder, makeSettings, startBuilt } from '../../commands/cli-harness.ts'
import { CHANNEL_ID, FAKE_KEY } from '../../helpers/fake-catalog.ts'
import { type PostgresServer, startPostgres } from '../../helpers/postgres.ts'
import { toGtin } from '../../helpers/products.ts'
import { findFreePort } from '../includes/program.ts'
import { startFront } from './front.ts'
import { type SlowCatalog, startSlowCatalog } from './slow-catalog.ts'

/** Two minutes of visits, to a part of a catalog of ten slow pages. */
const LASTS_MS: number = 120 * SECOND_MS
const PRODUCTS = 2_000
const VISITED = 120
const PAGE_MS = 900
const VISIT_EVERY_MS = 25
const FRESH_SECONDS = 10
const DAILY_LIMIT = 40_000
const PATIENT = 'statement_timeout_ms=4000&connect_timeout_ms=4000'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.dispose())

type Fleet = Readonly<{
  ports: readonly number[]
  replicas: Map<number, Running>
  start(port: number): Running
}>

async function makeFleet(catalog: SlowCatalog, databaseUrl: string, size: number): Promise<Fleet> {
  const ports: number[] = []
  for (let index = 0; index < size; index += 1) ports.push(await findFreePort())
  const replicas = new Map<number, Running>()
  const start = (port: number): Running => {
    const replica = startBuilt(['serve', '--json'], {
      ...makeSettings(makeFolder()),
      VITRINE_CATALOG_URL: catalog.url,
      VITRINE_CATALOG_KEY: FAKE_KEY,
      VITRINE_CATALOG_DAILY_LIMIT: String(DAILY_LIMIT),
      VITRINE_DATABASE_URL: databaseUrl,
      VITRINE_FRESH_SECONDS: String(FRESH_SECONDS),
      // Walks of about ten seconds, at fixed moments of the minute.
      VITRINE_SYNC_CRON: '*/40 * * * * *',
      // A slow machine is no failure here.
      VITRINE_VISITOR_TIMEOUT_MS: '5000',
      VITRINE_LOG_LEVEL: 'warn',
      VITRINE_PORT: String(port),
    })
    replicas.set(port, replica)
    return replica
  }
  for (const port of ports) start(port)
  return { ports, replicas, start }
}

/** Who walks now: the process, as its lease names it. */
async function findWalker(url: string): Promise<number> {
  const [row] = await server.run(
    url,
    `select split_part(lease_owner, ' ', 2) as pid from vitrine_copy.copies
    where lease_owner is not null and running_walk > current_walk and current_walk > 0`,
  )
  return Number(row?.['pid'] ?? 0)
}

/** Pages of a walk come one after the other; one that is asked for again was under way when its walker died. */
function findDoublePages(catalog: SlowCatalog): number {
  const pages = catalog.calls.filter(({ kind }) => kind === 'page')
  const walks: string[][] = []
  for (const { what } of pages) {
    if (what === '' || walks.length === 0) walks.push([])
    walks.at(-1)?.push(what)
  }
  return walks.reduce((sum, walk) => sum + walk.length - new Set(walk).size, 0)
}

/** Calls for a product so soon after another one that its answer was still fresh. */
function findEarly(catalog: SlowCatalog): readonly number[] {
  const lastMs = new Map<string, number>()
  const early: number[] = []
  for (const { kind, what, atMs } of catalog.calls) {
    if (kind !== 'product') continue
    const agoMs = atMs - (lastMs.get(what) ?? -Infinity)
    if (agoMs < FRESH_SECONDS * SECOND_MS) early.push(agoMs)
    lastMs.set(what, atMs)
  }
  return early
}

const GRID = `/fragments/${CHANNEL_ID}/deals`
const toBoxPath = (index: number): string => `/fragments/${CHANNEL_ID}/where-to-buy/${toGtin(index)}`

test('three replicas for two minutes - one killed in its walk, one restarted, the database away for 20 s - serve without a failure, and call no more than one machine', async () => {
  const [shared, single] = [await server.makeDatabase(PATIENT), await server.makeDatabase(PATIENT)]
  const catalogs = [
    await startSlowCatalog({ products: PRODUCTS, pageMs: PAGE_MS }),
    await startSlowCatalog({ products: PRODUCTS, pageMs: PAGE_MS }),
  ] as const
  const fleet = await makeFleet(catalogs[0], shared.url, 3)
  const alone = await makeFleet(catalogs[1], single.url, 1)
  const fronts = [startFront(fleet.ports), startFront(alone.ports)] as const
  const readWalk = async (url: string): Promise<unknown> =>
    (await server.run(url, 'select max(current_walk) as walk from vitrine_copy.copies'))[0]?.['walk']
  for (const { url } of [shared, single])
    await vi.waitFor(async () => expect(await readWalk(url)).toBeGreaterThanOrEqual(1), { timeout: 60_000 })
  await vi.waitFor(() => expect(fleet.ports.every(fronts[0].isReady)).toBe(true))

  const done = new AbortController()
  const load = async (): Promise<void> => {
    const underWay = new Set<Promise<void>>()
    // By time and not by count: a round takes the same on a busy machine, and calls can be compared.
    for (let turn = 0; !done.signal.aborted; turn = Math.floor((Date.now() - beganMs) / VISIT_EVERY_MS)) {
      const deals = turn % 40 === 0 ? GRID : toBoxPath(turn % VISITED)
      for (const front of fronts) {
        const visit = front.visit(deals).finally(() => underWay.delete(visit))
        underWay.add(visit)
      }
      await systemClock.wait(VISIT_EVERY_MS, done.signal)
    }
    await Promise.all(underWay)
  }
  const beganMs = Date.now()
  const loading = load()

  // The one who walks is killed, and another one goes on.
  let pid = 0
  await vi.waitFor(async () => expect((pid = await findWalker(shared.url))).toBeGreaterThan(0), {
    interval: 200,
  })
  const [killed = 0] = [...fleet.replicas].find(([, { child }]) => child.pid === pid) ?? []
  expect(killed).toBeGreaterThan(0)
  const walkBefore = Number(await readWalk(shared.url))
  await systemClock.wait(2 * PAGE_MS)
  process.kill(pid, 'SIGKILL')
  await vi.waitFor(async () => expect(await readWalk(shared.url)).toBe(walkBefore + 1), { interval: 200 })
  fleet.start(killed)

  // Another one is restarted.
  const restarted = fleet.ports.find((port) => port !== killed) ?? 0
  await fleet.replicas.get(restarted)?.stop('SIGTERM')
  fleet.start(restarted)
  await vi.waitFor(() => expect(fleet.ports.every(fronts[0].isReady)).toBe(true))
  // Each of them knows the grid and every product when the database goes.
  await fronts[0].visitEach(GRID)
  for (let index = 0; index < VISITED; index += 1) await fronts[0].visitEach(toBoxPath(index))

  await server.stop('immediate')
  await systemClock.wait(3 * SECOND_MS)
  const callsAway = catalogs[0].calls.length
  await systemClock.wait(17 * SECOND_MS)
  expect(catalogs[0].calls.length - callsAway).toBe(0)
  await server.start()
  await vi.waitFor(() => expect(catalogs[0].calls.length).toBeGreaterThan(callsAway), { interval: 50 })

  await systemClock.wait(Math.max(0, LASTS_MS - (Date.now() - beganMs)))
  done.abort()
  await loading
  expect(fronts[0].failures()).toEqual([])
  expect(Object.keys(fronts[0].states())).toEqual(['200 shown'])
  // Three that share nothing make three times as many calls. One of three may find the database a second or two sooner than one alone does, and refresh meanwhile.
  const sooner = (2 * SECOND_MS) / VISIT_EVERY_MS
  expect(catalogs[0].calls.length).toBeLessThanOrEqual(catalogs[1].calls.length * 1.5 + sooner)
  // At most the page under way and the one ahead of it, of the one walk whose walker was killed, and of one that lost its database.
  expect(findDoublePages(catalogs[0])).toBeLessThanOrEqual(4)
  // What the killed one had just asked for is asked for again.
  expect(findEarly(catalogs[0]).length).toBeLessThanOrEqual(4)
  expect(catalogs[0].calls.length).toBeLessThan(DAILY_LIMIT)
})
