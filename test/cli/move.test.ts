import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Kysely, SqliteDialect } from 'kysely'
import { expect, it } from 'vitest'
import {
  LEFT_CATALOG_TABLES,
  MOVED_CATALOG_TABLES,
  MOVED_USAGE_TABLES,
  CATALOG_MIGRATIONS,
  USAGE_MIGRATIONS,
} from '../../src/catalog-service/store/tables.ts'
import type { Environment } from '../../src/config/config.ts'
import { type Migrations, migrateDatabase } from '../../src/database/migrate.ts'
import { openSqlite } from '../../src/database/sqlite.ts'
import { SERVER_NAME } from '../../src/http/server.ts'
import { LEFT_COPY_TABLES, MOVED_COPY_TABLES, COPY_MIGRATIONS } from '../../src/storage/tables.ts'
import { addCleanup } from '../helpers/cleanup.ts'
import { makeCopyFile } from '../helpers/copy-file.ts'
import { makeFolder, makeSettings, runInProcess } from './run-cli.ts'

/** Tables of the migrations themselves, and those that SQLite keeps for an index. */
const INTERNAL = /^(?:kysely_migration|sqlite_\w+|product_words_\w+)$/

/** List the tables that migrations create, with the columns of their keys. */
async function listTables(migrations: Migrations): Promise<ReadonlyMap<string, readonly string[]>> {
  const sqlite = openSqlite({ path: ':memory:', role: 'writer' })
  const database = new Kysely<unknown>({ dialect: new SqliteDialect({ database: sqlite }) })
  await migrateDatabase(database, migrations)
  const query = (text: string): readonly { name: string }[] =>
    sqlite.prepare(text).all([]) as { name: string }[]
  const tables = query(`select name from sqlite_master where type = 'table'`)
  const result = new Map(
    tables
      .filter(({ name }) => !INTERNAL.test(name))
      .map(({ name }) => {
        const key = query(`select name from pragma_table_info('${name}') where pk > 0 order by pk`)
        return [name, key.map((column) => column.name)] as const
      }),
  )
  await database.destroy()
  return result
}

it.each([
  ['stored copy', COPY_MIGRATIONS, MOVED_COPY_TABLES, LEFT_COPY_TABLES],
  ['catalog', CATALOG_MIGRATIONS, MOVED_CATALOG_TABLES, LEFT_CATALOG_TABLES],
  ['catalog usage', USAGE_MIGRATIONS, MOVED_USAGE_TABLES, {}],
])(
  '%s - each table is either moved by its key, or in the list of the others',
  async (_name, migrations, moved, left) => {
    const tables = await listTables(migrations)
    const names = [...moved.map(({ name }) => name), ...Object.keys(left)].filter(
      (name) => name !== 'write_lock',
    )
    expect(names.toSorted()).toEqual([...tables.keys()].toSorted())
    expect(moved.map(({ name, key }) => [name, key])).toEqual(
      moved.map(({ name }) => [name, tables.get(name)]),
    )
  },
)

const POSTGRES = 'postgres://vitrine@127.0.0.1:1/vitrine'

it.each<readonly [name: string, args: readonly string[], over: Environment, message: string]>([
  ['settings of SQLite', [], {}, 'set VITRINE_DATABASE_URL, and with an own catalog'],
  [
    'a file that is not there',
    ['--from', 'none.db'],
    { VITRINE_DATABASE_URL: POSTGRES },
    'there is no file "none.db"',
  ],
  [
    'PostgreSQL as source',
    ['--from', POSTGRES],
    { VITRINE_DATABASE_URL: POSTGRES },
    '--from is a SQLite file',
  ],
])('%s - wrong usage, said before anything is opened', async (_name, args, over, message) => {
  const { code, out, err } = await runInProcess(['move', ...args], makeSettings(makeFolder(), over))
  expect([code, out, err]).toEqual([64, '', expect.stringContaining(message)])
})

it('file of another program - refused by its path', async () => {
  const folder = makeFolder()
  const file = join(folder, 'copy.db')
  writeFileSync(file, 'no database '.repeat(500))
  const settings = makeSettings(folder, { VITRINE_DATABASE_URL: POSTGRES })
  const { code, err } = await runInProcess(['move', '--from', file], settings)
  expect([code, err]).toEqual([1, expect.stringContaining(`Cannot open the database "${file}"`)])
})

it('a server runs on the address of the settings - a warning', async () => {
  const server = createServer((_request, response) => response.setHeader('server', SERVER_NAME).end())
  addCleanup(() => void server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const port = String((server.address() as AddressInfo).port)
  const settings = makeSettings(makeFolder(), { VITRINE_DATABASE_URL: POSTGRES, VITRINE_PORT: port })
  const { err } = await runInProcess(['move', '--from', 'package.json'], settings)
  expect(err).toContain(`Vitrine is running on 127.0.0.1:${port}. If it is the server to move, stop it first`)
})

it('a catalog that is set to SQLite - a note says that it is not moved', async () => {
  const folder = makeFolder()
  const settings = makeSettings(folder)
  expect(await runInProcess(['catalog', 'organizations', 'add', 'Team'], settings)).toMatchObject({ code: 0 })
  const { path, remove } = await makeCopyFile()
  addCleanup(remove)
  const { code, err } = await runInProcess(['move', '--from', path], {
    ...settings,
    VITRINE_DATABASE_URL: POSTGRES,
  })
  expect([code, err]).toEqual([1, expect.stringContaining('is not moved: VITRINE_CATALOG_DATABASE_URL')])
})
