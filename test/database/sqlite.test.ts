import { copyFileSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Kysely, SqliteDialect, sql } from 'kysely'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { type SqliteOptions, openSqlite } from '../../src/database/sqlite.ts'

type Tables = { items: { id: number; text: string | null; flag: number } }

const folder = mkdtempSync(join(tmpdir(), 'vitrine-sqlite-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** An operation that takes this long is blocked. */
const HANGS_MS = 60_000

let files = 0
const newPath = (): string => join(folder, `deep/er/${files++}.db`)

function openKysely(
  path: string,
  role: SqliteOptions['role'],
  options: Pick<SqliteOptions, 'busyTimeoutMs'> = {},
): Kysely<Tables> {
  return new Kysely<Tables>({
    dialect: new SqliteDialect({ database: openSqlite({ path, role, ...options }) }),
  })
}

function open(path: string, role: SqliteOptions['role'] = 'writer'): Kysely<Tables> {
  const database = openKysely(path, role)
  onTestFinished(() => database.destroy())
  return database
}

async function openWithTable(path: string): Promise<Kysely<Tables>> {
  const writer = open(path)
  await sql`create table items (id integer primary key, text text, flag integer not null default 0)`.execute(
    writer,
  )
  return writer
}

const count = async (database: Kysely<Tables>): Promise<number> =>
  (
    await database
      .selectFrom('items')
      .select(sql<number>`count(*)`.as('n'))
      .executeTakeFirstOrThrow()
  ).n

describe('opening', () => {
  it('file in missing folders - the folders are created', async () => {
    const path = newPath()
    await openWithTable(path)
    expect(readdirSync(join(folder, 'deep/er'))).toContain(path.split('/').at(-1))
  })

  it.each([
    ['below a file', (path: string): string => join(path, 'x.db')],
    ['a folder', (): string => folder],
    ['text file', (path: string): string => path],
  ])('%s - StoreError', (_name, toPath) => {
    const file = join(folder, `plain-${files++}`)
    writeFileSync(file, 'this is certainly no database. '.repeat(100))
    for (const role of ['writer', 'reader'] as const) {
      expect(() => openSqlite({ path: toPath(file), role })).toThrow(
        expect.objectContaining({ code: 'VITRINE_STORE_FAILED', cause: expect.any(Error) }),
      )
    }
  })

  it('settings of the connection - WAL, foreign keys, and a busy timeout', async () => {
    const writer = open(newPath())
    const read = async (name: string): Promise<unknown> =>
      Object.values((await sql`pragma ${sql.raw(name)}`.execute(writer)).rows[0] ?? {})[0]
    expect(await read('journal_mode')).toBe('wal')
    expect(await read('foreign_keys')).toBe(1)
    expect(await read('busy_timeout')).toBe(5_000)
    expect(await read('synchronous')).toBe(1)
  })
})

describe('reading and writing', () => {
  it('values - text, null, number - are read back; row counts and new IDs are returned', async () => {
    const writer = await openWithTable(newPath())
    const result = await writer
      .insertInto('items')
      .values([
        { id: 1, text: 'ü😀', flag: 1 },
        { id: 2, text: null, flag: 0 },
      ])
      .executeTakeFirstOrThrow()
    expect(result).toMatchObject({ insertId: 2n, numInsertedOrUpdatedRows: 2n })
    expect(await writer.selectFrom('items').selectAll().orderBy('id').execute()).toEqual([
      { id: 1, text: 'ü😀', flag: 1 },
      { id: 2, text: null, flag: 0 },
    ])
    const returned = await writer.deleteFrom('items').returning('id').execute()
    expect(returned).toEqual([{ id: 1 }, { id: 2 }])
  })

  it('reader - of a file - sees committed data and cannot write', async () => {
    const path = newPath()
    const writer = await openWithTable(path)
    const reader = open(path, 'reader')
    await writer.insertInto('items').values({ id: 1, text: 'a', flag: 0 }).execute()
    expect(await count(reader)).toBe(1)
    await expect(reader.deleteFrom('items').execute()).rejects.toThrow(/readonly/)
    expect(await count(writer)).toBe(1)
  })

  it('reader - during a transaction of the writer - sees the previous state, without waiting', async () => {
    const path = newPath()
    const writer = await openWithTable(path)
    const reader = open(path, 'reader')
    await writer.transaction().execute(async (transaction) => {
      await transaction.insertInto('items').values({ id: 1, text: 'a', flag: 0 }).execute()
      expect(await count(reader)).toBe(0)
    })
    expect(await count(reader)).toBe(1)
  })

  it('transaction - that throws - is rolled back', async () => {
    const writer = await openWithTable(newPath())
    const failing = writer.transaction().execute(async (transaction) => {
      await transaction.insertInto('items').values({ id: 1, text: 'a', flag: 0 }).execute()
      throw new Error('no')
    })
    await expect(failing).rejects.toThrow('no')
    expect(await count(writer)).toBe(0)
  })

  it('transaction - of a writer - acquires the write lock when it begins; of a reader - does not', async () => {
    const path = newPath()
    const writer = await openWithTable(path)
    const other = open(path)
    await sql`pragma busy_timeout = 0`.execute(other)
    const reader = open(path, 'reader')
    await writer.transaction().execute(async () => {
      await expect(other.transaction().execute(() => Promise.resolve())).rejects.toThrow(/locked/)
      expect(await reader.transaction().execute(count)).toBe(0)
    })
    await other.transaction().execute(() => Promise.resolve())
  })

  it('more queries than the statement cache holds - all work, also the second time', async () => {
    const writer = await openWithTable(newPath())
    for (const _round of [1, 2]) {
      for (let shape = 0; shape < 250; shape++) {
        const { rows } = await sql<{ n: number }>`select ${sql.raw(String(shape))} as n`.execute(writer)
        expect(rows).toEqual([{ n: shape }])
      }
    }
  })

  it('databases in memory - are separate', async () => {
    const first = await openWithTable(':memory:')
    await first.insertInto('items').values({ id: 1, text: 'a', flag: 0 }).execute()
    const second = await openWithTable(':memory:')
    expect(await count(second)).toBe(0)
    expect(await count(open(':memory:', 'reader')).catch(() => 'no table')).toBe('no table')
  })

  it('closing - of the writer - leaves all data in the database file', async () => {
    const path = newPath()
    const writer = openKysely(path, 'writer')
    await sql`create table items (id integer primary key)`.execute(writer)
    expect(statSync(`${path}-wal`).size).toBeGreaterThan(0)
    await writer.destroy()
    // On Node 20, statements stay open until garbage collection, which leaves an empty -wal file.
    expect(statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0).toBe(0)
    const copy = newPath()
    copyFileSync(path, copy)
    expect(await count(open(copy))).toBe(0)
  })

  it('close while another process writes - does not wait for it', async () => {
    const path = newPath()
    const writer = await openWithTable(path)
    // SQLite blocks the calling thread, so a test timeout could not end the wait.
    const other = openKysely(path, 'writer', { busyTimeoutMs: 2 * HANGS_MS })
    await writer.transaction().execute(async (transaction) => {
      await transaction.insertInto('items').values({ id: 1, text: null, flag: 0 }).execute()
      const startedAtMs = performance.now()
      await other.destroy()
      expect(performance.now() - startedAtMs).toBeLessThan(HANGS_MS)
    })
    expect(await count(writer)).toBe(1)
  })
})

describe('full disk and invalid path', () => {
  it.runIf(process.platform === 'linux')('folder that cannot be created - fails without hanging', () => {
    expect(() => openSqlite({ path: '/proc/nothing/deep/x.db', role: 'writer' })).toThrow(
      expect.objectContaining({ code: 'VITRINE_STORE_FAILED' }),
    )
  })

  it('full during a transaction - reports it; existing data stays, and the database can be closed', async () => {
    const path = newPath()
    const database = await openWithTable(path)
    await database.insertInto('items').values({ id: 1, text: 'existing', flag: 0 }).execute()
    await sql`pragma max_page_count = 4`.execute(database)
    const filling = database.transaction().execute(async (transaction) => {
      for (let id = 2; id < 100; id++)
        await transaction
          .insertInto('items')
          .values({ id, text: 'x'.repeat(1_000), flag: 0 })
          .execute()
    })
    await expect(filling).rejects.toThrow('database or disk is full')
    expect(await count(database)).toBe(1)
    await database.destroy()
    expect(await count(open(path, 'reader'))).toBe(1)
  })
})
