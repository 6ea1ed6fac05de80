import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, chownSync, copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Client } from 'pg'
import type { PostgresAddress } from '../../src/config/database-address.ts'
import { databaseAddressParser } from '../../src/config/database-address.ts'
import { findPostgres, toUserOptions } from './postgres-programs.ts'
import { findFreePort } from '../system/includes/program.ts'

/** A database for one test. */
export type TestDatabase = Readonly<{
  url: string
  address: PostgresAddress
  /** Delete all rows, which is much faster than a new database. */
  truncate(): Promise<void>
  drop(): Promise<void>
}>

/** A PostgreSQL server that may be shared. */
export type PostgresClient = Readonly<{
  /** Create an empty database; `parameters` are appended to its URL. */
  makeDatabase(parameters?: string): Promise<TestDatabase>
  /** Execute a statement as superuser. */
  run(url: string, statement: string): Promise<readonly Record<string, unknown>[]>
}>

/** A PostgreSQL server for one test file. */
export type PostgresServer = PostgresClient &
  Readonly<{
    url: string
    /** Folder of its Unix socket. */
    socketFolder: string
    /** Kill the server, as in a power failure, or stop it. `start` restarts it on the same port. */
    stop(how: 'immediate' | 'fast'): Promise<void>
    start(): Promise<void>
    /** Suspend the server until `resume`, with its connections open. */
    pause(): void
    resume(): void
    /** Enable TLS with this key and certificate. */
    useTls(keyFile: string, certificateFile: string): Promise<void>
    dispose(): Promise<void>
  }>

/** URL of the server that all system tests share: from the environment, or started before them. */
export const SHARED_SERVER_VARIABLE = 'TEST_DATABASE_URL'

/** Time limit to start or to reload settings, generous because the machine may be busy. */
const START_TIMEOUT_MS = 60_000

/** Return the shared server. Its databases have long timeouts unless `parameters` override them. */
export function usePostgres(): PostgresClient {
  // oxlint-disable-next-line node/no-process-env -- where the tests find their server, not a setting of the program
  const url = process.env[SHARED_SERVER_VARIABLE]
  if (url === undefined)
    throw new Error(`${SHARED_SERVER_VARIABLE} is not set: only system tests have a PostgreSQL server`)
  const { makeDatabase, run } = createPostgresClient(url)
  return { makeDatabase: (parameters = LONG_TIMEOUT_PARAMETERS) => makeDatabase(parameters), run }
}

/** A shared server is slow: with the default timeouts of one and two seconds it would count as unavailable. */
const LONG_TIMEOUT_PARAMETERS = 'statement_timeout_ms=60000&connect_timeout_ms=60000'

/** Start a separate server, which the test may stop. */
export async function startPostgres(): Promise<PostgresServer> {
  const { bin, uid } = findPostgres()
  const folder = mkdtempSync(join(tmpdir(), 'vitrine-postgres-'))
  chmodSync(folder, 0o700)
  if (uid !== undefined) chownSync(folder, uid, uid)
  const options = {
    ...toUserOptions(uid),
    cwd: folder,
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', HOME: folder },
  }
  const data = join(folder, 'data')
  const initdb = spawnSync(
    join(bin, 'initdb'),
    ['-D', data, '-U', 'owner', '-A', 'trust', '-E', 'UTF8', '--no-sync', '--no-instructions'],
    options,
  )
  if (initdb.status !== 0) {
    rmSync(folder, { recursive: true, force: true })
    throw new Error(`initdb failed: ${String(initdb.stderr)}`)
  }
  const port = await findFreePort()
  const url = `postgres://owner@127.0.0.1:${port}/postgres`
  let server: ChildProcess | undefined
  const start = async (): Promise<void> => {
    const socket = ['-c', `unix_socket_directories=${folder}`]
    server = spawn(join(bin, 'postgres'), ['-D', data, '-p', String(port), ...socket, ...SETTINGS], {
      ...options,
      stdio: 'ignore',
    })
    await retry(() => query(url, 'select 1'))
  }
  const stop = async (how: 'immediate' | 'fast'): Promise<void> => {
    const running = server
    server = undefined
    if (running === undefined || running.exitCode !== null) return
    const ended = new Promise((resolve) => running.once('exit', resolve))
    running.kill(how === 'fast' ? 'SIGINT' : 'SIGQUIT')
    await ended
  }
  await start()
  const signalAll = (signal: NodeJS.Signals): void => {
    // Each connection is a process, and a suspended server starts no new ones.
    const pid = server?.pid
    if (pid === undefined) throw new Error('the server is not running')
    process.kill(pid, signal)
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').map(Number)
    for (const childPid of children) if (childPid > 0) signalIfRunning(childPid, signal)
  }
  return {
    ...createPostgresClient(url),
    url,
    socketFolder: folder,
    start,
    stop,
    pause: () => signalAll('SIGSTOP'),
    resume: () => signalAll('SIGCONT'),
    async useTls(keyFile, certificateFile) {
      for (const [file, name] of [
        [keyFile, 'server.key'],
        [certificateFile, 'server.crt'],
      ] as const) {
        copyFileSync(file, join(data, name))
        chmodSync(join(data, name), 0o600)
        if (uid !== undefined) chownSync(join(data, name), uid, uid)
      }
      await query(url, 'alter system set ssl = on')
      await query(url, 'select pg_reload_conf()')
      await retry(async () => {
        const [row] = await query(url, 'show ssl')
        if (row?.['ssl'] !== 'on') throw new Error('TLS is not enabled yet')
      })
    },
    async dispose() {
      await stop('immediate')
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Retry an action until it succeeds. @throws Error of the last try. */
async function retry(action: () => Promise<unknown>): Promise<void> {
  const endMs = performance.now() + START_TIMEOUT_MS
  for (;;) {
    try {
      await action()
      return
    } catch (error) {
      if (performance.now() > endMs) throw error
      await wait(20)
    }
  }
}

/** Send a signal, unless the process has ended: a connection that was just closed may be about to end. */
function signalIfRunning(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Durability is not needed. */
const SETTINGS = [
  'fsync=off',
  'full_page_writes=off',
  'max_connections=200',
  'shared_buffers=64MB',
  'listen_addresses=127.0.0.1',
].flatMap((setting) => ['-c', setting])

function createPostgresClient(url: string): PostgresClient {
  return {
    run: query,
    async makeDatabase(parameters = '') {
      const name = `vitrine_test_${randomBytes(6).toString('hex')}`
      // Only template0 allows an encoding that differs from that of the template.
      await query(url, `create database ${name} template template0 encoding 'UTF8'`)
      const databaseUrl = new URL(url)
      databaseUrl.pathname = `/${name}`
      databaseUrl.search = parameters
      const address = databaseAddressParser.parse(databaseUrl.href)
      if (address?.kind !== 'postgres') throw new Error(`invalid database address: ${parameters}`)
      return {
        url: databaseUrl.href,
        address,
        truncate: () => truncateAllTables(databaseUrl.href),
        drop: () => drop(url, name),
      }
    },
  }
}

async function truncateAllTables(url: string): Promise<void> {
  const [row] = await query(
    url,
    `select string_agg(format('%I.%I', schemaname, tablename), ', ') as tables from pg_tables
    where schemaname like 'vitrine%' and tablename not in ('kysely_migration', 'migration_lock')`,
  )
  const tables = row?.['tables']
  if (typeof tables === 'string') await query(url, `truncate ${tables}`)
}

async function drop(url: string, name: string): Promise<void> {
  await query(url, `drop database if exists ${name} with (force)`)
}

async function query(url: string, statement: string): Promise<readonly Record<string, unknown>[]> {
  const urlWithoutParameters = new URL(url)
  urlWithoutParameters.search = ''
  const client = new Client({ connectionString: urlWithoutParameters.href, connectionTimeoutMillis: 5_000 })
  client.on('error', () => {})
  await client.connect()
  try {
    const { rows } = await client.query<Record<string, unknown>>(statement)
    return rows
  } finally {
    await client.end()
  }
}
