import { copyFileSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { SECOND_MS, systemClock } from '../../src/clock.ts'
import { type Fault, type FaultSetup, recordFault } from './faults/fault-table.ts'
import { type Lane, seedCatalog, seedCopy } from './faults/lanes.ts'
import { installSqliteLog, loadSqlite } from './faults/sqlite-log.ts'
import { createStatementLog } from './faults/statement-log.ts'
import { type VirtualTime, installVirtualTime } from './faults/virtual-time.ts'

/**
 * What callers see when a SQLite file fails: value or error, attempts, time, and recovery. Both database layers will be replaced by
 * one, and this record must stay the same.
 */

type Database = InstanceType<ReturnType<typeof loadSqlite>['DatabaseSync']>

const BRIEF_LOCK_MS = 100
const SHORT_OF_A_CHECK_MS: number = 30 * SECOND_MS

/** State of the fault of the current case. */
type Current = {
  folder: string
  time: VirtualTime | undefined
  other: Database | undefined
  lockedUntilMs: number
  /** A pragma that breaks the program's connections. */
  pragma: string | undefined
}

const current: Current = {
  folder: '',
  time: undefined,
  other: undefined,
  lockedUntilMs: Infinity,
  pragma: undefined,
}

const FILES = ['copy.db', 'catalog.db', 'catalog-usage.db'] as const

function toFile({ side, name }: Lane): string {
  if (side === 'copy') return join(current.folder, 'copy.db')
  return join(current.folder, name === 'count' ? 'catalog-usage.db' : 'catalog.db')
}

/** The table that the lane needs. */
function toTable({ side, name }: Lane): string {
  if (side === 'copy') return 'copies'
  const tables: Readonly<Record<string, string>> = { count: 'usage', write: 'organizations' }
  return tables[name] ?? 'products'
}

/** Execute statements on another connection, which stays open until `closeOther`. */
function runOther(lane: Lane, text: string): void {
  const { DatabaseSync } = loadSqlite()
  current.other ??= new DatabaseSync(toFile(lane))
  current.other.exec(text)
}

function closeOther(text?: string): void {
  if (text !== undefined) current.other?.exec(text)
  current.other?.close()
  current.other = undefined
}

/** Break the file of a running or closed store, and repair it. */
function replaceFile(lane: Lane): string {
  const file = toFile(lane)
  for (const end of ['-wal', '-shm']) rmSync(file + end, { force: true })
  renameSync(file, `${file}.kept`)
  return file
}

function restoreFile(lane: Lane): void {
  const file = toFile(lane)
  rmSync(file, { recursive: true, force: true })
  renameSync(`${file}.kept`, file)
}

const NEWER = `insert into kysely_migration (name, timestamp) values ('newer-9999-tables', '')`
const NOT_NEWER = `delete from kysely_migration where name = 'newer-9999-tables'`

const FAULTS: readonly Fault[] = [
  {
    name: 'locked by a writer',
    start: (lane) => runOther(lane, 'begin immediate'),
    end: () => closeOther('rollback'),
  },
  {
    name: `locked by a writer for ${BRIEF_LOCK_MS} ms`,
    start(lane) {
      runOther(lane, 'begin immediate')
      current.lockedUntilMs = (current.time?.passedMs() ?? 0) + BRIEF_LOCK_MS
      systemClock.startTimer(BRIEF_LOCK_MS, releaseBriefLock)
    },
    end: releaseBriefLock,
  },
  {
    name: 'locked by a writer while it opens',
    isBeforeOpening: true,
    start: (lane) => runOther(lane, 'begin immediate'),
    end: () => closeOther('rollback'),
  },
  {
    name: 'locked for all others while it opens',
    isBeforeOpening: true,
    start: (lane) => runOther(lane, 'pragma locking_mode = exclusive; begin exclusive'),
    end: () => closeOther('rollback'),
  },
  {
    name: 'read-only',
    start: () => void (current.pragma = 'pragma query_only = on'),
    end: () => void (current.pragma = 'pragma query_only = off'),
  },
  {
    name: 'disk full',
    start: () => void (current.pragma = 'pragma max_page_count = 1'),
    end: () => void (current.pragma = 'pragma max_page_count = 1000000'),
  },
  {
    name: 'missing table',
    start: (lane) => runOther(lane, `alter table ${toTable(lane)} rename to moved_away`),
    end: (lane) => closeOther(`alter table moved_away rename to ${toTable(lane)}`),
  },
  {
    name: 'newer schema while it opens',
    isBeforeOpening: true,
    start: (lane) => runOther(lane, NEWER),
    end: () => closeOther(NOT_NEWER),
  },
  {
    name: 'newer schema while it is open',
    start: (lane) => runOther(lane, NEWER),
    end: () => closeOther(NOT_NEWER),
  },
  {
    name: 'not a database while it opens',
    isBeforeOpening: true,
    start: (lane) => writeFileSync(replaceFile(lane), 'This is not a database, but a text. '.repeat(200)),
    end: restoreFile,
  },
  {
    name: 'file replaced by a folder, half a minute later',
    start(lane) {
      mkdirSync(replaceFile(lane))
      return current.time?.pass(SHORT_OF_A_CHECK_MS)
    },
    end: restoreFile,
  },
]

function releaseBriefLock(): void {
  current.lockedUntilMs = Infinity
  if (current.other !== undefined) closeOther('rollback')
}

test('each fault of a SQLite file - every kind of access returns what is recorded', async () => {
  const root = mkdtempSync(join(tmpdir(), 'vitrine-faults-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const catalogAddress = { kind: 'sqlite', path: join(root, 'catalog.db') } as const
  const ids = await seedCatalog({ address: catalogAddress, folder: root })
  await seedCopy({ address: { kind: 'sqlite', path: join(root, 'copy.db') }, catalog: 'c' })

  const prepare = (lane: Lane): Promise<FaultSetup & Readonly<{ dispose(): void }>> => {
    const folder = mkdtempSync(join(root, 'case-'))
    for (const file of FILES) copyFileSync(join(root, file), join(folder, file))
    const time = installVirtualTime()
    const log = createStatementLog()
    Object.assign(current, { folder, time, pragma: undefined, lockedUntilMs: Infinity })
    const uninstallLog = installSqliteLog({
      time,
      log,
      prepareFault: (database) => current.pragma !== undefined && database.exec(current.pragma),
      releaseLock(withinMs) {
        const waitedMs = current.lockedUntilMs - time.passedMs()
        if (waitedMs > withinMs) return undefined
        releaseBriefLock()
        return Math.max(0, waitedMs)
      },
    })
    const path = join(folder, lane.side === 'copy' ? 'copy.db' : 'catalog.db')
    return Promise.resolve({
      time,
      log,
      target: { address: { kind: 'sqlite', path }, catalog: 'c', folder, ...ids },
      // One driver says so before SQLite's own message.
      normalize: (text) => text.replaceAll(folder, 'FOLDER').replaceAll('Failed to open database: ', ''),
      dispose() {
        uninstallLog()
        time.uninstall()
        rmSync(folder, { recursive: true, force: true })
      },
    })
  }
  const records: string[] = []
  for (const fault of FAULTS) records.push(await recordFault(fault, prepare))
  await expect(records.join('\n')).toMatchFileSnapshot('database-faults.txt')
})
