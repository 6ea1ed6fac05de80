import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { MINUTE_MS, SECOND_MS, computeNextMidnightUtcMs } from '../../../src/clock.ts'
import type { Environment } from '../../../src/config/config.ts'
import { toDay } from '../../../src/offers/price-history.ts'
import { computeOfferId } from '../../../src/widgets/view-parts.ts'
import { type RunningCommand, makeFolder, startBuilt, startRemoteCatalog } from '../../cli/run-cli.ts'
import { CHANNEL_ID, makeWireOffer, makeWireProduct } from '../../helpers/fake-catalog.ts'
import { toGtin } from '../../helpers/products.ts'
import { findFreePort } from '../includes/program.ts'
import { useDatabase } from '../use-database.ts'

/** Products with a box. GTINs from `PRODUCTS` on are invented. */
const PRODUCTS = 12
const SUBS = 9
/** Requests of each stage: before midnight, and at and after it. */
const STAGE_REQUESTS = 10_000
const PARALLEL = 8
/** Requests of a replica that is then killed, which may lose them: 0.1 % of all. */
const LAST_REQUESTS = 20
/** The time until midnight at the start of the replicas, and when the clock is set for midnight. */
const START_MS: number = 10 * MINUTE_MS
const SOON_MS: number = 2 * SECOND_MS

const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'
const BOT = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)'

const database = useDatabase()

/** How far the clock of the test and of the replicas is ahead, so that midnight comes during the test. */
let aheadMs = 0
const readClock = (): number => Date.now() + aheadMs

/** Set the clock. Processes with `makeClockScript` follow. */
function setClock(file: string, untilMidnightMs: number): void {
  aheadMs = computeNextMidnightUtcMs(Date.now()) - Date.now() - untilMidnightMs
  writeFileSync(file, String(aheadMs))
}

const makeClockScript = (file: string): string => `
const { readFileSync } = require('node:fs')
const { now } = Date
let ahead = Number(readFileSync(${JSON.stringify(file)}, 'utf8'))
setInterval(() => (ahead = Number(readFileSync(${JSON.stringify(file)}, 'utf8')) || ahead), 20).unref()
Date.now = () => now() + ahead`

/** A request, whether it must be counted, and as what. */
type Visit = Readonly<{ path: string; agent: string; method?: string; purpose?: string; key: string | null }>

/** Choose the visit of a turn: mostly fragments; also embeds, clicks, and what must not be counted. */
function toVisit(turn: number): Visit {
  const index = turn % PRODUCTS
  const gtin = toGtin(index)
  const sub = `post-${turn % SUBS}`
  const box = `${CHANNEL_ID}/where-to-buy/${gtin}?sub=${sub}`
  const click = `/go/${CHANNEL_ID}/${gtin}/${computeOfferId({ network: 'brightlink', merchant: 'Kopje', currency: 'EUR' })}?sub=${sub}`
  const invented = `/fragments/${CHANNEL_ID}/where-to-buy/${toGtin(PRODUCTS + (turn % 500))}?sub=${sub}`
  const visits: readonly Visit[] = [
    { path: `/fragments/${box}&merchant=Nobody`, agent: '', key: `${gtin} ${sub} hidden` },
    { path: `/embeds/${box}`, agent: FIREFOX, key: `${gtin} ${sub} shown` },
    { path: click, agent: FIREFOX, key: `${gtin} ${sub} Kopje` },
    { path: `/embeds/${box}`, agent: BOT, key: null },
    { path: click, agent: BOT, key: null },
    { path: `/fragments/${box}`, agent: '', method: 'HEAD', key: null },
    { path: `/embeds/${box}`, agent: FIREFOX, purpose: 'prefetch', key: null },
    { path: invented, agent: '', key: null },
  ]
  return visits[turn % 23] ?? { path: `/fragments/${box}`, agent: '', key: `${gtin} ${sub} shown` }
}

/** What must be stored, by day and key. */
const log = new Map<string, number>()

async function visit(port: number, turn: number): Promise<void> {
  const { path, agent, method = 'GET', purpose, key } = toVisit(turn)
  const headers = { 'User-Agent': agent, ...(purpose !== undefined && { 'Sec-Purpose': purpose }) }
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers, redirect: 'manual' })
  await response.arrayBuffer()
  expect([200, 302]).toContain(response.status)
  if (key === null) return
  const dayKey = `${toDay(readClock())} ${key}`
  log.set(dayKey, (log.get(dayKey) ?? 0) + 1)
}

/** Send visits to the replicas in turn, some at a time. */
async function sendVisits(ports: readonly number[], count: number): Promise<void> {
  let turn = 0
  const send = async (): Promise<void> => {
    while (turn < count) {
      turn += 1
      await visit(ports[turn % ports.length] ?? 0, turn)
    }
  }
  await Promise.all(Array.from({ length: PARALLEL }, send))
}

async function readCounts(): Promise<Map<string, number>> {
  const rows = await database.run(`
    select day, gtin || ' ' || sub || ' shown' as key, shown as count from vitrine_copy.widget_counts
    union all select day, gtin || ' ' || sub || ' hidden', hidden from vitrine_copy.widget_counts
    union all select day, gtin || ' ' || sub || ' unavailable', unavailable from vitrine_copy.widget_counts
    union all select day, gtin || ' ' || sub || ' ' || merchant, clicks from vitrine_copy.click_counts`)
  const counted = rows.map(({ day, key, count }) => [`${String(day)} ${String(key)}`, Number(count)] as const)
  return new Map(counted.filter(([, count]) => count > 0))
}

const sum = (counts: ReadonlyMap<string, number>): number => [...counts.values()].reduce((a, b) => a + b, 0)

/** Wait until every count is stored. `lost`: what a killed process may have lost. */
const waitForCounts = (lost = 0): Promise<void> =>
  vi.waitFor(async () => expect(sum(await readCounts())).toBeGreaterThanOrEqual(sum(log) - lost), {
    timeout: 60 * SECOND_MS,
    interval: 200,
  })

function computeDifference(a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>): number {
  const keys = new Set([...a.keys(), ...b.keys()])
  return [...keys].reduce((total, key) => total + Math.abs((a.get(key) ?? 0) - (b.get(key) ?? 0)), 0)
}

type ReplicaDetails = Readonly<{ port: number; clockFile: string; settings: Environment }>

async function startReplica({ port, clockFile, settings }: ReplicaDetails): Promise<RunningCommand> {
  const folder = makeFolder()
  const script = join(folder, 'clock.cjs')
  writeFileSync(script, makeClockScript(clockFile))
  const replica = startBuilt(['serve', '--json'], {
    ...settings,
    NODE_OPTIONS: `--require ${script}`,
    VITRINE_LINKS: 'counted',
    VITRINE_DATABASE_URL: database.url,
    VITRINE_PORT: String(port),
    // Only the walk at the start, without a copy.
    VITRINE_SYNC_CRON: '0 0 29 2 *',
  })
  await replica.firstLine
  return replica
}

test('two replicas, midnight and kill -9 - the stored counts equal the requests within 0.1 %', async () => {
  const { catalog, settings } = await startRemoteCatalog(makeFolder())
  const offers = ['Kopje', 'Tafelrond'].map((name) => makeWireOffer({ merchant: { name } }))
  catalog.products.set(
    CHANNEL_ID,
    Array.from({ length: PRODUCTS }, (_, index) => makeWireProduct({ gtin: toGtin(index), offers })),
  )
  const clockFile = join(makeFolder(), 'clock')
  setClock(clockFile, START_MS)
  const firstDay = toDay(readClock())
  const ports = await Promise.all([findFreePort(), findFreePort()])
  const replicas: RunningCommand[] = []
  for (const port of ports) replicas.push(await startReplica({ port, clockFile, settings }))

  await sendVisits(ports, STAGE_REQUESTS)
  setClock(clockFile, SOON_MS)
  while (toDay(readClock()) === firstDay) await sendVisits(ports, PARALLEL)
  await sendVisits(ports, STAGE_REQUESTS)

  // Everything before is stored. The killed replica may lose only what follows.
  await waitForCounts()
  const [, killedPort] = ports
  await sendVisits([killedPort], LAST_REQUESTS)
  await replicas[1]?.stop('SIGKILL')
  replicas[1] = await startReplica({ port: killedPort, clockFile, settings })
  await sendVisits(ports, STAGE_REQUESTS)
  await waitForCounts(LAST_REQUESTS)
  await Promise.all(replicas.map((replica) => replica.stop('SIGTERM')))

  const stored = await readCounts()
  const total = sum(log)
  expect(total).toBeGreaterThan(2 * STAGE_REQUESTS)
  expect(new Set([...stored.keys()].map((key) => key.split(' ')[0]))).toEqual(
    new Set([String(firstDay), String(firstDay + 1)]),
  )
  // The requests at midnight can count for either day.
  expect(computeDifference(stored, log)).toBeLessThanOrEqual(total / 1_000)
  expect(Math.abs(sum(stored) - total)).toBeLessThanOrEqual(LAST_REQUESTS)
  expect([...stored.keys()].filter((key) => !log.has(key) && !key.includes(' unavailable'))).toEqual([])
})
