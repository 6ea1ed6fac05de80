import fs, { type StatsFs, mkdtempSync, rmSync, statSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SqliteDatabase } from 'kysely'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openSqlite } from '../../src/database/sqlite.ts'

const MIB = 1_024 * 1_024

/** Open a database on a disk with the given free space (`null`: unknown) and a write-ahead log limit of 12 MiB. */
function openOnDisk(freeBytes: number | null): Readonly<{ database: SqliteDatabase; logBytes(): number }> {
  const folder = mkdtempSync(join(tmpdir(), 'vitrine-space-'))
  const path = join(folder, 'copy.db')
  const disk = vi.spyOn(fs, 'statfsSync').mockImplementation(() => {
    if (freeBytes === null) throw new Error('not implemented')
    return { bavail: freeBytes / 4_096, bsize: 4_096 } as StatsFs
  })
  syncBuiltinESMExports()
  const database = openSqlite({ path, role: 'writer', checkpointBytes: 12 * MIB })
  onTestFinished(() => {
    disk.mockRestore()
    syncBuiltinESMExports()
    database.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return { database, logBytes: () => statSync(`${path}-wal`).size }
}

/** Write 8 MiB in small transactions. */
function write(database: SqliteDatabase): void {
  database.prepare('create table items (id integer primary key, text text)').run([])
  for (let id = 0; id < 128; id += 1)
    database.prepare('insert into items values (?, ?)').run([id, 'x'.repeat(64 * 1_024)])
}

test('disk with little free space - the log is limited to a quarter of it, so that a checkpoint fits', () => {
  const { database, logBytes } = openOnDisk(4 * MIB)
  write(database)
  expect(logBytes()).toBeLessThan(1.5 * MIB)
})

test('disk with enough free space - the log grows up to its limit', () => {
  const { database, logBytes } = openOnDisk(1_000 * MIB)
  write(database)
  expect(logBytes()).toBeGreaterThan(8 * MIB)
})

test('disk with unknown free space - the log grows up to its limit', () => {
  const { database, logBytes } = openOnDisk(null)
  write(database)
  expect(logBytes()).toBeGreaterThan(8 * MIB)
})
