import { Client } from 'pg'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openCatalogStore } from '../../../src/catalog-service/store/open-store.ts'
import { systemClock } from '../../../src/clock.ts'
import { type PostgresAddress, databaseAddressParser } from '../../../src/config/database-address.ts'
import { checkServer } from '../../../src/database/check-server.ts'
import { openStoredCopy } from '../../../src/storage/stored-copy.ts'
import { makeFolder, makeSettings, runBuilt, startBuilt } from '../../cli/run-cli.ts'
import { startPgbouncer } from '../../helpers/pgbouncer.ts'
import { type TestDatabase, usePostgres } from '../../helpers/postgres.ts'
import { describeWithProgram, findFreePort } from '../includes/program.ts'

const server = usePostgres()
const CATALOG = 'http://catalog.example'

async function makeDatabase(parameters?: string): Promise<TestDatabase> {
  const database = await server.makeDatabase(parameters)
  onTestFinished(() => database.drop())
  return database
}

/** Create a database with another encoding; return its address. */
async function makeEncodedDatabase(encoding: string): Promise<PostgresAddress> {
  const { url } = await makeDatabase()
  const name = `${new URL(url).pathname.slice(1)}_encoded`
  await server.run(url, `create database ${name} encoding '${encoding}' locale 'C' template template0`)
  onTestFinished(async () => void (await server.run(url, `drop database ${name} with (force)`)))
  const encoded = new URL(url)
  encoded.pathname = `/${name}`
  return parse(encoded.href)
}

const parse = (url: string): PostgresAddress => databaseAddressParser.parse(url) as PostgresAddress

const OPENERS = {
  'stored copy': async (database: PostgresAddress): Promise<void> =>
    (await openStoredCopy({ database, catalog: CATALOG })).close(),
  catalog: async (database: PostgresAddress): Promise<void> =>
    (await openCatalogStore({ database, clock: systemClock })).close(),
} as const
const NAMES = Object.keys(OPENERS) as (keyof typeof OPENERS)[]

test.each(NAMES)('%s in a LATIN9 database - is refused with the statement for a new one', async (name) => {
  const address = await makeEncodedDatabase('LATIN9')
  await expect(OPENERS[name](address)).rejects.toMatchObject({
    code: 'VITRINE_STORE_FAILED',
    message: `The database ${address.label} has the encoding LATIN9, which cannot store all texts`,
    remedy: expect.stringContaining(`encoding 'UTF8' locale 'C' template template0`),
  })
})

test.each(NAMES)('%s in a SQL_ASCII database - opens', async (name) => {
  await expect(OPENERS[name](await makeEncodedDatabase('SQL_ASCII'))).resolves.toBeUndefined()
})

test('check with a LATIN9 database - names encoding, remedy and setting', async () => {
  const { text } = await makeEncodedDatabase('LATIN9')
  const settings = makeSettings(makeFolder(), { VITRINE_DATABASE_URL: text.reveal() })
  const { code, out } = await runBuilt(['check'], settings)
  expect([code, out]).toEqual([
    1,
    expect.stringMatching(
      /encoding LATIN9[^]*template template0. The address is set by VITRINE_DATABASE_URL/,
    ),
  ])
})

test('role with a single connection - is accepted', async () => {
  const { url, address } = await makeDatabase()
  const role = `${address.database}_single`
  await server.run(url, `create role ${role} login connection limit 1`)
  onTestFinished(async () => void (await server.run(url, `drop role ${role}`)))
  const single = new URL(url)
  single.username = role
  await expect(checkServer(parse(single.href))).resolves.toBeUndefined()
})

/** Let two clients use the pooler at the same time, so that it has two connections to the server. */
async function openTwoServerConnections(url: string): Promise<void> {
  const plain = new URL(url)
  plain.search = ''
  const clients = [1, 2].map(() => new Client({ connectionString: plain.href }))
  await Promise.all(clients.map((client) => client.connect()))
  for (const client of clients) await client.query('begin')
  for (const client of clients) await client.query('commit')
  await Promise.all(clients.map((client) => client.end()))
}

describeWithProgram('pgbouncer', 'PgBouncer', () => {
  const REFUSAL = {
    code: 'VITRINE_STORE_FAILED',
    message: expect.stringMatching(/^A connection pooler in transaction or statement mode is in front of /),
    remedy: expect.stringContaining('session mode'),
  }
  const SHARING_SETTINGS = [
    { pool_mode: 'transaction' },
    { pool_mode: 'transaction', default_pool_size: 1 },
    { pool_mode: 'transaction', server_round_robin: 1 },
    { pool_mode: 'transaction', server_reset_query_always: 1 },
    { pool_mode: 'statement' },
  ]

  test.each(SHARING_SETTINGS.flatMap((settings) => NAMES.map((name) => ({ name, settings }))))(
    '$name, $settings - is refused',
    async ({ name, settings }) => {
      const { url } = await makeDatabase()
      const pooledUrl = await startPgbouncer(url, settings)
      await expect(OPENERS[name](parse(pooledUrl))).rejects.toMatchObject(REFUSAL)
    },
  )

  test.each([0, 1])(
    'transaction mode with two server connections, server_round_robin=%i - is refused',
    async (roundRobin) => {
      const { url } = await makeDatabase()
      const settings = { pool_mode: 'transaction', server_round_robin: roundRobin }
      const pooledUrl = await startPgbouncer(url, settings)
      await openTwoServerConnections(pooledUrl)
      await expect(checkServer(parse(pooledUrl))).rejects.toMatchObject(REFUSAL)
    },
  )

  test.each(NAMES)('%s, session mode - opens', async (name) => {
    const { url } = await makeDatabase()
    const pooledUrl = await startPgbouncer(url, { pool_mode: 'session' })
    await expect(OPENERS[name](parse(pooledUrl))).resolves.toBeUndefined()
  })

  test('session mode with a single server connection - is accepted', async () => {
    const { url } = await makeDatabase('statement_timeout_ms=500')
    const settings = { pool_mode: 'session', default_pool_size: 1 }
    const pooledUrl = await startPgbouncer(url, settings)
    await expect(checkServer(parse(pooledUrl))).resolves.toBeUndefined()
  })

  test('transaction mode, check - names mode, remedy and setting', async () => {
    const { url } = await makeDatabase()
    const pooledUrl = await startPgbouncer(url, { pool_mode: 'transaction' })
    const settings = makeSettings(makeFolder(), { VITRINE_DATABASE_URL: pooledUrl })
    const { code, out } = await runBuilt(['check'], settings)
    expect([code, out]).toEqual([
      1,
      expect.stringMatching(
        /stored copy: A connection pooler[^]*session mode. The address is set by VITRINE_DATA/,
      ),
    ])
  })

  test('transaction mode, serve with the embedded catalog - does not start, and says why', async () => {
    const { url } = await makeDatabase()
    const pooledUrl = await startPgbouncer(url, { pool_mode: 'transaction' })
    const databases = { VITRINE_DATABASE_URL: pooledUrl, VITRINE_CATALOG_DATABASE_URL: pooledUrl }
    const { code, err } = await runBuilt(['serve'], makeSettings(makeFolder(), databases))
    expect([code, err]).toEqual([1, expect.stringMatching(/A connection pooler[^]*session mode/)])
  })

  test('session mode, serve with copy and embedded catalog in one database - starts, and check succeeds', async () => {
    const { url } = await makeDatabase()
    const pooledUrl = await startPgbouncer(url, { pool_mode: 'session' })
    const databases = { VITRINE_DATABASE_URL: pooledUrl, VITRINE_CATALOG_DATABASE_URL: pooledUrl }
    const settings = makeSettings(makeFolder(), databases)
    const running = startBuilt(['serve', '--json'], settings)
    expect(JSON.parse(await running.firstLine)).toMatchObject({ studio: expect.any(String) })
    expect(await running.stop('SIGTERM')).toMatchObject({ code: 0 })
    expect(await runBuilt(['check'], settings)).toMatchObject({ code: 0 })
  })

  test('pooler in transaction mode that starts after the server - is refused later, and reported', async () => {
    const { url } = await makeDatabase()
    const port = await findFreePort()
    const pooled = new URL(url)
    pooled.host = `127.0.0.1:${port}`
    const failures: unknown[] = []
    const store = await openStoredCopy({
      database: parse(pooled.href),
      catalog: CATALOG,
      service: { visitorTimeoutMs: 2_000, onFailure: (error) => failures.push(error) },
    })
    onTestFinished(() => store.close())
    expect(failures).toHaveLength(1)
    await startPgbouncer(url, { pool_mode: 'transaction' }, port)
    await vi.waitFor(() => expect(failures.at(-1)).toMatchObject(REFUSAL))
    await expect(store.findChannelList()).rejects.toMatchObject({ cause: REFUSAL })
    expect(failures).toHaveLength(2)
  })
})
