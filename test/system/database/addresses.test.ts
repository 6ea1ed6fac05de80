import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type PostgresAddress, databaseAddressParser } from '../../../src/config/database-address.ts'
import { checkServer } from '../../../src/database/check-server.ts'
import { openPostgres } from '../../../src/database/postgres.ts'
import { type PostgresServer, startPostgres } from '../../helpers/postgres.ts'
import { describeWithProgram, findProgram } from '../includes/program.ts'

let server: PostgresServer
let port: string
beforeAll(async () => {
  server = await startPostgres()
  port = new URL(server.url).port
})
afterAll(() => server.dispose())

type Session = Readonly<
  Record<'ssl' | 'is_socket' | 'search_path' | 'work_mem' | 'application_name', unknown>
>

/** Connect to an address and describe the session. */
async function connect(text: string): Promise<Session | undefined> {
  const address = databaseAddressParser.parse(text) as PostgresAddress
  await checkServer(address)
  const { database, close } = openPostgres({ address, schema: 'own', size: 1, statementTimeoutMs: 5_000 })
  try {
    const { rows } = await sql<Session>`
      select ssl, inet_client_addr() is null as is_socket, current_setting('search_path') as search_path,
        current_setting('work_mem') as work_mem, current_setting('application_name') as application_name
      from pg_stat_ssl where pid = pg_backend_pid()`.execute(database)
    return rows[0]
  } finally {
    await close()
  }
}

test.each([
  'postgres://owner@/postgres?host=FOLDER&port=PORT',
  'postgres://owner@:PORT/postgres?host=FOLDER&sslmode=require',
  'postgres://owner@ENCODED:PORT/postgres',
  'postgres://localhost/postgres?user=owner&host=FOLDER&port=PORT',
])('%s - connects through the Unix socket', async (form) => {
  const text = form
    .replace('FOLDER', server.socketFolder)
    .replace('ENCODED', encodeURIComponent(server.socketFolder))
    .replace('PORT', port)
  expect(await connect(text)).toMatchObject({ is_socket: true, ssl: false })
})

test('options with a search path and another setting - the setting applies, the own search path wins', async () => {
  const options = encodeURIComponent('-c search_path=public -c work_mem=8MB')
  expect(await connect(`${server.url}?options=${options}&application_name=My%20shop`)).toMatchObject({
    search_path: 'own',
    work_mem: '8MB',
    application_name: 'My shop',
  })
})

test('parameters without an effect on the connection - it is opened', async () => {
  const text = `${server.url}?connect_timeout=10&keepalives=1&keepalives_idle=30&gssencmode=prefer&target_session_attrs=read-write&channel_binding=prefer&client_encoding=UTF8`
  expect(await connect(text)).toMatchObject({ is_socket: false })
})

describeWithProgram('openssl', 'TLS', () => {
  let folder: string
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'vitrine-addresses-'))
    const files = ['-keyout', join(folder, 'own.key'), '-out', join(folder, 'own.crt')]
    execFileSync(
      findProgram('openssl') ?? 'openssl',
      ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost', ...files],
      { stdio: 'ignore' },
    )
    await server.useTls(join(folder, 'own.key'), join(folder, 'own.crt'))
    await server.run(server.url, `create role bound login password 'pw'`)
    await server.run(server.url, `create role plain login password 'pw'`)
    await server.run(server.url, `create role localhost login`)
    await server.run(server.url, `set password_encryption = 'md5'; create role legacy login password 'pw'`)
    // The certificate signs itself, so it is also its authority.
    await server.run(server.url, `alter system set ssl_ca_file = 'server.crt'`)
    const [row] = await server.run(server.url, 'show hba_file')
    const hbaFile = String(row?.['hba_file'])
    const rules = [
      'hostssl all bound 127.0.0.1/32 scram-sha-256',
      'hostssl all plain 127.0.0.1/32 password',
      'hostssl all legacy 127.0.0.1/32 md5',
      'hostssl all localhost 127.0.0.1/32 cert',
      'host all bound,plain,legacy,localhost 127.0.0.1/32 reject',
    ]
    writeFileSync(hbaFile, `${rules.join('\n')}\n${readFileSync(hbaFile, 'utf8')}`)
    // Connections after the restart have the new rules.
    await server.stop('fast')
    await server.start()
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  const toUrl = (user: string, parameters: string): string =>
    `postgres://${user}:pw@127.0.0.1:${port}/postgres?${parameters.replaceAll('FOLDER', folder)}`

  test.each([
    ['bound', 'sslmode=require&channel_binding=require'],
    ['bound', 'sslmode=verify-ca&sslrootcert=FOLDER/own.crt&channel_binding=require'],
    ['bound', 'sslmode=require&channel_binding=prefer'],
    ['bound', 'sslmode=require&channel_binding=disable'],
    ['legacy', 'sslmode=require&channel_binding=prefer'],
    ['owner', 'sslmode=require&channel_binding=prefer'],
    ['bound', 'ssl=true'],
    ['bound', 'sslmode=no-verify'],
    ['bound', 'sslmode=require&sslnegotiation=direct&channel_binding=require'],
    ['localhost', 'sslmode=require&sslcert=FOLDER/own.crt&sslkey=FOLDER/own.key'],
  ])('%s, %s - connects encrypted', async (user, parameters) => {
    expect(await connect(toUrl(user, parameters))).toMatchObject({ ssl: true })
  })

  test('sslmode=verify-full, host name of the certificate - connects encrypted', async () => {
    const url = `postgres://owner@localhost:${port}/postgres?sslmode=verify-full&sslrootcert=${folder}/own.crt`
    expect(await connect(url)).toMatchObject({ ssl: true })
  })

  test.each([
    ['plain', 'sslmode=require&channel_binding=require', 'channel_binding=require demands'],
    ['legacy', 'sslmode=require&channel_binding=require', 'channel_binding=require demands'],
    ['owner', 'sslmode=require&channel_binding=require', 'channel_binding=require demands'],
    ['bound', 'sslmode=disable', 'requires encryption (sslmode)'],
    ['bound', 'sslrootcert=system', 'does not trust the authority of the certificate'],
    ['owner', 'sslmode=verify-full&sslrootcert=FOLDER/own.crt', 'certificate is for another name (ERR_TLS_'],
    ['localhost', 'sslmode=require&sslcert=/no.crt&sslkey=FOLDER/own.key', 'file that sslcert names'],
    ['localhost', 'sslmode=require&sslcert=FOLDER/own.crt&sslkey=/no.key', 'file that sslkey names'],
  ])('%s, %s - is rejected with the reason', async (user, parameters, reason) => {
    await expect(connect(toUrl(user, parameters))).rejects.toThrow(reason)
  })
})
