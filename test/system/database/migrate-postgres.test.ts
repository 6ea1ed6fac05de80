import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { type Migration, sql } from 'kysely'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { migratePostgres } from '../../../src/database/migrate.ts'
import { openPostgres } from '../../../src/database/postgres.ts'
import { type TestDatabase, usePostgres } from '../../helpers/postgres.ts'

const PROCESSES = 10
const SCHEMA = 'vitrine_steps'

const server = usePostgres()
let database: TestDatabase
beforeEach(async () => {
  database = await server.makeDatabase()
  onTestFinished(() => database.drop())
})

const built = (name: string): string =>
  JSON.stringify(new URL(`../../../dist/${name}.js`, import.meta.url).href)

/** Slow migrations that record each run. */
const STEPS = `{
  'test-0001-table': { up: (db) => sql\`create table made (name text not null)\`.execute(db) },
  'test-0002-row': { up: async (db) => { await sql\`select pg_sleep(0.3)\`.execute(db); await sql\`insert into made values ('test-0002-row')\`.execute(db) } },
}`

const PROGRAM = `
  import { sql } from 'kysely'
  import { databaseAddressParser } from ${built('config/database-address')}
  import { migratePostgres } from ${built('database/migrate')}
  import { openPostgres } from ${built('database/postgres')}
  const address = databaseAddressParser.parse(process.argv[1])
  const opened = openPostgres({ address, schema: '${SCHEMA}', size: 1, statementTimeoutMs: 60000 })
  await migratePostgres(opened.database, '${SCHEMA}', ${STEPS})
  await opened.close()`

async function startProcess(): Promise<void> {
  await promisify(execFile)(process.execPath, ['--input-type=module', '-e', PROGRAM, database.url])
}

test('ten processes that start at once - each migration runs once, in one of them', async () => {
  await Promise.all(Array.from({ length: PROCESSES }, startProcess))
  expect(await server.run(database.url, `select name from ${SCHEMA}.made`)).toEqual([
    { name: 'test-0002-row' },
  ])
  expect(await server.run(database.url, `select name from ${SCHEMA}.kysely_migration order by name`)).toEqual(
    [{ name: 'test-0001-table' }, { name: 'test-0002-row' }],
  )
})

function makeTable(name: string): Migration {
  return {
    async up(db) {
      await sql`create table ${sql.ref(name)} (id integer)`.execute(db)
    },
  }
}

test('migration that fails - the ones before it are rolled back, and the next start runs all of them', async () => {
  const opened = openPostgres<unknown>({
    address: database.address,
    schema: SCHEMA,
    size: 1,
    statementTimeoutMs: 5_000,
  })
  onTestFinished(opened.close)
  const first = makeTable('one')
  const broken = { up: () => Promise.reject(new Error('no room')) }
  const fixed = makeTable('two')
  await expect(
    migratePostgres(opened.database, SCHEMA, { 'test-0001-one': first, 'test-0002-two': broken }),
  ).rejects.toThrow('no room')
  await migratePostgres(opened.database, SCHEMA, { 'test-0001-one': first, 'test-0002-two': fixed })
  await migratePostgres(opened.database, SCHEMA, { 'test-0001-one': first, 'test-0002-two': fixed })
  const tables = await server.run(
    database.url,
    `select tablename from pg_tables where schemaname = '${SCHEMA}' and tablename in ('one', 'two') order by 1`,
  )
  expect(tables).toEqual([{ tablename: 'one' }, { tablename: 'two' }])
})

test('database of a newer version - is rejected', async () => {
  const opened = openPostgres<unknown>({
    address: database.address,
    schema: SCHEMA,
    size: 1,
    statementTimeoutMs: 5_000,
  })
  onTestFinished(opened.close)
  const step = { up: () => Promise.resolve() }
  await migratePostgres(opened.database, SCHEMA, { 'test-0001-one': step, 'test-0002-two': step })
  await expect(migratePostgres(opened.database, SCHEMA, { 'test-0001-one': step })).rejects.toMatchObject({
    code: 'VITRINE_STORE_NEWER',
  })
})

test('database of a build before 1.0.0 - is rejected with the statement that removes it', async () => {
  const opened = openPostgres<unknown>({
    address: database.address,
    schema: SCHEMA,
    size: 1,
    statementTimeoutMs: 5_000,
  })
  onTestFinished(opened.close)
  const step = { up: () => Promise.resolve() }
  await migratePostgres(opened.database, SCHEMA, { '0001-first': step })
  await expect(migratePostgres(opened.database, SCHEMA, { 'test-0001-one': step })).rejects.toMatchObject({
    code: 'VITRINE_STORE_OLDER',
    message: expect.stringContaining(`created the schema "${SCHEMA}"`),
    remedy: expect.stringContaining(`"alter schema ${SCHEMA} rename to ${SCHEMA}_old"`),
  })
})
