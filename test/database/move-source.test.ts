import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Kysely, SqliteDialect } from 'kysely'
import { expect, test } from 'vitest'
import { type Migrations, migrateDatabase } from '../../src/database/migrate.ts'
import { openMoveSource } from '../../src/database/move-tables.ts'
import { openSqlite } from '../../src/database/sqlite.ts'
import { addCleanup } from '../helpers/cleanup.ts'

const toMigrations = (...names: readonly string[]): Migrations =>
  Object.fromEntries(names.map((name) => [name, { up: () => Promise.resolve() }]))

const OWN = ['copy-0001-tables', 'copy-0002-more']

test.each<[string, readonly string[], string, string]>([
  ['a newer version', [...OWN, 'copy-0003-later'], 'VITRINE_STORE_NEWER', 'Move it with that version'],
  ['an older version', OWN.slice(0, 1), 'VITRINE_MOVE_FAILED', 'Open it once with this version'],
  ['a build before 1.0.0', ['0001-first'], 'VITRINE_STORE_OLDER', 'before 1.0.0 created'],
  ['another database', ['catalog-0001-tables'], 'VITRINE_MOVE_FAILED', 'is not the stored copy of Vitrine'],
])('file of %s - is refused', async (_name, names, code, message) => {
  const folder = mkdtempSync(join(tmpdir(), 'vitrine-move-source-'))
  addCleanup(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'copy.db')
  const database = new Kysely<unknown>({
    dialect: new SqliteDialect({ database: openSqlite({ path, role: 'writer' }) }),
  })
  await migrateDatabase(database, toMigrations(...names))
  await database.destroy()
  expect(() => openMoveSource(path, toMigrations(...OWN), 'stored copy')).toThrow(
    expect.objectContaining({ code, message: expect.stringContaining(message) }),
  )
})
