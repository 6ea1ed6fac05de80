import request from 'supertest'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { SECOND_MS } from '../../../src/clock.ts'
import { readServerState } from '../../../src/server-status.ts'
import { runBuilt, runInProcess } from '../../cli/run-cli.ts'
import { CHANNEL_ID, FAKE_KEY, makeWireOffer, makeWireProduct, sendJson } from '../../helpers/fake-catalog.ts'
import { type Harness, NOON_MS, createHarness } from '../../helpers/harness.ts'
import { type PostgresServer, type TestDatabase, startPostgres } from '../../helpers/postgres.ts'
import { toGtin } from '../../helpers/products.ts'

const KNOWN = toGtin(1)
/** Products that are not in memory. */
const UNKNOWN = Array.from({ length: 14 }, (_, index) => toGtin(100 + index))

let server: PostgresServer
let database: TestDatabase
let harness: Harness
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.dispose())
beforeEach(async () => {
  database = await server.makeDatabase('statement_timeout_ms=1000')
  harness = await createHarness({
    settings: { VITRINE_DATABASE_URL: database.url, VITRINE_SYNC_CRON: 'off' },
  })
  const offers = [makeWireOffer({ old_price: '59.90' })]
  harness.catalog.products.set(CHANNEL_ID, [
    makeWireProduct({ gtin: KNOWN, offers }),
    ...UNKNOWN.map((gtin) => makeWireProduct({ gtin })),
  ])
})
afterEach(async () => {
  await harness.dispose()
  await database.drop()
})

type Seen = Readonly<{ status: number; state: string; cache: string }>

async function visit(gtin: string): Promise<Seen> {
  const { status, headers } = await request(harness.app).get(`/fragments/${CHANNEL_ID}/where-to-buy/${gtin}`)
  return { status, state: String(headers['vitrine-state']), cache: String(headers['cache-status']) }
}

const countProductCalls = (): number => harness.catalog.countCalls(/\/products\/\d+$/)
const readReady = async (query = ''): Promise<number> =>
  (await request(harness.app).get(`/readyz${query}`)).status

/** Make the server reject writes, as a standby does, or accept them again; connections stay open. */
async function setReadOnly(isOn: boolean): Promise<void> {
  const adminUrl = new URL('/postgres', database.url).href
  await server.run(adminUrl, `alter system set default_transaction_read_only = ${isOn ? 'on' : 'off'}`)
  await server.run(adminUrl, 'select pg_reload_conf()')
}

/** Walk the catalog, and visit a box and a grid so that they are cached. */
async function warmUp(): Promise<void> {
  await harness.context.walks.runNow()
  expect(await visit(KNOWN)).toMatchObject({ state: 'shown' })
  const grid = await request(harness.app).get(`/fragments/${CHANNEL_ID}/deals`)
  expect(grid.headers['vitrine-state']).toBe('shown')
}

/** Wait for the background refresh; on a busy machine the database may seem unavailable for a moment. */
async function refresh(): Promise<void> {
  await vi.waitFor(async () => {
    const { state, cache } = await visit(KNOWN)
    expect([state, cache]).toEqual(['shown', expect.stringContaining('hit')])
  })
  expect(countProductCalls()).toBe(1)
}

describe('shared database', () => {
  test('stopped for a while - boxes and grids are still shown, nothing is refreshed, and the server reconnects by itself', async () => {
    await warmUp()
    harness.clock.advance(400 * SECOND_MS)
    await refresh()
    await server.stop('immediate')
    harness.clock.advance(400 * SECOND_MS)
    for (let attempt = 0; attempt < 5; attempt += 1)
      expect(await visit(KNOWN)).toMatchObject({ status: 200, state: 'shown' })
    const grid = await request(harness.app).get(`/fragments/${CHANNEL_ID}/deals`)
    expect([grid.status, grid.headers['vitrine-state']]).toEqual([200, 'shown'])
    expect(countProductCalls()).toBe(1)
    expect(await readReady()).toBe(200)
    await server.start()
    await vi.waitFor(
      async () => {
        harness.clock.advance(SECOND_MS)
        await visit(KNOWN)
        expect(harness.logs()).toContain('stored copy reopened')
        expect(countProductCalls()).toBe(2)
      },
      { interval: 50 },
    )
  })

  test('stopped - products that are not in memory are looked up from the reserve, which is counted when it is back', async () => {
    await warmUp()
    harness.clock.advance(400 * SECOND_MS)
    await refresh()
    await server.stop('immediate')
    for (const gtin of UNKNOWN) expect((await visit(gtin)).state).toBe('shown')
    const paths = harness.catalog.calls
      .map(({ path }) => path)
      .filter((path) => /\/products\/\d+$/.test(path))
    expect(new Set(paths).size).toBe(1 + UNKNOWN.length)
    await server.start()
    await vi.waitFor(
      async () => {
        harness.clock.advance(SECOND_MS)
        await visit(KNOWN)
        const { quota } = await harness.context.callPolicy.readState()
        expect(harness.logs()).toContain('stored copy reopened')
        expect(quota.calls.lookup).toBeGreaterThanOrEqual(UNKNOWN.length)
      },
      { interval: 50 },
    )
  })

  test('stopped, daily limit too small for a reserve - products that are not in memory are looked up when it is back', async () => {
    await harness.dispose()
    harness = await createHarness({
      settings: {
        VITRINE_DATABASE_URL: database.url,
        VITRINE_SYNC_CRON: 'off',
        VITRINE_CATALOG_DAILY_LIMIT: '99',
      },
    })
    harness.catalog.products.set(
      CHANNEL_ID,
      [KNOWN, ...UNKNOWN].map((gtin) =>
        makeWireProduct({ gtin, offers: [makeWireOffer({ old_price: '59.90' })] }),
      ),
    )
    await warmUp()
    await server.stop('immediate')
    for (const gtin of UNKNOWN) expect((await visit(gtin)).state).toBe('unavailable')
    expect(countProductCalls()).toBe(0)
    await server.start()
    const [gtin = ''] = UNKNOWN
    await vi.waitFor(
      async () => {
        harness.clock.advance(SECOND_MS)
        expect((await visit(gtin)).state).toBe('shown')
      },
      { interval: 50 },
    )
  })

  test('stopped - an unknown box or grid is empty for visitors, and 503 for a proxy that requires the database', async () => {
    await warmUp()
    harness.catalog.fault = {
      pathPattern: /products/,
      respond: (_request, response) => sendJson(response, 500, {}),
    }
    await server.stop('immediate')
    try {
      for (const [index, surface] of ['fragments', 'embeds'].entries())
        for (const path of [`where-to-buy/${toGtin(100 + index)}`, `deals?limit=${5 + index}`])
          for (const [required, status] of [
            ['database', 503],
            ['', 200],
            ['anything', 200],
          ] as const) {
            const response = await request(harness.app)
              .get(`/${surface}/${CHANNEL_ID}/${path}`)
              .set('Vitrine-Require', required)
            expect([surface, path, required, response.status]).toEqual([surface, path, required, status])
            expect(response.headers).toMatchObject({
              'vitrine-state': 'unavailable',
              'cache-control': 'no-store',
            })
          }
      const known = await request(harness.app)
        .get(`/fragments/${CHANNEL_ID}/where-to-buy/${KNOWN}`)
        .set('Vitrine-Require', 'database')
      expect([known.status, known.headers['vitrine-state']]).toEqual([200, 'shown'])
    } finally {
      await server.start()
    }
  })

  test('paused - one visitor waits for at most the statement timeout, and the next ones do not wait', async () => {
    await warmUp()
    harness.clock.advance(400 * SECOND_MS)
    server.pause()
    try {
      const startedMs = performance.now()
      for (let attempt = 0; attempt < 200; attempt += 1)
        expect(await visit(KNOWN)).toMatchObject({ state: 'shown' })
      // It would take more than two minutes if each visitor waited.
      expect(performance.now() - startedMs).toBeLessThan(60 * SECOND_MS)
    } finally {
      server.resume()
    }
    await vi.waitFor(async () => expect(await harness.context.store.ping()).toBeUndefined())
  })

  test('paused, with timeouts of a minute - grids, boxes and /readyz wait no longer than the visitor timeout', async () => {
    const slow = await server.makeDatabase('statement_timeout_ms=60000&connect_timeout_ms=60000')
    const slowHarness = await createHarness({
      settings: { VITRINE_DATABASE_URL: slow.url, VITRINE_SYNC_CRON: 'off' },
    })
    slowHarness.catalog.products.set(CHANNEL_ID, [
      makeWireProduct({ gtin: KNOWN, offers: [makeWireOffer({ old_price: '59.90' })] }),
    ])
    await slowHarness.context.walks.runNow()
    const grid = `/fragments/${CHANNEL_ID}/deals`
    const paths = [grid, `${grid}?limit=5`, `/fragments/${CHANNEL_ID}/where-to-buy/${KNOWN}`]
    const visitPath = async (path: string): Promise<string> => {
      const { status, headers } = await request(slowHarness.app).get(path)
      return `${status} ${headers['vitrine-state'] ?? ''}`.trim()
    }
    expect(await visitPath(grid)).toBe('200 shown')
    // Cached responses are valid for one second, and the list of channels for ten.
    slowHarness.clock.advance(11 * SECOND_MS)
    server.pause()
    try {
      const results: string[] = []
      const pendingVisits = [...paths, '/readyz', '/readyz?require=database'].map(async (path) => {
        results.push(`${path} ${await visitPath(path)}`)
      })
      await vi.waitFor(() => {
        slowHarness.clock.advance(50)
        expect(results).toHaveLength(pendingVisits.length)
      })
      expect(results.toSorted()).toEqual(
        [
          `${paths[0]} 200 shown`,
          `${paths[1]} 200 unavailable`,
          `${paths[2]} 200 unavailable`,
          '/readyz 200',
          '/readyz?require=database 503',
        ].toSorted(),
      )
    } finally {
      server.resume()
    }
    await slowHarness.dispose()
  })

  test('read-only, as after a failover - stored products are shown, writes are rejected, and it is logged once', async () => {
    await warmUp()
    await setReadOnly(true)
    await vi.waitFor(async () =>
      expect(await readServerState(harness.context)).toMatchObject({
        isStoreUp: true,
        isStoreWritable: false,
      }),
    )
    for (const gtin of UNKNOWN) expect(await visit(gtin)).toMatchObject({ state: 'shown' })
    const grid = await request(harness.app).get(`/fragments/${CHANNEL_ID}/deals?limit=5`)
    expect(grid.headers['vitrine-state']).toBe('shown')
    expect([await readReady(), await readReady('?require=database')]).toEqual([200, 200])
    const put = { channelId: CHANNEL_ID, gtin: KNOWN, entry: { product: null, asOfMs: NOON_MS } }
    await expect(harness.context.store.putLookups([put])).rejects.toThrow(
      'the database was read-only a moment ago',
    )
    await setReadOnly(false)
    await vi.waitFor(async () => {
      expect((await readServerState(harness.context)).isStoreWritable).toBe(true)
      expect(harness.logs().split('database accepts writes again')).toHaveLength(2)
    })
    expect(harness.logs().split('database is read-only;')).toHaveLength(2)
    expect(harness.logs()).not.toContain('stored copy failed;')
  })

  test('read-only at the start - the server shows what is stored', async () => {
    await warmUp()
    await setReadOnly(true)
    const late = await createHarness({
      settings: { VITRINE_DATABASE_URL: database.url, VITRINE_SYNC_CRON: 'off' },
      over: {
        catalog: { baseUrl: harness.catalog.url, key: harness.context.key, copyName: harness.catalog.url },
      },
    })
    try {
      const box = await request(late.app).get(`/fragments/${CHANNEL_ID}/where-to-buy/${KNOWN}`)
      expect(box.headers['vitrine-state']).toBe('shown')
    } finally {
      await late.dispose()
      await setReadOnly(false)
    }
  })

  test('read-only - check reports it with a remedy, and sync fails at once', async () => {
    await setReadOnly(true)
    const settings = {
      VITRINE_DATABASE_URL: database.url,
      VITRINE_CATALOG_URL: harness.catalog.url,
      VITRINE_CATALOG_KEY: FAKE_KEY,
      VITRINE_LOG_LEVEL: 'silent',
      VITRINE_PORT: '0',
    }
    const checked = await runBuilt(['check'], settings)
    expect(checked.code).toBe(1)
    expect(checked.out).toMatch(/^WRONG {2}stored copy: .* opens, but it is read-only/m)
    expect(checked.out).toContain('point VITRINE_DATABASE_URL to the primary')
    const synced = await runBuilt(['sync'], settings)
    expect(synced.code).toBe(1)
    expect(synced.err).toMatch(/nothing was walked, because .* the server is read-only/)
    await setReadOnly(false)
  })

  test('unavailable at the start - the server starts, and uses the copy once the database is up', async () => {
    await server.stop('fast')
    const late = await createHarness({
      settings: { VITRINE_DATABASE_URL: database.url, VITRINE_SYNC_CRON: 'off' },
    })
    try {
      await server.start()
      await vi.waitFor(async () => expect(await late.context.store.ping()).toBeUndefined())
      late.catalog.products.set(CHANNEL_ID, [makeWireProduct({ gtin: KNOWN })])
      await late.context.walks.runNow()
      expect(await late.context.store.getCopyState(CHANNEL_ID)).toMatchObject({ currentWalk: 1 })
    } finally {
      await late.dispose()
    }
  })

  test('wrong password or missing database - check reports it without the password', async () => {
    const { host, port } = database.address
    const { code, out, err } = await runInProcess(['check'], {
      VITRINE_DATABASE_URL: `postgres://owner:secret-pass-1@${host}:${port}/nowhere`,
      VITRINE_CATALOG_URL: harness.catalog.url,
      VITRINE_CATALOG_KEY: 'some-key-1234',
    })
    expect(code).toBe(1)
    const output = out + err
    expect(output).toContain('the database does not exist')
    expect(output).toContain('Check user, password, database and sslmode')
    expect(output).not.toContain('secret-pass')
    expect(harness.logs()).not.toContain('secret-pass')
  })
})
