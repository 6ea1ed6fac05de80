import request from 'supertest'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { SECOND_MS } from '../../src/clock.ts'
import { runHere } from '../commands/cli-harness.ts'
import { CHANNEL_ID, makeWireOffer, makeWireProduct } from '../helpers/fake-catalog.ts'
import { type Harness, createHarness } from '../helpers/harness.ts'
import { type PostgresServer, type TestDatabase, startPostgres } from '../helpers/postgres.ts'
import { toGtin } from '../helpers/products.ts'

const KNOWN = toGtin(1)
/** Of these the copy knows nothing. */
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
const readReady = async (): Promise<number> => (await request(harness.app).get('/readyz')).status

/** Warm, walked, and known to be stored. */
async function warmUp(): Promise<void> {
  await harness.context.walks.runNow()
  expect(await visit(KNOWN)).toMatchObject({ state: 'shown' })
  const grid = await request(harness.app).get(`/fragments/${CHANNEL_ID}/deals`)
  expect(grid.headers['vitrine-state']).toBe('shown')
}

/** Shown as it is, and fetched anew behind; on a busy machine the database may seem away for a moment. */
async function refresh(): Promise<void> {
  await vi.waitFor(async () => {
    const { state, cache } = await visit(KNOWN)
    expect([state, cache]).toEqual(['shown', expect.stringContaining('hit')])
  })
  expect(countProductCalls()).toBe(1)
}

describe('database that several machines share', () => {
  test('gone for a while - boxes and grids go on with their age, nothing is refreshed, and it heals by itself', async () => {
    await warmUp()
    harness.clock.advance(400 * SECOND_MS)
    await refresh()
    await server.stop('immediate')
    harness.clock.advance(400 * SECOND_MS)
    for (let turn = 0; turn < 5; turn += 1)
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
        expect(countProductCalls()).toBe(2)
      },
      { timeout: 10 * SECOND_MS, interval: 50 },
    )
    expect(harness.logs()).toContain('the stored copy is open again')
  })

  test('gone - products that nobody has seen are looked up from what was set aside, and no others', async () => {
    await warmUp()
    harness.clock.advance(400 * SECOND_MS)
    await refresh()
    await server.stop('immediate')
    const states: string[] = []
    for (const gtin of UNKNOWN) states.push((await visit(gtin)).state)
    expect(states.filter((state) => state === 'shown')).toHaveLength(10)
    expect(countProductCalls()).toBe(11)
    await server.start()
    await vi.waitFor(async () => {
      const { quota } = await harness.context.gate.readState()
      expect(quota).toMatchObject({ allowance: null, calls: { lookup: 10 } })
    })
  })

  test('standing still - one visitor waits no longer than the limit of a statement, and the next ones not at all', async () => {
    await warmUp()
    harness.clock.advance(400 * SECOND_MS)
    server.pause()
    try {
      const startedMs = performance.now()
      for (let turn = 0; turn < 20; turn += 1) expect(await visit(KNOWN)).toMatchObject({ state: 'shown' })
      expect(performance.now() - startedMs).toBeLessThan(20 * SECOND_MS)
    } finally {
      server.resume()
    }
    await vi.waitFor(async () => expect(await harness.context.store.ping()).toBeUndefined())
  })

  test('only to be read, as after another server has taken its place - counts as away, and heals when it may be written', async () => {
    await warmUp()
    const { database: name } = database.address
    await server.run(database.url, `alter database ${name} set default_transaction_read_only = on`)
    // Connections have the rules that were in force when they were made.
    await server.run(
      database.url,
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}' and pid <> pg_backend_pid()`,
    )
    await vi.waitFor(async () => {
      const { quota } = await harness.context.gate.readState()
      expect(quota.allowance).not.toBeNull()
    })
    expect(await visit(KNOWN)).toMatchObject({ state: 'shown' })
    const beside = new URL('/postgres', database.url).href
    await server.run(beside, `alter database ${name} set default_transaction_read_only = off`)
    await vi.waitFor(
      async () => {
        const { quota } = await harness.context.gate.readState()
        expect(quota.allowance).toBeNull()
      },
      { timeout: 10 * SECOND_MS },
    )
  })

  test('away at the start - the server starts, and has its copy when it comes', async () => {
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

  test('password that is wrong, database that is not there - check says so without the password', async () => {
    const { host, port } = database.address
    const { code, out, err } = await runHere(['check'], {
      VITRINE_DATABASE_URL: `postgres://owner:secret-pass-1@${host}:${port}/nowhere`,
      VITRINE_CATALOG_URL: harness.catalog.url,
      VITRINE_CATALOG_KEY: 'some-key-1234',
    })
    expect(code).toBe(1)
    const said = out + err
    expect(said).toContain('it has no such database')
    expect(said).toContain('are host, user, password, database and sslmode of the address right')
    expect(said).not.toContain('secret-pass')
    expect(harness.logs()).not.toContain('secret-pass')
  })
})
