import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { type OpenPostgres, openPostgres } from '../../../src/database/postgres.ts'
import { retry } from '../../../src/database/retries.ts'
import { describeWithProgram, findProgram } from '../includes/program.ts'
import { type PostgresServer, type TestDatabase, startPostgres } from '../../helpers/postgres.ts'

let server: PostgresServer
let database: TestDatabase
beforeAll(async () => {
  server = await startPostgres()
  database = await server.makeDatabase()
  await server.run(database.url, 'create table counters (id integer primary key, value bigint not null)')
  await server.run(database.url, 'insert into counters values (1, 0), (2, 0)')
})
afterAll(() => server.dispose())

type Tables = { counters: { id: number; value: number } }

function open(
  { size = 2, statementTimeoutMs = 5_000 }: { size?: number; statementTimeoutMs?: number } = {},
  { address } = database,
): OpenPostgres<Tables> {
  const opened = openPostgres<Tables>({ address, schema: 'public', size, statementTimeoutMs })
  onTestFinished(opened.close)
  return opened
}

const readValue = async ({ database: db }: OpenPostgres<Tables>, id = 1): Promise<number | undefined> =>
  (await db.selectFrom('counters').select('value').where('id', '=', id).executeTakeFirst())?.value

describe('values', () => {
  test('bigint and its sums - are numbers', async () => {
    const { rows } = await sql<Record<string, unknown>>`
      select 9007199254740991::bigint as large, sum(value) as sum, count(*) as count from counters`.execute(
      open().database,
    )
    expect(rows).toEqual([{ large: Number.MAX_SAFE_INTEGER, sum: 0, count: 2 }])
  })

  test('repeated statement - is prepared once per connection', async () => {
    const opened = open({ size: 1 })
    for (let turn = 0; turn < 4; turn += 1) await readValue(opened)
    const { rows } = await sql`select name from pg_prepared_statements`.execute(opened.database)
    expect(rows).toHaveLength(1)
  })
})

describe('statement that takes too long', () => {
  test('server that applies the timeout - cancels it, and the connection stays open', async () => {
    const opened = open({ size: 1, statementTimeoutMs: 200 })
    // Retry, because the connection is closed if a busy server is half a second late.
    await vi.waitFor(async () => {
      const before = await sql`select pg_backend_pid() as pid`.execute(opened.database)
      await expect(sql`select pg_sleep(30)`.execute(opened.database)).rejects.toMatchObject({ code: '57014' })
      expect(await sql`select pg_backend_pid() as pid`.execute(opened.database)).toMatchObject({
        rows: before.rows,
      })
    })
  })

  test('suspended server - its connection is closed, and a new one is opened once the server resumes', async () => {
    const opened = open({ size: 1, statementTimeoutMs: 200 })
    await vi.waitFor(() => readValue(opened))
    server.pause()
    try {
      await expect(readValue(opened)).rejects.toThrow('did not respond for 700 ms')
    } finally {
      server.resume()
    }
    // Retry, because a busy machine may exceed the timeout.
    await vi.waitFor(async () => expect(await readValue(opened)).toBe(0))
  })
})

describe('transaction on a suspended server', () => {
  test('rollback - does not wait for a second timeout', async () => {
    const opened = open({ size: 1, statementTimeoutMs: 5_000 })
    const slower = open({ size: 1, statementTimeoutMs: 8_000 })
    await Promise.all([readValue(opened), readValue(slower)])
    let other: Promise<unknown> = Promise.resolve()
    const work = opened.database.transaction().execute(async (transaction) => {
      await sql`select 1`.execute(transaction)
      server.pause()
      other = readValue(slower).catch(() => ends.push('8500 ms'))
      await sql`select 1`.execute(transaction)
    })
    const ends: unknown[] = []
    try {
      await work.catch(({ message }: Error) => ends.push(message))
      await other
      // Two timeouts would end after the other connection's longer timeout.
      expect(ends).toEqual([expect.stringContaining('did not respond for 5500 ms'), '8500 ms'])
    } finally {
      server.resume()
    }
    expect(await readValue(opened)).toBe(0)
  })
})

describe('server that stops', () => {
  test('idle and busy connections - do not end the process; the next statement opens a new one', async () => {
    const opened = open()
    await readValue(opened)
    const sleeping = sql`select pg_sleep(30)`.execute(opened.database)
    const ended = sleeping.catch((error: unknown) => error)
    await server.stop('immediate')
    expect(await ended).toBeInstanceOf(Error)
    await expect(readValue(opened)).rejects.toThrow('ECONNREFUSED')
    await server.start()
    expect(await readValue(opened)).toBe(0)
  })
})

const add = (opened: OpenPostgres<Tables>): Promise<void> =>
  retry(() =>
    opened.database
      .transaction()
      .setIsolationLevel('serializable')
      .execute(async (transaction) => {
        const { value } = await transaction
          .selectFrom('counters')
          .select('value')
          .where('id', '=', 2)
          .executeTakeFirstOrThrow()
        await transaction
          .updateTable('counters')
          .set({ value: value + 1 })
          .where('id', '=', 2)
          .execute()
      }),
  )

describe('conflicting transactions', () => {
  test('two that read what the other one writes - both succeed', async () => {
    const [one, other] = [open(), open()]
    for (let turn = 0; turn < 20; turn += 1) await Promise.all([add(one), add(other)])
    expect(await readValue(one, 2)).toBe(40)
  })

  test('other error - is not retried', async () => {
    let attempts = 0
    const fail = (): Promise<never> => {
      attempts += 1
      return Promise.reject(Object.assign(new Error('no such table'), { code: '42P01' }))
    }
    await expect(retry(fail)).rejects.toThrow('no such table')
    expect(attempts).toBe(1)
  })

  test('transaction that always conflicts - fails after nine attempts', async () => {
    let attempts = 0
    const failWithConflict = (): Promise<never> => {
      attempts += 1
      return Promise.reject(Object.assign(new Error('could not serialize'), { code: '40001' }))
    }
    await expect(retry(failWithConflict)).rejects.toThrow('could not serialize')
    expect(attempts).toBe(9)
  })
})

const isConnectedWithTls = async (parameters: string): Promise<unknown> => {
  const testDatabase = await server.makeDatabase(parameters)
  const opened = openPostgres<Tables>({
    address: testDatabase.address,
    schema: 'public',
    size: 1,
    statementTimeoutMs: 5_000,
  })
  onTestFinished(opened.close)
  const { rows } = await sql<{ ssl: boolean }>`
    select ssl from pg_stat_ssl where pid = pg_backend_pid()`.execute(opened.database)
  return rows[0]?.ssl
}

describeWithProgram('openssl', 'TLS', () => {
  let folder: string
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'vitrine-tls-'))
    const files = ['-keyout', join(folder, 'server.key'), '-out', join(folder, 'server.crt')]
    execFileSync(
      findProgram('openssl') ?? 'openssl',
      ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost', ...files],
      { stdio: 'ignore' },
    )
    await server.useTls(join(folder, 'server.key'), join(folder, 'server.crt'))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test('require - is encrypted, without checking the certificate', async () => {
    expect(await isConnectedWithTls('sslmode=require')).toBe(true)
  })

  test('verify-ca with its certificate - is encrypted, without checking the host name', async () => {
    expect(await isConnectedWithTls(`sslmode=verify-ca&sslrootcert=${join(folder, 'server.crt')}`)).toBe(true)
  })

  test('verify-ca without its certificate - is rejected', async () => {
    await expect(isConnectedWithTls('sslmode=verify-ca')).rejects.toThrow(
      /does not trust the authority of the certificate \(DEPTH_ZERO_SELF_SIGNED_CERT\): .* sslrootcert=FILE/,
    )
  })

  test('verify-full, certificate for another name - is rejected', async () => {
    const connecting = isConnectedWithTls(`sslmode=verify-full&sslrootcert=${join(folder, 'server.crt')}`)
    await expect(connecting).rejects.toThrow(/127\.0\.0\.1/)
  })

  test('missing sslrootcert file - the error names the parameter', async () => {
    await expect(isConnectedWithTls('sslmode=verify-ca&sslrootcert=/nowhere/ca.pem')).rejects.toThrow(
      'sslrootcert',
    )
  })

  test('disable - is not encrypted', async () => {
    expect(await isConnectedWithTls('')).toBe(false)
  })
})
