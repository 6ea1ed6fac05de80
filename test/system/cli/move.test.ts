import { copyFileSync, writeFileSync } from 'node:fs'
import request from 'supertest'
import { describe, expect, it, onTestFinished } from 'vitest'
import { seedSampleData } from '../../../src/catalog-service/sample/seed-sample-data.ts'
import { LEFT_CATALOG_TABLES } from '../../../src/catalog-service/store/tables.ts'
import { openCatalogStore } from '../../../src/catalog-service/store/open-store.ts'
import { systemClock } from '../../../src/clock.ts'
import type { Environment } from '../../../src/config/config.ts'
import { LEFT_COPY_TABLES } from '../../../src/storage/tables.ts'
import { openStoredCopy } from '../../../src/storage/stored-copy.ts'
import { runInProcess, startBuilt } from '../../cli/run-cli.ts'
import { setUpOnce } from '../../helpers/cleanup.ts'
import { CHANNEL_ID } from '../../helpers/fake-catalog.ts'
import { type TestDatabase, usePostgres } from '../../helpers/postgres.ts'
import { toGtin } from '../../helpers/products.ts'
import { walkAll } from '../../storage/conformance/subject.ts'
import {
  MOVED_TABLES,
  type MoveFixture,
  copyFixture,
  makeSqliteServer,
  runMove,
  toPostgresSettings,
  writeSqlite,
} from './move-fixture.ts'

type Counts = { table: string; moved: number; present: number; total: number }
type Moved = { databases: { database: string; tables: Counts[] }[] }

const parse = (out: string): readonly Counts[] =>
  (JSON.parse(out) as Moved).databases.flatMap(({ tables }) => tables)

/** What people see of a server: the lists of its catalog, its observed prices and its report. */
const VIEWS = [
  ...['organizations', 'keys', 'channels', 'networks', 'merchants', 'feeds'].map((name) => ['catalog', name]),
  ['catalog', 'approvals', '--channel', CHANNEL_ID],
  ['history', 'export'],
  ['report', '--channel', CHANNEL_ID, '--days', '60', '--list', 'placements'],
  ['report', '--channel', CHANNEL_ID, '--days', '60', '--list', 'clicks'],
]

const postgres = usePostgres()
const getSource = setUpOnce(makeSqliteServer)

function runOn({ url }: TestDatabase, statement: string): Promise<unknown> {
  return postgres.run(url, statement)
}

async function makeTarget(): Promise<TestDatabase> {
  const target = await postgres.makeDatabase()
  onTestFinished(() => target.drop())
  return target
}

/** Walk, and read what people see. */
async function readViews(settings: Environment): Promise<readonly unknown[]> {
  expect(await runInProcess(['sync'], settings)).toMatchObject({ code: 0 })
  const views = []
  for (const args of VIEWS) {
    const { code, out, err } = await runInProcess(
      args[0] === 'history' ? args : [...args, '--json'],
      settings,
    )
    views.push({ args, code, err, out })
  }
  return views
}

/** Serve until the first walk is complete; return a box and grids. */
async function readWidgets(settings: Environment): Promise<readonly unknown[]> {
  const running = startBuilt(['serve', '--json'], settings)
  const { studio } = JSON.parse(await running.firstLine) as { studio: string }
  const url = new URL(studio).origin
  const widgets = []
  for (const path of [
    `where-to-buy/${toGtin(1)}`,
    'deals?sort=newest',
    'deals?evidence=observed&sort=drop',
    'deals?q=Gr%C3%B6%C3%9Fe',
  ]) {
    const { status, text, headers } = await request(url).get(`/fragments/${CHANNEL_ID}/${path}`)
    widgets.push({ path, status, state: headers['vitrine-state'], text })
  }
  await running.stop('SIGINT')
  return widgets
}

describe('move', () => {
  it('server of some weeks - every table, and nothing when it is repeated', async () => {
    const source = getSource()
    const environment = toPostgresSettings(source, (await makeTarget()).url)
    const { code, out, err } = await runMove(source, environment)
    expect([code, err]).toEqual([0, ''])
    expect(parse(out).map(({ table }) => table)).toEqual(MOVED_TABLES.map(([, table]) => table))
    expect(parse(out).filter(({ total, moved }) => total === 0 || moved !== total)).toEqual([])
    const again = await runMove(source, environment)
    expect([again.code, again.err]).toEqual([0, ''])
    expect(parse(again.out).filter(({ total, present }) => total === 0 || present !== total)).toEqual([])
  })

  it('server of some weeks - the same lists, prices, report, boxes and grids', async () => {
    const source = copyFixture(getSource())
    const target = await makeTarget()
    const settings = toPostgresSettings(source, target.url)
    expect(await runMove(source, settings)).toMatchObject({ code: 0 })
    const views = await readViews(settings)
    expect(views).toEqual(await readViews(source.settings))
    const widgets = await readWidgets(settings)
    expect(widgets).toEqual(await readWidgets(source.settings))
  })

  it('moved catalog - its keys are valid, no process has a lease, and new rows have new ids', async () => {
    const source = getSource()
    const target = await makeTarget()
    const settings = toPostgresSettings(source, target.url)
    expect(await runMove(source, settings)).toMatchObject({ code: 0 })
    const store = await openCatalogStore({ database: target.address, clock: systemClock })
    onTestFinished(() => store.close())
    expect(await store.findCaller(source.key)).toMatchObject({ organization: { dailyLimit: null } })
    expect(
      await runOn(
        target,
        'select distinct lease_owner, lease_until_ms::int from vitrine_catalog.feed_attempts',
      ),
    ).toEqual([{ lease_owner: null, lease_until_ms: 0 }])
    for (const args of [
      ['networks', 'add', 'another'],
      ['merchants', 'add', 'Another'],
      ['feeds', 'add', 'another', '--url', 'https://shop.example/another.xml', '--channel', CHANNEL_ID],
    ])
      expect([args, await runInProcess(['catalog', ...args], settings)]).toMatchObject([args, { code: 0 }])
  })

  it('tables of PostgreSQL - each is either moved or in the list of the others', async () => {
    const target = await makeTarget()
    expect(await runMove(getSource(), toPostgresSettings(getSource(), target.url))).toMatchObject({ code: 0 })
    const rows = await postgres.run(
      target.url,
      `select format('%s.%s', schemaname, tablename) as name from pg_tables
        where schemaname like 'vitrine%' and tablename not in ('kysely_migration', 'migration_lock')`,
    )
    const left = [
      ...Object.keys(LEFT_COPY_TABLES).map((table) => `vitrine_copy.${table}`),
      ...Object.keys(LEFT_CATALOG_TABLES).map((table) => `vitrine_catalog.${table}`),
    ]
    const names = new Set([...MOVED_TABLES.map((name) => name.join('.')), ...left])
    expect(rows.map(({ name }) => name).filter((name) => !names.has(String(name)))).toEqual([])
  })

  it('stopped, then the connection is lost in each table in turn - goes on each time', async () => {
    const source = getSource()
    const target = await makeTarget()
    const settings = toPostgresSettings(source, target.url)
    await runInProcess(['check'], settings)
    const stopped = await runMove(source, settings, (_batch, stop) => stop.abort('SIGINT'))
    expect(stopped).toMatchObject({ code: 1, err: expect.stringContaining('run the command again to go on') })
    // It writes to the database, but is no server.
    await runInProcess(['check'], settings)
    await runOn(
      target,
      `create function cut() returns trigger language plpgsql as $$ begin
        perform pg_terminate_backend(pg_backend_pid()); return new; end $$`,
    )
    for (const [schema, table] of MOVED_TABLES) {
      await runOn(
        target,
        `create trigger cut before insert on ${schema}.${table} for each statement execute function cut()`,
      )
      const { code, err } = await runMove(source, settings)
      expect([table, code, err]).toEqual([
        table,
        1,
        expect.stringContaining('Run the command again: it goes on where it stopped'),
      ])
      await runOn(target, `drop trigger cut on ${schema}.${table}`)
    }
    const { code, out, err } = await runMove(source, settings)
    expect([code, err]).toEqual([0, ''])
    const moved = parse(out).filter(({ moved: count }) => count > 0)
    expect(moved.map(({ table }) => table)).toEqual(['feed_attempts'])
  })
})

/** A change of the databases, and what the command says about it. */
type Refusal = readonly [
  name: string,
  change: (source: MoveFixture, target: TestDatabase) => unknown,
  message: string,
]

describe('database that cannot be opened', () => {
  it('user without rights - the reason and the remedy, and no advice to repeat', async () => {
    const target = await makeTarget()
    const role = `mover_${process.pid}`
    await runOn(target, `create role ${role} login password 'abc'`)
    onTestFinished(async () => void (await runOn(target, `drop role ${role}`)))
    const url = new URL(target.url)
    Object.assign(url, { username: role, password: 'abc' })
    for (const [change, message] of [
      [{}, 'As an administrator of the database, run "create schema vitrine_copy authorization USER"'],
      [{ pathname: '/missing' }, 'the database does not exist'],
    ] as const) {
      const address = Object.assign(new URL(url), change).href
      const { code, out, err } = await runMove(getSource(), toPostgresSettings(getSource(), address))
      expect([code, out]).toEqual([1, ''])
      expect(err).toContain(message)
      expect(err).not.toContain('Run the command again')
    }
  })
})

const addMigration = (name: string): string => `insert into kysely_migration values ('${name}', '2030-01-01')`

const REFUSED: readonly Refusal[] = [
  [
    'sample data in the target',
    async (_source, { address }) => {
      const store = await openCatalogStore({ database: address, clock: systemClock })
      await seedSampleData(store, 'http://127.0.0.1:3000')
      await store.close()
    },
    'empty it with "drop schema if exists vitrine_catalog cascade"',
  ],
  [
    'another catalog in the target',
    async (_source, { address }) => {
      const store = await openStoredCopy({ database: address, catalog: 'https://catalog.example/' })
      await walkAll(store, [], 1)
      await store.close()
    },
    'has other rows in vitrine_copy.copies than the SQLite file',
  ],
  [
    'newer copy',
    ({ copyFile }) => writeSqlite(copyFile, [addMigration('copy-9999-later')]),
    'A newer version of Vitrine has migrated',
  ],
  [
    'copy of a build before 1.0.0',
    ({ copyFile }) => writeSqlite(copyFile, [addMigration('0001-first')]),
    'this version cannot read it; nothing was moved. Start with an empty database',
  ],
  [
    'usage of a build before 1.0.0',
    ({ usageFile }) => writeSqlite(usageFile, [addMigration('0001-usage')]),
    'this version cannot read it; nothing was moved. Start with an empty database',
  ],
  [
    'catalog in place of the copy',
    ({ copyFile, catalogFile }) => copyFileSync(catalogFile, copyFile),
    'is not the stored copy of Vitrine',
  ],
  [
    'no database',
    ({ catalogFile }) => writeFileSync(catalogFile, 'x'.repeat(5_000)),
    'the file is not a database',
  ],
  [
    'number beyond 2^53',
    ({ copyFile }) => writeSqlite(copyFile, ['update channel_lists set as_of_ms = 9007199254740993']),
    'the table channel_lists of the SQLite file cannot be read',
  ],
  [
    'bytes in place of a text',
    ({ catalogFile }) => writeSqlite(catalogFile, [`update feeds set url = x'00ff'`]),
    'the column url of the table feeds of the SQLite file has bytes',
  ],
  [
    'text in place of a number',
    ({ catalogFile }) => writeSqlite(catalogFile, [`update feeds set created_at_ms = 'yesterday'`]),
    'the table feeds of the SQLite file has an invalid value',
  ],
  [
    'row without its parent',
    ({ catalogFile }) =>
      writeSqlite(catalogFile, ['pragma foreign_keys = off', 'insert into approvals values (1, 99, null)']),
    'the table approvals of the SQLite file has an invalid value',
  ],
]

describe('refused moves', () => {
  it.each(REFUSED)('%s - an error that names it', async (_name, change, message) => {
    const source = copyFixture(getSource())
    const target = await makeTarget()
    await change(source, target)
    const { code, out, err } = await runMove(source, toPostgresSettings(source, target.url))
    expect([code, out, err]).toEqual([1, '', expect.stringContaining(message)])
  })
})

/** Changes after the first run, which was stopped. */
const CHANGED: readonly Refusal[] = [
  [
    'the file',
    ({ copyFile }) => writeSqlite(copyFile, ['update channels set name = name || 1']),
    'has other rows in vitrine_copy.channels',
  ],
  [
    'the target',
    (_source, target) => runOn(target, 'update vitrine_copy.copies set had_products = 7'),
    'has other rows in vitrine_copy.copies',
  ],
  [
    'the target while it is filled',
    (_source, target) =>
      runOn(
        target,
        `create function change() returns trigger language plpgsql as $$ begin
          update vitrine_copy.widget_counts set shown = shown + 1; return new; end $$;
        create trigger change after insert on vitrine_catalog.key_uses execute function change()`,
      ),
    'another process writes to it',
  ],
]

describe('changes by other processes', () => {
  it.each(CHANGED)('%s - refused', async (_name, change, message) => {
    const source = copyFixture(getSource())
    const target = await makeTarget()
    const settings = toPostgresSettings(source, target.url)
    await runMove(source, settings, (batch, stop) => batch === 2 && stop.abort('SIGINT'))
    await change(source, target)
    const { code, out, err } = await runMove(source, settings)
    expect([code, out, err]).toEqual([1, '', expect.stringContaining(message)])
  })

  it('a server writes to the file during the move - the move fails, and says what is missing', async () => {
    const source = copyFixture(getSource())
    const settings = toPostgresSettings(source, (await makeTarget()).url)
    const { code, err } = await runMove(source, settings, (batch) => {
      if (batch === 3) writeSqlite(source.copyFile, ['update widget_counts set shown = 100'])
    })
    expect([code, err]).toEqual([1, expect.stringContaining('a server wrote to')])
  })
})

describe('unusual values', () => {
  it('empty texts, U+0000, long and invalid texts - stored as the server read them', async () => {
    const source = copyFixture(getSource())
    const target = await makeTarget()
    writeSqlite(source.catalogFile, [
      `insert into merchants (name) values (''), ('a' || char(0) || 'b'), ('I'), ('ı'), (' x '), ('\\"''\n'), (cast(x'c328' as text))`,
      `update products set title = replace(hex(zeroblob(500000)), '00', 'ä')`,
    ])
    const { code, err } = await runMove(source, toPostgresSettings(source, target.url))
    expect([code, err]).toEqual([0, ''])
    const lengths = await runOn(target, 'select distinct length(title) from vitrine_catalog.products')
    expect(lengths).toEqual([{ length: 500_000 }])
  })
})
