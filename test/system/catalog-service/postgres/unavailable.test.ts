import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { openCatalogStore } from '../../../../src/catalog-service/store/open-store.ts'
import { systemClock } from '../../../../src/clock.ts'
import { makeFolder, makeSettings, runBuilt, runInProcess, startBuilt } from '../../../cli/run-cli.ts'
import { findFreePort } from '../../includes/program.ts'
import { type PostgresServer, startPostgres } from '../../../helpers/postgres.ts'
import { addApiKey } from '../../../catalog-service/harness.ts'
import { requestValidated } from '../../../catalog-service/openapi-validation.ts'

const USER = 'somebody-special'
const PASSWORD = 'do-not-tell'
const BUSY = { error: 'the catalog is busy; try again in a moment' }

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.dispose())

/** A catalog with a key. */
async function createCatalog(): Promise<{ url: string; label: string; key: string }> {
  const { url, address } = await server.makeDatabase('?statement_timeout_ms=500&connect_timeout_ms=500')
  const store = await openCatalogStore({ database: address, clock: systemClock })
  const { key } = await addApiKey(store, 'one')
  await store.close()
  return { url, label: address.label, key }
}

/** `catalog serve` over a database, as a process of its own. */
async function serve(url: string): Promise<{ base: string; running: ReturnType<typeof startBuilt> }> {
  const settings = makeSettings(makeFolder(), {
    VITRINE_CATALOG_DATABASE_URL: url,
    VITRINE_LOG_LEVEL: 'info',
  })
  const running = startBuilt(['catalog', 'serve', '--json'], settings)
  const { url: base } = JSON.parse(await running.firstLine) as { url: string }
  return { base, running }
}

describe('database that is away', () => {
  test('stopped and started again - 503 soon, in the form of the contract; then it answers by itself', async () => {
    const { url, label, key } = await createCatalog()
    const { base, running } = await serve(url)
    const get = () => requestValidated(base).get('/v0/channels').set('Authorization', `Bearer ${key}`)
    await vi.waitFor(() => get().expect(200))
    await server.stop('immediate')
    const { body } = await get().expect(503)
    expect(body).toEqual(BUSY)
    await server.start()
    await vi.waitFor(() => get().expect(200))
    await vi.waitFor(() => expect(running.output()).toContain(`${label}: it cannot be reached`))
    expect(running.output()).not.toContain('owner')
    expect((await running.stop('SIGTERM')).code).toBe(0)
  })

  test('standing still - 503 soon for all, and healed when it goes on', async () => {
    const { url, key } = await createCatalog()
    const { base } = await serve(url)
    const get = () => requestValidated(base).get('/v0/channels').set('Authorization', `Bearer ${key}`)
    await vi.waitFor(() => get().expect(200))
    server.pause()
    // It stands still until they are answered.
    const responses = await Promise.all([1, 2, 3, 4].map(() => get()))
    server.resume()
    expect(responses.map(({ status }) => status)).toEqual([503, 503, 503, 503])
    await vi.waitFor(() => get().expect(200))
  })

  test('away at the start of the service - it listens, says what is wrong, and heals', async () => {
    const { url, label, key } = await createCatalog()
    await server.stop('fast')
    const { base, running } = await serve(url)
    const get = () => requestValidated(base).get('/v0/channels').set('Authorization', `Bearer ${key}`)
    await get().expect(503)
    await vi.waitFor(() => expect(running.output()).toContain(`Every request gets a 503 until this is fixed: `))
    await vi.waitFor(() => expect(running.output()).toContain(label))
    await server.start()
    await vi.waitFor(() => get().expect(200))
  })
})

describe('words about a database', () => {
  test('user who may make no schema there - the service listens, and says just that', async () => {
    const { url, address } = await server.makeDatabase()
    await server.run(url, 'create role visitor login')
    const visitor = new URL(url)
    visitor.username = 'visitor'
    const { base, running } = await serve(visitor.href)
    await requestValidated(base).get('/v0/channels').set('Authorization', 'Bearer some-key').expect(503)
    // The line of the log comes by another way than the response.
    await vi.waitFor(() =>
      expect(running.output()).toContain(
        `503: the catalog's database cannot be opened: ${address.label}: permission denied for database ${address.database}`,
      ),
    )
  })

  test('nobody listens there - commands and check say where, and how to mend it, and never who', async () => {
    const port = await findFreePort()
    const url = `postgres://${USER}:${PASSWORD}@127.0.0.1:${port}/shop`
    const settings = makeSettings(makeFolder(), { VITRINE_CATALOG_DATABASE_URL: url })
    const outputs: string[] = []
    for (const args of [
      ['catalog', 'networks'],
      ['catalog', 'networks', 'add', 'N'],
      ['catalog', 'keys', '--json'],
    ]) {
      const { code, out, err } = await runInProcess(args, settings)
      expect(code).toBe(1)
      expect(err).toContain(`127.0.0.1:${port}/shop: it cannot be reached (ECONNREFUSED)`)
      outputs.push(out, err)
    }
    for (const args of [['check'], ['check', '--json']]) {
      const { code, out, err } = await runBuilt(args, settings)
      expect([code, out]).toEqual([1, expect.stringContaining('VITRINE_CATALOG_DATABASE_URL running')])
      outputs.push(out, err)
    }
    expect(outputs.join('')).not.toMatch(new RegExp(`${USER}|${PASSWORD}`))
  })

  test('wrong user, no such database - said without the name of the user', async () => {
    const { url } = await server.makeDatabase()
    const stranger = new URL(url)
    stranger.username = USER
    const missing = new URL(url)
    missing.pathname = '/nowhere'
    for (const [address, args] of [
      [stranger, 'it refuses the user'],
      [missing, 'it has no such database'],
    ] as const) {
      const settings = makeSettings(makeFolder(), { VITRINE_CATALOG_DATABASE_URL: address.href })
      const { code, err } = await runInProcess(['catalog', 'networks'], settings)
      expect([code, err]).toEqual([1, expect.stringContaining(args)])
      expect(err).not.toContain(USER)
    }
  })

  test('made by a newer version - is left as it is, and said', async () => {
    const { url } = await createCatalog()
    await server.run(url, `insert into vitrine_catalog.kysely_migration values ('postgres-9999-later', 'x')`)
    const settings = makeSettings(makeFolder(), { VITRINE_CATALOG_DATABASE_URL: url })
    const { code, err } = await runInProcess(['catalog', 'networks'], settings)
    expect([code, err]).toEqual([1, expect.stringContaining('VITRINE_STORE_NEWER')])
  })
})

describe('a server on it', () => {
  test('serve and check - the embedded catalog puts its sample, and is good', async () => {
    const { address } = await server.makeDatabase()
    const settings = makeSettings(makeFolder(), { VITRINE_CATALOG_DATABASE_URL: address.text.reveal() })
    const running = startBuilt(['serve', '--json'], settings)
    expect(JSON.parse(await running.firstLine)).toMatchObject({ studio: expect.any(String) })
    expect((await running.stop('SIGTERM')).code).toBe(0)
    const { code, out } = await runBuilt(['check'], settings)
    expect([code, out]).toEqual([0, expect.stringContaining('the catalog responds and accepts the key')])
  })
})
