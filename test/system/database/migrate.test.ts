import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { openSqlite } from '../../../src/database/sqlite.ts'
import { PACKAGE_FOLDER } from '../../../src/lib/files.ts'

it('three processes at once on a new file - all succeed, and each migration runs once', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'vitrine-migrate-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'copy.db')
  const script = `
    import { Kysely, SqliteDialect, sql } from 'kysely'
    import { migrateDatabase } from './dist/database/migrate.js'
    import { openSqlite } from './dist/database/sqlite.js'
    const database = new Kysely({ dialect: new SqliteDialect({ database: openSqlite({ path: ${JSON.stringify(path)}, role: 'writer' }) }) })
    const up = async (database) => {
      await sql\`create table first (id integer primary key)\`.execute(database)
      await sql\`insert into first values (7)\`.execute(database)
    }
    await migrateDatabase(database, { 'copy-0001-first': { up } })
    await database.destroy()`
  const run = (): Promise<unknown> =>
    promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { cwd: PACKAGE_FOLDER })
  await Promise.all([run(), run(), run()])
  const database = openSqlite({ path, role: 'reader' })
  onTestFinished(() => database.close())
  expect(database.prepare('select id from first').all([])).toEqual([{ id: 7 }])
})
