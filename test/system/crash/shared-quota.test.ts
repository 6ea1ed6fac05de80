import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { createCallPolicy } from '../../../src/catalog/call-policy.ts'
import { createFixedKeySource } from '../../../src/config/key-source.ts'
import type { QuotaStore } from '../../../src/catalog/quota.ts'
import { HOUR_MS, MINUTE_MS } from '../../../src/clock.ts'
import { type Environment, parseConfig } from '../../../src/config/config.ts'
import { Secret } from '../../../src/config/secrets.ts'
import { type Context, createContext } from '../../../src/context.ts'
import { openStoredCopy } from '../../../src/storage/stored-copy.ts'
import type { CopyStore } from '../../../src/storage/store.ts'
import { runWalk } from '../../../src/sync/walk.ts'
import { CatalogRateLimitedError, StoreError } from '../../../src/errors.ts'
import { createLogger } from '../../../src/observability/logger.ts'
import { makeFolder, makeSettings, runBuilt } from '../../cli/run-cli.ts'
import {
  CHANNEL_ID,
  FAKE_KEY,
  type FakeCatalog,
  makeWireProduct,
  sendJson,
  startFakeCatalog,
} from '../../helpers/fake-catalog.ts'
import { type FakeClock, createFakeClock } from '../../helpers/fake-clock.ts'
import { NOON_MS } from '../../helpers/harness.ts'
import { toGtin } from '../../helpers/products.ts'
import { makeCrashFixture, startListening, toBox, visit } from './crash-fixture.ts'

const PRODUCTS = 450
const STALE_MS: number = 6 * MINUTE_MS

let catalog: FakeCatalog
let clock: FakeClock
let folder: string

const toSettings = (over: Environment = {}): Environment => ({
  ...makeSettings(folder),
  VITRINE_CATALOG_URL: catalog.url,
  VITRINE_CATALOG_KEY: FAKE_KEY,
  VITRINE_SYNC_CRON: 'off',
  ...over,
})

/** Create a server in this process, with a separate store on the shared file, and the shared clock. */
async function open(over: Environment = {}): Promise<Context> {
  const { config, secrets } = parseConfig(toSettings(over))
  const context = await createContext({
    config,
    secrets,
    clock,
    logger: createLogger({ level: 'silent' }),
    publicUrl: 'https://widgets.example',
    catalog: { baseUrl: catalog.url, key: createFixedKeySource(new Secret(FAKE_KEY)), copyName: catalog.url },
    demo: null,
    walkRunner: (job, control) => runWalk(job, control, clock),
  })
  onTestFinished(() => context.dispose())
  return context
}

/** Visit a box; a failure does not matter, because the tests count the calls at the catalog. */
async function visitBox({ widgets }: Context, index: number): Promise<void> {
  const parts = { surface: 'fragment', channelId: CHANNEL_ID, gtin: toGtin(index), query: '' } as const
  await widgets.getBox(widgets.parseBoxAddress(parts)).catch(() => undefined)
}

/** Visit one box after the other: both stores share a thread, where SQLite would wait for the other's transaction. */
async function visitBoxes(contexts: readonly Context[], from: number, count: number): Promise<void> {
  for (let index = 0; index < count; index++) await visitBox(pick(contexts, index), from + index)
}

function pick(contexts: readonly Context[], index: number): Context {
  const context = contexts[index % contexts.length]
  if (context === undefined) throw new Error('no context')
  return context
}

/** Make the catalog respond to every call with a 429. */
function rejectWith429(retryAfterSeconds?: number): void {
  catalog.fault = {
    pathPattern: /./,
    respond(_request, response) {
      if (retryAfterSeconds !== undefined) response.setHeader('retry-after', String(retryAfterSeconds))
      sendJson(response, 429, { error: 'limit' })
    },
  }
}

/** Count the calls at the catalog by purpose. */
function countCalls(): Record<'pages' | 'lists' | 'known' | 'unknown', number> {
  const gtins = catalog.calls.flatMap(({ path }) => /products\/(\d+)$/.exec(path)?.[1] ?? [])
  const known = gtins.filter((gtin) => gtin < toGtin(PRODUCTS)).length
  const [pages, lists] = [catalog.countCalls(/products\?/), catalog.countCalls(/channels$/)]
  return { pages, lists, known, unknown: gtins.length - known }
}

beforeEach(async () => {
  folder = makeFolder()
  catalog = await startFakeCatalog()
  onTestFinished(() => catalog.close())
  catalog.products.set(
    CHANNEL_ID,
    Array.from({ length: PRODUCTS }, (_, index) => makeWireProduct({ gtin: toGtin(index) })),
  )
  clock = createFakeClock(NOON_MS)
})

describe('429 for one of two servers', () => {
  test('during a look-up - the other server makes no call either, and both call again after the pause', async () => {
    const [a, b] = [await open(), await open()]
    await visitBoxes([a, b], 0, 4)
    rejectWith429(120)
    await visitBox(a, 10)
    catalog.calls.length = 0
    catalog.fault = null
    await visitBoxes([a, b], 20, 10)
    clock.advance(STALE_MS / 6)
    await visitBoxes([b, a], 40, 10)
    expect(catalog.calls).toEqual([])
    clock.advance(2 * MINUTE_MS)
    await visitBoxes([a, b], 60, 2)
    expect(countCalls().known).toBe(2)
  })

  test('during a walk - stops the look-ups of both; during a look-up - stops the walks of both', async () => {
    const [a, b] = [await open(), await open()]
    await visitBoxes([a, b], 0, 2)
    rejectWith429(300)
    await a.walks.runNow()
    catalog.calls.length = 0
    await visitBoxes([b, a], 100, 10)
    expect(catalog.calls).toEqual([])
    clock.advance(5 * MINUTE_MS + 1)
    await visitBox(b, 200)
    expect(catalog.calls.length).toBeGreaterThan(0)
    catalog.calls.length = 0
    expect((await a.walks.runNow()).failure).toBe('VITRINE_CATALOG_CALL_BLOCKED')
    expect((await b.walks.runNow()).failure).toBe('VITRINE_CATALOG_CALL_BLOCKED')
    expect(catalog.calls).toEqual([])
  })

  test('real check and sync - make no call, report the reason and exit with 1; a 429 for sync stops the server, too', async () => {
    clock = createFakeClock(Date.now())
    const a = await open()
    await visitBox(a, 0)
    rejectWith429(HOUR_MS / 1_000)
    await visitBox(a, 1)
    catalog.fault = null
    catalog.calls.length = 0
    const [check, sync] = await Promise.all([
      runBuilt(['check'], toSettings()),
      runBuilt(['sync'], toSettings()),
    ])
    expect([check.code, sync.code]).toEqual([1, 1])
    expect(check.out).toContain('no catalog calls until')
    expect(sync.err).toContain('VITRINE_CATALOG_CALL_BLOCKED')
    expect(catalog.calls).toEqual([])

    folder = makeFolder()
    const b = await open()
    await visitBox(b, 0)
    rejectWith429(HOUR_MS / 1_000)
    expect((await runBuilt(['sync'], toSettings())).code).toBe(1)
    catalog.fault = null
    catalog.calls.length = 0
    await visitBoxes([b], 10, 5)
    expect(catalog.calls).toEqual([])
  })
})

describe('shared quota of two servers', () => {
  test('hourly look-ups - are counted together, and are available again an hour later', async () => {
    const over = { VITRINE_UNKNOWN_LOOKUPS_PER_HOUR: '10' }
    const [a, b] = [await open(over), await open(over)]
    await a.walks.runNow()
    await b.walks.start()
    catalog.calls.length = 0
    for (let round = 0; round < 3; round++) await visitBoxes([a, b], PRODUCTS + round * 20, 20)
    expect(countCalls()).toMatchObject({ known: 0, unknown: 10 })
    clock.advance(HOUR_MS + MINUTE_MS)
    await visitBoxes([b, a], PRODUCTS + 100, 30)
    expect(countCalls().unknown).toBe(20)
  })

  test('daily limit of 100 - 50 calls for walks, 40 for refreshes and 10 for look-ups, on each UTC day', async () => {
    // With a short stale period visitors wait for the refresh, so none runs in the background of the next visit.
    const over = { VITRINE_CATALOG_DAILY_LIMIT: '100', VITRINE_STALE_SECONDS: '301' }
    const [a, b] = [await open(over), await open(over)]
    for (let day = 0; day < 2; day++) {
      catalog.calls.length = 0
      // A walk requests the list and three pages, so the thirteenth walk is interrupted.
      for (let turn = 0; turn < 14; turn++) await pick([a, b], turn).walks.runNow()
      expect(catalog.calls).toHaveLength(50)
      clock.advance(STALE_MS)
      await visitBoxes([a, b], 0, 60)
      expect(countCalls().known).toBe(40)
      expect(catalog.calls).toHaveLength(90)
      // The list of channels, which confirms a 404, counts as a look-up.
      await visitBoxes([b, a], PRODUCTS + day * 100, 40)
      expect(countCalls().known).toBe(40)
      expect(catalog.calls).toHaveLength(100)
      clock.advance(12 * HOUR_MS)
    }
  })

  test('server killed with -9 - two new processes continue its count of calls', async () => {
    const fixture = await makeCrashFixture(20, '49.90')
    const settings = { ...fixture.settings, VITRINE_SYNC_CRON: 'off', VITRINE_CATALOG_DAILY_LIMIT: '100' }
    const first = await startListening(settings)
    for (const index of [0, 1, 2, 3]) await visit(first.url, toBox(index))
    const { length } = fixture.catalog.calls
    expect(length).toBeGreaterThanOrEqual(5)
    await first.running.stop('SIGKILL')
    const { out } = await runBuilt(['check'], settings)
    expect(out).toContain(`first look-ups ${length + 1} of 10`)
    const others = await Promise.all([startListening(settings), startListening(settings)])
    await Promise.all(
      others.flatMap(({ url }) => [4, 5, 6, 7, 8, 9, 10, 11].map((index) => visit(url, toBox(index)))),
    )
    expect(fixture.catalog.calls).toHaveLength(10)
  })
})

type BreakableStore = Readonly<{ breakable: QuotaStore; store: CopyStore; setDown(isDown: boolean): void }>

async function openBreakableStore(): Promise<BreakableStore> {
  const path = join(folder, 'copy.db')
  const store = await openStoredCopy({ database: { kind: 'sqlite', path }, catalog: catalog.url })
  onTestFinished(() => store.close())
  let isDown = false
  const breakable: QuotaStore = {
    updateQuota: (nowMs, change) =>
      isDown ? Promise.reject(new StoreError('down')) : store.updateQuota(nowMs, change),
  }
  return { breakable, store, setDown: (down) => void (isDown = down) }
}

const succeed = (): Promise<string> => Promise.resolve('response')

const failWith429 = (): Promise<never> => Promise.reject(new CatalogRateLimitedError('429', HOUR_MS))

describe('store that is unavailable', () => {
  test('calls meanwhile - the process continues from the last known count, and stays within its share', async () => {
    const { breakable, store, setDown } = await openBreakableStore()
    const policy = createCallPolicy({ clock, unknownLookupsPerHour: 600, dailyLimit: 100, store: breakable })
    for (let call = 0; call < 4; call++) await policy.execute('lookup', succeed)
    setDown(true)
    let made = 0
    for (let call = 0; call < 20; call++)
      await policy.execute('lookup', succeed).then(
        () => made++,
        () => {},
      )
    expect(made).toBe(6)
    setDown(false)
    await expect(policy.execute('lookup', succeed)).rejects.toMatchObject({
      code: 'VITRINE_CATALOG_CALL_BLOCKED',
    })
    expect((await store.updateQuota(clock.nowMs(), (state) => state)).calls.lookup).toBe(10)
  })

  test('429 meanwhile - applies to this process at once, and to the other as soon as the store is back', async () => {
    const { breakable, store, setDown } = await openBreakableStore()
    const options = { clock, unknownLookupsPerHour: 600, dailyLimit: null }
    const first = createCallPolicy({ ...options, store: breakable })
    const other = createCallPolicy({ ...options, store })
    await first.execute('refresh', succeed)
    setDown(true)
    await expect(first.execute('refresh', failWith429)).rejects.toMatchObject({
      code: 'VITRINE_CATALOG_RATE_LIMITED',
    })
    await expect(first.execute('refresh', succeed)).rejects.toMatchObject({
      code: 'VITRINE_CATALOG_CALL_BLOCKED',
    })
    expect(await other.execute('refresh', succeed)).toBe('response')
    setDown(false)
    await expect(first.execute('refresh', succeed)).rejects.toMatchObject({
      code: 'VITRINE_CATALOG_CALL_BLOCKED',
    })
    await expect(other.execute('walk', succeed)).rejects.toMatchObject({
      code: 'VITRINE_CATALOG_CALL_BLOCKED',
    })
    clock.advance(HOUR_MS + 1)
    expect(await other.execute('refresh', succeed)).toBe('response')
  })
})
