import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { Kysely, type Migration, SqliteDialect, sql } from 'kysely'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { migrateDatabase } from '../../src/database/migrate.ts'
import { openSqlite } from '../../src/database/sqlite.ts'

const folder = mkdtempSync(join(tmpdir(), 'vitrine-migrate-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let files = 0
const newPath = (): string => join(folder, `${files++}.db`)

function open(path: string): Kysely<unknown> {
  const database = new Kysely<unknown>({
    dialect: new SqliteDialect({ database: openSqlite({ path, role: 'writer' }) }),
  })
  onTestFinished(() => database.destroy())
  return database
}

const makeTable = (name: string): Migration => ({
  up: async (database: Kysely<unknown>) => {
    await sql`create table ${sql.table(name)} (id integer primary key)`.execute(database)
    await sql`insert into ${sql.table(name)} values (7)`.execute(database)
  },
})
const FIRST = { 'test-0001-first': makeTable('first') }
const SECOND = { ...FIRST, 'test-0002-second': makeTable('second') }
const BROKEN = {
  ...FIRST,
  'test-0002-broken': {
    up: async (database: Kysely<unknown>) => {
      await makeTable('second').up(database)
      await sql`create table nonsense (`.execute(database)
    },
  },
}

/** Read all tables and rows, except SQLite's internal tables. */
async function dump(database: Kysely<unknown>): Promise<unknown> {
  const tables = await sql<{
    name: string
    sql: string
  }>`select name, sql from sqlite_master where name not like 'sqlite_%' order by name`.execute(database)
  const rows: Record<string, unknown> = {}
  for (const { name } of tables.rows) {
    rows[name] = (await sql`select * from ${sql.table(name)}`.execute(database)).rows
  }
  return { tables: tables.rows, rows }
}

const listTables = async (database: Kysely<unknown>): Promise<string[]> =>
  (
    await sql<{
      name: string
    }>`select name from sqlite_master where type = 'table' and name not like 'kysely_%' and name not like 'sqlite_%' order by name`.execute(
      database,
    )
  ).rows.map(({ name }) => name)

describe('migrations', () => {
  it('empty database - all migrations run, in the order of their names', async () => {
    const database = open(newPath())
    await migrateDatabase(database, { 'test-0002-second': SECOND['test-0002-second'], ...FIRST })
    expect(await listTables(database)).toEqual(['first', 'second'])
  })

  it('run again, with and without a new migration - only the new one runs', async () => {
    const path = newPath()
    const migrated: string[] = []
    const onMigrated = (names: readonly string[]): void => void migrated.push(...names)
    await migrateDatabase(open(path), FIRST, onMigrated)
    const database = open(path)
    const before = await dump(database)
    await migrateDatabase(database, FIRST, onMigrated)
    expect(await dump(database)).toEqual(before)
    // Nothing has changed an existing database.
    expect(migrated).toEqual([])
    await migrateDatabase(database, SECOND, onMigrated)
    expect(migrated).toEqual(['test-0002-second'])
    expect(await listTables(database)).toEqual(['first', 'second'])
  })

  it('newer database - StoreNewerError, and the database is unchanged', async () => {
    const path = newPath()
    await migrateDatabase(open(path), SECOND)
    const database = open(path)
    const before = await dump(database)
    await expect(migrateDatabase(database, FIRST)).rejects.toMatchObject({ code: 'VITRINE_STORE_NEWER' })
    await expect(migrateDatabase(database, {})).rejects.toMatchObject({ code: 'VITRINE_STORE_NEWER' })
    expect(await dump(database)).toEqual(before)
  })

  it.each(['0001-first', 'postgres-0003-feeds'])(
    'database of a build before 1.0.0, with %s - StoreOlderError with its path, and the database is unchanged',
    async (name) => {
      const path = newPath()
      await migrateDatabase(open(path), { [name]: makeTable('first') })
      const database = open(path)
      const before = await dump(database)
      await expect(migrateDatabase(database, FIRST)).rejects.toMatchObject({
        code: 'VITRINE_STORE_OLDER',
        message: expect.stringContaining(`${basename(path)}", and this version cannot use it`),
        remedy: expect.stringMatching(/^Move the file away: /),
      })
      expect(await dump(database)).toEqual(before)
    },
  )

  it('database of this version, locked by another process - is opened without waiting', async () => {
    const path = newPath()
    const other = open(path)
    await migrateDatabase(other, FIRST)
    const database = open(path)
    await sql`pragma busy_timeout = 0`.execute(database)
    await other.transaction().execute(async (transaction) => {
      await sql`insert into first values (8)`.execute(transaction)
      await migrateDatabase(database, FIRST)
      await expect(migrateDatabase(database, SECOND)).rejects.toMatchObject({ code: 'VITRINE_STORE_FAILED' })
    })
    await migrateDatabase(database, SECOND)
    expect(await listTables(database)).toEqual(['first', 'second'])
  })

  it('migration that fails - StoreError, its changes are rolled back, and the fixed one succeeds', async () => {
    const path = newPath()
    const database = open(path)
    await migrateDatabase(database, FIRST)
    const before = await dump(database)
    await expect(migrateDatabase(database, BROKEN)).rejects.toMatchObject({
      code: 'VITRINE_STORE_FAILED',
      cause: expect.any(Error),
    })
    expect(await dump(database)).toEqual(before)
    const repaired = { ...FIRST, 'test-0002-broken': makeTable('second') }
    await migrateDatabase(open(path), repaired)
    expect(await listTables(database)).toEqual(['first', 'second'])
  })
})
