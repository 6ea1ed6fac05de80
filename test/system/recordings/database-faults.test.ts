import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { MINUTE_MS, systemClock } from '../../../src/clock.ts'
import { databaseAddressParser } from '../../../src/config/database-address.ts'
import { type Fault, type FaultSetup, recordFault } from '../../recordings/faults/fault-table.ts'
import { type Lane, seedCatalog, seedCopy } from '../../recordings/faults/lanes.ts'
import { createStatementLog } from '../../recordings/faults/statement-log.ts'
import { type VirtualTime, installVirtualTime, waitForOthers } from '../../recordings/faults/virtual-time.ts'
import { useDatabase } from '../use-database.ts'
import { type FaultProxy, type ProxyHooks, startFaultProxy } from './fault-proxy.ts'

/**
 * What callers see when PostgreSQL fails: value or error, attempts, time, and recovery. Both database layers will be replaced by one,
 * and this record must stay the same.
 */

const database = useDatabase()
const PARAMETERS = 'sslmode=disable&statement_timeout_ms=1000&connect_timeout_ms=2000'
const FEW = 2

/** The table that the lane needs. */
const toTable = ({ side, name }: Lane): string => {
  if (side === 'copy') return 'vitrine_copy.copies'
  const tables: Readonly<Record<string, string>> = { count: 'usage', write: 'organizations' }
  return `vitrine_catalog.${tables[name] ?? 'products'}`
}
const toSchema = ({ side }: Lane): string => (side === 'copy' ? 'vitrine_copy' : 'vitrine_catalog')

type Current = {
  proxy: FaultProxy
  admin: Client
  hooks: ProxyHooks
  time: VirtualTime | undefined
  locked: boolean
}
let current: Current

const SETTING = /^\s*set\b|kysely_migration|current_setting|migration_lock/i

/** Fail the first statement after `begin`, or one outside of a transaction, as often as `times`. */
function failStatements(sqlState: string, times = Infinity): Fault['start'] {
  return () => {
    let failures = 0
    current.hooks.decide = (text) => {
      if (SETTING.test(text) || /^\s*(?:begin|start transaction|commit|rollback)/i.test(text)) return 'pass'
      failures += 1
      return failures > times ? 'pass' : { sqlState }
    }
  }
}

/** Break the connection when the server has executed a commit, or a statement outside of a transaction. */
function resetCommits(times = Infinity): Fault['start'] {
  return () => {
    let failures = 0
    current.hooks.decide = (text, isInTransaction) => {
      if (SETTING.test(text) || /^\s*(?:begin|start transaction|rollback)/i.test(text)) return 'pass'
      if (isInTransaction && !/^\s*commit/i.test(text)) return 'pass'
      failures += 1
      return failures > times ? 'pass' : 'reset'
    }
  }
}

function passStatements(): void {
  current.hooks.decide = () => 'pass'
}

const run = async (text: string): Promise<void> => void (await current.admin.query(text))
const toNewer = (lane: Lane): Promise<void> =>
  run(`insert into ${toSchema(lane)}.kysely_migration (name, timestamp) values ('newer-9999-tables', '')`)
const toKnown = (lane: Lane): Promise<void> =>
  run(`delete from ${toSchema(lane)}.kysely_migration where name = 'newer-9999-tables'`)

const CONNECTION_FAULTS: readonly Fault[] = [
  {
    name: 'connection refused',
    start: () => current.proxy.refuse(),
    end: () => current.proxy.accept(),
  },
  {
    name: 'connection refused while it opens',
    isBeforeOpening: true,
    start: () => current.proxy.refuse(),
    end: () => current.proxy.accept(),
  },
  {
    name: 'no free connection on the server (53300)',
    start() {
      current.proxy.setLoginError('53300')
      current.proxy.resetAll()
    },
    end: () => current.proxy.setLoginError(undefined),
  },
  { name: 'connection reset in one commit', start: resetCommits(1), end: passStatements },
  { name: 'connection reset in each commit', start: resetCommits(), end: passStatements },
  { name: `conflict ${FEW} times (40001)`, start: failStatements('40001', FEW), end: passStatements },
  { name: 'conflict each time (40001)', start: failStatements('40001'), end: passStatements },
  {
    name: 'locked table',
    async start(lane) {
      await run(`begin; lock table ${toTable(lane)} in access exclusive mode`)
      current.locked = true
    },
    async end() {
      await run('rollback')
      current.locked = false
    },
  },
]

const SERVER_FAULTS: readonly Fault[] = [
  {
    name: 'read-only server',
    isBeforeOpening: true,
    start: () =>
      run(
        `do $$ begin execute format('alter database %I set default_transaction_read_only = on', current_database()); end $$`,
      ),
    end: () =>
      run(
        `set default_transaction_read_only = off; do $$ begin execute format('alter database %I reset default_transaction_read_only', current_database()); end $$`,
      ),
  },
  {
    name: 'silent server',
    start: () => current.proxy.setSilent(true),
    end: () => current.proxy.setSilent(false),
  },
  {
    name: 'silent server while it opens',
    isBeforeOpening: true,
    start: () => current.proxy.setSilent(true),
    end: () => current.proxy.setSilent(false),
  },
  { name: 'disk full (53100)', start: failStatements('53100'), end: passStatements },
  {
    name: 'missing table',
    start: (lane) => run(`alter table ${toTable(lane)} rename to moved_away`),
    end: (lane) => run(`alter table ${toSchema(lane)}.moved_away rename to ${toTable(lane).split('.')[1]}`),
  },
  { name: 'newer schema while it opens', isBeforeOpening: true, start: toNewer, end: toKnown },
  { name: 'newer schema while it is open', start: toNewer, end: toKnown },
]

/**
 * Return whether any statement is running, or was since the last check, except those that wait for a lock. They end by their time
 * limit, in virtual time: this cancels the statement as the server would. Only a limit for locks also takes its real time.
 */
function createBusyCheck(): () => Promise<boolean> {
  const limited = new Set<number>()
  const expired = new Set<number>()
  let seenTransfers = 0
  return async () => {
    const { proxy, admin, time, locked } = current
    await waitForOthers(1)
    const transfers = proxy.countTransfers()
    if (transfers !== seenTransfers) {
      seenTransfers = transfers
      return true
    }
    if (proxy.hasBytesInFlight()) return true
    if (!locked || time === undefined || proxy.countRunning() === 0) return proxy.countRunning() > 0
    const { rows } = await admin.query<{ pid: number }>('select pid from pg_locks where not granted')
    const blocked = proxy.listRunning().filter(({ pid }) => rows.some((row) => row.pid === pid))
    for (const { id, pid, statementLimitMs, lockLimitMs } of blocked) {
      if (limited.has(id)) continue
      limited.add(id)
      systemClock.startTimer(Math.min(statementLimitMs, lockLimitMs), () => {
        expired.add(id)
        const isRunning = proxy.listRunning().some((statement) => statement.id === id)
        if (isRunning && statementLimitMs < lockLimitMs)
          void admin.query('select pg_cancel_backend($1)', [pid])
      })
    }
    return blocked.filter(({ id }) => !expired.has(id)).length < proxy.countRunning()
  }
}

/** Hundreds of statements, connections and resets take minutes on a busy machine. */
const TIMEOUT_MS: number = 20 * MINUTE_MS

test.each([
  ['connections and conflicts', CONNECTION_FAULTS, 'connection-faults.txt'],
  ['the server', SERVER_FAULTS, 'server-faults.txt'],
] as const)(
  'each fault of %s - every kind of access returns what is recorded',
  async (_name, faults, file) => {
    const folder = mkdtempSync(join(tmpdir(), 'vitrine-faults-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const { address } = database
    const ids = await seedCatalog({ address, folder })
    const admin = new Client({ connectionString: `${database.url.split('?')[0]}` })
    await admin.connect()
    onTestFinished(() => admin.end())
    let cases = 0

    const prepare = async (lane: Lane): Promise<FaultSetup & Readonly<{ dispose(): Promise<void> }>> => {
      const catalog = `case ${(cases += 1)}`
      // Each case has its own copy in one database.
      if (lane.side === 'copy') await seedCopy({ address, catalog })
      const log = createStatementLog()
      const hooks: ProxyHooks = { log, decide: () => 'pass' }
      const proxy = await startFaultProxy(address.port, hooks)
      current = { proxy, admin, hooks, time: undefined, locked: false }
      const time = installVirtualTime({ isBusy: createBusyCheck() })
      current.time = time
      const url = new URL(database.url)
      url.port = String(proxy.port)
      url.search = PARAMETERS
      const proxied = databaseAddressParser.parse(url.href)
      if (proxied?.kind !== 'postgres') throw new Error(`invalid address: ${url.href}`)
      return {
        time,
        log,
        target: { address: proxied, catalog, folder, ...ids },
        normalize: (text) => text.replaceAll(proxied.label, 'SERVER'),
        async dispose() {
          time.uninstall()
          await proxy.close()
        },
      }
    }
    const records: string[] = []
    for (const fault of faults) records.push(await recordFault(fault, prepare))
    await expect(records.join('\n')).toMatchFileSnapshot(file)
  },
  TIMEOUT_MS,
)
