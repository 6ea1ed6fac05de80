import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { openCatalogStore } from '../../../../src/catalog-service/store/open-store.ts'
import { systemClock } from '../../../../src/clock.ts'
import { makeFolder, makeSettings, runBuilt, runInProcess, startBuilt } from '../../../cli/run-cli.ts'
import { findFreePort } from '../../includes/program.ts'
import { type PostgresServer, startPostgres } from '../../../helpers/postgres.ts'
import { addApiKey } from '../../../catalog-service/harness.ts'
import { requestValidated } from '../../../catalog-service/openapi-validation.ts'

const USER = 'special-user'
const PASSWORD = 'do-not-tell'
const BUSY = { error: 'the catalog is busy; try again in a moment' }

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.dispose())

/** Create a catalog with an API key. */
async function createCatalog(): Promise<{ url: string; label: string; key: string }> {
  const { url, address } = await server.makeDatabase('?statement_timeout_ms=500&connect_timeout_ms=500')
  const store = await openCatalogStore({ database: address, clock: systemClock })
  const { key } = await addApiKey(store, 'one')
  await store.close()
  return { url, label: address.label, key }
}

/** Start `catalog serve` with a database in a separate process. */
async function serve(url: string): Promise<{ base: string; running: ReturnType<typeof startBuilt> }> {
  const settings = makeSettings(makeFolder(), {
    VITRINE_CATALOG_DATABASE_URL: url,
    VITRINE_LOG_LEVEL: 'info',
  })
  const running = startBuilt(['catalog', 'serve', '--json'], settings)
  const { url: base } = JSON.parse(await running.firstLine) as { url: string }
  return { base, running }
}

describe('unavailable database', () => {
  test('stopped and restarted - requests get a 503 of the contract, and succeed again without a restart of the service', async () => {
    const { url, label, key } = await createCatalog()
    const { base, running } = await serve(url)
    const get = () => requestValidated(base).get('/v0/channels').set('Authorization', `Bearer ${key}`)
    await vi.waitFor(() => get().expect(200))
    await server.stop('immediate')
    const { body } = await get().expect(503)
    expect(body).toEqual(BUSY)
    // The first request may have met an open connection that broke. A later one needs a new connection.
    await vi.waitFor(async () => {
      await get().expect(503)
      expect(running.output()).toContain(`${label}: the server cannot be reached`)
    })
    await server.start()
    await vi.waitFor(() => get().expect(200))
    expect(running.output()).not.toContain('owner')
    expect((await running.stop('SIGTERM')).code).toBe(0)
  })

  test('suspended - all requests get a 503, and succeed again after it resumes', async () => {
    const { url, key } = await createCatalog()
    const { base } = await serve(url)
    const get = () => requestValidated(base).get('/v0/channels').set('Authorization', `Bearer ${key}`)
    await vi.waitFor(() => get().expect(200))
    server.pause()
    // Resume only after all responses.
    const responses = await Promise.all([1, 2, 3, 4].map(() => get()))
    server.resume()
    expect(responses.map(({ status }) => status)).toEqual([503, 503, 503, 503])
    await vi.waitFor(() => get().expect(200))
  })

  test('unavailable at the start of the service - it listens, logs the reason, and recovers', async () => {
    const { url, label, key } = await createCatalog()
    await server.stop('fast')
    const { base, running } = await serve(url)
    const get = () => requestValidated(base).get('/v0/channels').set('Authorization', `Bearer ${key}`)
    await get().expect(503)
    await vi.waitFor(() =>
      expect(running.output()).toContain(`Every request gets a 503 until this is fixed: `),
    )
    await vi.waitFor(() => expect(running.output()).toContain(label))
    await server.start()
    await vi.waitFor(() => get().expect(200))
  })
})

describe('messages about a database', () => {
  test('user without permission to create the schema - the service listens, and logs this reason', async () => {
    const { url, address } = await server.makeDatabase()
    await server.run(url, 'create role visitor login')
    const visitor = new URL(url)
    visitor.username = 'visitor'
    const { base, running } = await serve(visitor.href)
    await requestValidated(base).get('/v0/channels').set('Authorization', 'Bearer some-key').expect(503)
    // The log line may arrive after the response.
    await vi.waitFor(() =>
      expect(running.output()).toContain(
        `fixed: The schema "vitrine_catalog" is missing, and the user may not create it: ${address.label}: permission denied for database ${address.database}. As an administrator`,
      ),
    )
  })

  test('connection refused - commands and `check` print the address and a remedy, but no user or password', async () => {
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
      expect(err).toContain(`127.0.0.1:${port}/shop: the server cannot be reached (ECONNREFUSED)`)
      outputs.push(out, err)
    }
    for (const args of [['check'], ['check', '--json']]) {
      const { code, out, err } = await runBuilt(args, settings)
      expect([code, out]).toEqual([1, expect.stringContaining('VITRINE_CATALOG_DATABASE_URL runs')])
      outputs.push(out, err)
    }
    expect(outputs.join('')).not.toMatch(new RegExp(`${USER}|${PASSWORD}`))
  })

  test('wrong user or missing database - the message does not contain the user', async () => {
    const { url } = await server.makeDatabase()
    const wrongUser = new URL(url)
    wrongUser.username = USER
    const missing = new URL(url)
    missing.pathname = '/nowhere'
    for (const [address, message] of [
      [wrongUser, 'the server rejects the user'],
      [missing, 'the database does not exist'],
    ] as const) {
      const settings = makeSettings(makeFolder(), { VITRINE_CATALOG_DATABASE_URL: address.href })
      const { code, err } = await runInProcess(['catalog', 'networks'], settings)
      expect([code, err]).toEqual([1, expect.stringContaining(message)])
      expect(err).not.toContain(USER)
    }
  })
})

describe('a server with a PostgreSQL catalog', () => {
  test('serve and check - the embedded catalog adds sample data, and the check succeeds', async () => {
    const { address } = await server.makeDatabase()
    const settings = makeSettings(makeFolder(), { VITRINE_CATALOG_DATABASE_URL: address.text.reveal() })
    const running = startBuilt(['serve', '--json'], settings)
    expect(JSON.parse(await running.firstLine)).toMatchObject({ studio: expect.any(String) })
    expect((await running.stop('SIGTERM')).code).toBe(0)
    const { code, out } = await runBuilt(['check'], settings)
    expect([code, out]).toEqual([0, expect.stringContaining('the catalog responds and accepts the key')])
  })
})
