import { serializeOuter } from 'parse5'
import { parseConfig } from '../../src/config/config.ts'
import { createFixedKeySource } from '../../src/config/key-source.ts'
import { Secret } from '../../src/config/secrets.ts'
import { runWalk } from '../../src/sync/walk.ts'
import {
  type TestResponse,
  fetchPath,
  findByClass,
  getAttribute,
  getText,
  listElements,
} from '../app/app-client.ts'
import { runInProcess } from '../cli/run-cli.ts'
import { addCleanup } from '../helpers/cleanup.ts'
import { makeCopyFile } from '../helpers/copy-file.ts'
import { createFakeClock } from '../helpers/fake-clock.ts'
import { type Harness, createHarness } from '../helpers/harness.ts'
import { toGtin } from '../helpers/products.ts'
import { createInstantClock } from '../sync/instant-clock.ts'
import { CHANNEL, type Freedoms, type IndependentCatalog, KEY, startIndependentCatalog } from './catalog.ts'

/** What readers and operators get from a catalog, and the calls that it received. */
export type Observation = Readonly<{
  /** The box before any walk: its state, the reason if it has one, and its offers in order. */
  cold: Shown
  /** The same request again. */
  warm: Shown
  /** The outcome of a walk, with what it left out. */
  walk: Readonly<{ outcome: string; calls: string }>
  /** The products of the grid, in order. */
  grid: Shown
  /** The box of a product that was not looked up, from the stored copy. */
  copy: Shown
  /** What `vitrine check` finds wrong. */
  check: Readonly<{ wrong: readonly string[]; calls: string }>
  /** The first line of `vitrine explain`, and its remedy. */
  explain: Readonly<{ says: string; calls: string }>
  /** What the server did that the interface does not allow. */
  complaints: readonly string[]
}>

type Settings = Readonly<Record<string, string>>

export type Shown = Readonly<{
  state: string
  /** Title and picture of a box. */
  head: string
  rows: readonly string[]
  calls: string
}>

export type Setup = Readonly<{
  /** The part of the setting `VITRINE_CATALOG_URL` after the catalog's address. */
  suffix?: string
  key?: string
  channel?: string
}>

/** Start a catalog, let a server and an operator use it, and return what they see. */
export async function observe(freedoms: Partial<Freedoms>, setup: Setup = {}): Promise<Observation> {
  const session = await startSession(freedoms, setup)
  const channel = setup.channel ?? CHANNEL
  const toBox = (index: number): string => `/fragments/${channel}/where-to-buy/${toGtin(index)}`
  const cold = await session.show(toBox(1))
  const warm = await session.show(toBox(1))
  const walk = await session.walk()
  const grid = await session.show(`/fragments/${channel}/deals`)
  const copy = await session.show(toBox(3))
  const check = await session.check()
  const explain = await session.explain(toGtin(1), channel)
  return { cold, warm, walk, grid, copy, check, explain, complaints: session.catalog.complaints }
}

/** A catalog with a server and an operator. Each result has the calls since the one before. */
export type Session = Readonly<{
  catalog: IndependentCatalog
  show(path: string): Promise<Shown>
  walk(): Promise<Observation['walk']>
  /** Start the server again, with the same stored copy and empty caches. */
  restart(): Promise<void>
  check(): Promise<Observation['check']>
  explain(gtin: string, channel?: string): Promise<Observation['explain']>
}>

/** Start a session that ends with the test or its group. */
export async function startSession(freedoms: Partial<Freedoms>, setup: Setup = {}): Promise<Session> {
  const catalog = await startIndependentCatalog(freedoms)
  addCleanup(() => catalog.close())
  const file = await makeCopyFile()
  addCleanup(() => file.remove())
  const calls = createCallReader(catalog)
  const settings = {
    VITRINE_CATALOG_URL: `${catalog.url}${setup.suffix ?? ''}`,
    VITRINE_CATALOG_KEY: setup.key ?? KEY,
    VITRINE_DATABASE_URL: `sqlite:${file.path}`,
    VITRINE_LOG_LEVEL: 'silent',
    VITRINE_PORT: '0',
  }
  let server = await startServer(settings)
  return {
    catalog,
    show: async (path) => ({ ...describeResponse(await fetchPath(server, path)), calls: calls.read() }),
    async walk() {
      await server.context.walks.runNow()
      await server.context.waitForWrites()
      return { outcome: readWalkOutcome(server.logs()), calls: calls.read() }
    },
    async restart() {
      server = await startServer(settings)
    },
    check: async () => ({ wrong: await runCheck(settings), calls: calls.read() }),
    explain: async (gtin, channel = CHANNEL) => ({
      says: await runExplain(settings, channel, gtin),
      calls: calls.read(),
    }),
  }
}

async function startServer(settings: Settings): Promise<Harness> {
  // Commands use the clock of the machine, so the server starts at the same time.
  const clock = createFakeClock(Date.now())
  const { catalog } = parseConfig(settings).config
  if (catalog.kind !== 'remote') throw new Error('the catalog is not remote')
  const harness = await createHarness({
    settings,
    over: {
      clock,
      catalog: {
        baseUrl: catalog.url,
        key: createFixedKeySource(new Secret(String(settings['VITRINE_CATALOG_KEY']))),
        copyName: catalog.url,
      },
      walkRunner: (order, watch) => runWalk(order, watch, createInstantClock(clock)),
    },
  })
  addCleanup(() => harness.dispose())
  return harness
}

/** Return the calls since the last read, as words: `channels page x3`. */
function createCallReader({ calls }: IndependentCatalog): Readonly<{ read(): string }> {
  let seen = 0
  return {
    read() {
      const words = calls.slice(seen).map(({ operation }) => operation)
      seen = calls.length
      const counts: [string, number][] = []
      for (const word of words) {
        const last = counts.at(-1)
        if (last?.[0] === word) last[1] += 1
        else counts.push([word, 1])
      }
      return counts.map(([word, count]) => (count === 1 ? word : `${word} x${count}`)).join(' ')
    },
  }
}

function describeResponse({ status, headers, text }: TestResponse): Omit<Shown, 'calls'> {
  const state = headers['vitrine-state'] ?? 'none'
  const reason = headers['vitrine-reason'] ?? headers['vitrine-error']
  const rows = [...findByClass(text, 'vitrine-offer'), ...findByClass(text, 'vitrine-deal')]
  return {
    state: `${status === 200 ? '' : `${status} `}${state}${reason === undefined ? '' : `: ${reason}`}`,
    head: describeHead(text),
    rows: rows.map((row) => describeRow(serializeOuter(row))),
  }
}

function describeHead(html: string): string {
  const title = findByClass(html, 'vitrine-title').map(getText)
  const pictures = findByClass(html, 'vitrine-picture').map((picture) =>
    getAttribute(listElements(serializeOuter(picture)).at(-1) ?? picture, 'src'),
  )
  return findByClass(html, 'vitrine-box').length === 0
    ? ''
    : [...title, ...pictures].filter(Boolean).join(', ')
}

/** A shop or title, the price, the former price and the link, with single spaces. */
function describeRow(html: string): string {
  const find = (name: string): string => findByClass(html, name).map(getText)[0] ?? ''
  const link = listElements(html)
    .map((element) => getAttribute(element, 'href'))
    .find((href) => href !== '')
  const price = find('vitrine-price').replace(/^now /, '')
  const former = find('vitrine-was').replace(/^Shop’s former price /, 'was ')
  return [find('vitrine-merchant') || find('vitrine-name'), price, former, link].filter(Boolean).join(' ')
}

type WalkLine = Readonly<{ msg: string; reason?: string; walk?: WalkLogEntry }>
type WalkLogEntry = Readonly<{
  outcome: string
  reason: string | null
  drops: Readonly<Record<string, number>>
}>

/** Return the outcome of the last walk of a channel, its reason, and what it left out. */
function readWalkOutcome(logs: string): string {
  const lines = logs.split('\n').filter(Boolean)
  const walk = lines.map((line) => JSON.parse(line) as WalkLine).findLast((line) => line.walk)?.walk
  if (walk === undefined) return 'none'
  const drops = Object.entries(walk.drops).map(([kind, count]) => `${count} ${kind}`)
  return [walk.outcome, ...(walk.reason === null ? [] : [walk.reason]), ...drops].join(', ')
}

type Finding = Readonly<{ subject: string; isGood: boolean; message: string; remedy: string | null }>

async function runCheck(settings: Settings): Promise<readonly string[]> {
  const { out } = await runInProcess(['check', '--json'], settings)
  return (JSON.parse(out) as Finding[])
    .filter(({ isGood }) => !isGood)
    .map(({ subject, message, remedy }) => `${subject}: ${message} -> ${remedy}`)
}

async function runExplain(settings: Settings, channel: string, gtin: string): Promise<string> {
  const { out, err } = await runInProcess(['explain', '--json', channel, gtin], settings)
  const { summary, remedy } = JSON.parse(out || '{}') as { summary?: string; remedy?: string | null }
  return [summary ?? err, ...(remedy ? [remedy] : [])].join(' -> ')
}
