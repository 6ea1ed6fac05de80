import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { describe, expect, onTestFinished, test } from 'vitest'
import { SECOND_MS } from '../../src/clock.ts'
import { type Connection, openConnection } from '../../src/database/connection.ts'
import type { OpenDatabase } from '../../src/database/open-database.ts'
import { StoreError, StoreNewerError } from '../../src/errors.ts'
import { openCopyDatabase } from '../../src/storage/copy-database.ts'
import type { CopyTables } from '../../src/storage/schema.ts'
import { makeFolder } from '../cli/run-cli.ts'
import { defer } from '../helpers/defer.ts'
import { type FakeClock, createFakeClock } from '../helpers/fake-clock.ts'
import { NOON_MS } from '../helpers/harness.ts'

const FAILED = 'VITRINE_STORE_FAILED'
const WAIT_MS: number = 30 * SECOND_MS

type Opened = OpenDatabase<CopyTables>
type Opener = () => Promise<Opened>

/** The connection of a service with a fake clock; the test opens it. */
type ConnectionFixture = Readonly<{
  path: string
  clock: FakeClock
  failures: unknown[]
  /** Number of attempts to open the file. */
  openings(): number
  open(opener?: Opener): Promise<Connection<CopyTables>>
}>

function makeConnectionFixture(): ConnectionFixture {
  const path = join(makeFolder(), 'copy.db')
  const clock = createFakeClock(NOON_MS)
  const failures: unknown[] = []
  let openings = 0
  return {
    path,
    clock,
    failures,
    openings: () => openings,
    async open(opener = () => openCopyDatabase({ kind: 'sqlite', path })) {
      const connection: Connection<CopyTables> = await openConnection<CopyTables, Opened>({
        open: () => {
          openings++
          return opener()
        },
        kind: 'file',
        table: 'copies',
        failure: 'failed',
        clock,
        service: {
          maxSilenceMs: SECOND_MS,
          lockedMs: 0,
          reopenMs: WAIT_MS,
          onFailure: (error) => void failures.push(error),
        },
      })
      onTestFinished(() => connection.close())
      return connection
    },
  }
}

const breakFile = (path: string): void => writeFileSync(path, 'no database '.repeat(5_000))

/** SQLite's errors for a file that is damaged while a connection is open, and for a locked one. */
const damaged = new Error('disk I/O error')
const busy = new Error('database is locked')

const newer = (): Promise<Opened> => Promise.reject(new StoreNewerError('newer'))

/** Open a file; count how often it is closed. */
async function openCounted(path: string, closed: string[]): Promise<Opened> {
  const opened = await openCopyDatabase({ kind: 'sqlite', path })
  return {
    ...opened,
    close() {
      closed.push('closed')
      return opened.close()
    },
  }
}

/** Return work that fails. */
function fail(error: Error): () => Promise<never> {
  return async () => {
    throw error
  }
}

const readOne = async ({ reader }: Opened): Promise<unknown> =>
  (await sql`select 1 as one from copies where false`.execute(reader)).rows

describe('database that cannot be opened', () => {
  test('first opening fails - one failure is reported; for 30 s there is no new attempt, and every lane throws', async () => {
    const { path, clock, failures, openings, open } = makeConnectionFixture()
    breakFile(path)
    const store = await open()
    expect([failures.length, openings()]).toEqual([1, 1])
    clock.advance(WAIT_MS - 1)
    const calls = [
      store.readShort(readOne),
      store.readForVisitor(readOne),
      store.read(readOne),
      store.write(readOne),
      store.transact(() => Promise.resolve()),
      store.ping(),
      store.checkWritable(),
    ]
    for (const call of calls) await expect(call).rejects.toMatchObject({ code: FAILED })
    expect(openings()).toBe(1)
  })

  test('30 s later, file repaired - many callers cause one opening, and all succeed', async () => {
    const { path, clock, openings, open } = makeConnectionFixture()
    breakFile(path)
    const store = await open()
    renameSync(path, `${path}.broken`)
    clock.advance(WAIT_MS)
    await Promise.all(Array.from({ length: 50 }, () => store.ping()))
    expect(openings()).toBe(2)
    await store.write(({ writer }) => sql`delete from copies`.execute(writer))
    expect(openings()).toBe(2)
  })

  test('30 s later, still broken - many callers cause one opening, and all fail; the next attempt is 30 s later', async () => {
    const { path, clock, openings, open } = makeConnectionFixture()
    breakFile(path)
    const store = await open()
    clock.advance(WAIT_MS)
    const results = await Promise.allSettled(Array.from({ length: 50 }, () => store.ping()))
    expect(new Set(results.map(({ status }) => status))).toEqual(new Set(['rejected']))
    expect(openings()).toBe(2)
    clock.advance(WAIT_MS - 1)
    await expect(store.ping()).rejects.toMatchObject({ code: FAILED })
    expect(openings()).toBe(2)
    clock.advance(1)
    await expect(store.ping()).rejects.toMatchObject({ code: FAILED })
    expect(openings()).toBe(3)
  })

  test('copy of a newer version - the first opening fails; later it is an error like any other', async () => {
    await expect(makeConnectionFixture().open(newer)).rejects.toMatchObject({ code: 'VITRINE_STORE_NEWER' })
    const { clock, open } = makeConnectionFixture()
    const results = [() => Promise.reject(new StoreError('broken')), newer]
    const store = await open(() => (results.shift() ?? newer)())
    clock.advance(WAIT_MS)
    await expect(store.ping()).rejects.toMatchObject({ code: 'VITRINE_STORE_NEWER' })
    await expect(store.ping()).rejects.toMatchObject({ code: FAILED })
  })
})

describe('database that fails while it is open', () => {
  test('damaged file - the file is closed once; after 30 s without an attempt it is opened again', async () => {
    const { path, clock, openings, open } = makeConnectionFixture()
    const closed: string[] = []
    const store = await open(() => openCounted(path, closed))
    await expect(store.read(fail(damaged))).rejects.toMatchObject({
      message: 'failed: disk I/O error',
      cause: damaged,
    })
    expect(closed).toHaveLength(1)
    await expect(store.read(readOne)).rejects.toMatchObject({ code: FAILED, cause: { cause: damaged } })
    clock.advance(WAIT_MS - 1)
    await expect(store.read(readOne)).rejects.toMatchObject({ code: FAILED })
    expect(openings()).toBe(1)
    clock.advance(1)
    expect(await store.read(readOne)).toEqual([])
    expect([openings(), closed.length]).toEqual([2, 1])
  })

  test.each([
    ['locked file', busy],
    ['full disk', new Error('database or disk is full')],
    ['fault of the program', new TypeError('x is undefined')],
  ])('%s - the file stays open, and the next call succeeds', async (_name, failure) => {
    const { path, openings, open } = makeConnectionFixture()
    const closed: string[] = []
    const store = await open(() => openCounted(path, closed))
    await expect(store.read(fail(failure))).rejects.toMatchObject({ code: FAILED, cause: failure })
    await store.ping()
    expect([openings(), closed]).toEqual([1, []])
  })

  test('damaged file, failed write - the file stays open for reads', async () => {
    const { path, openings, open } = makeConnectionFixture()
    const store = await open(() => openCounted(path, []))
    await expect(store.write(fail(damaged))).rejects.toMatchObject({ code: FAILED })
    expect(await store.read(readOne)).toEqual([])
    expect(openings()).toBe(1)
  })

  test('damaged file, then replaced by another - the new file is opened by itself', async () => {
    const { path, clock, open } = makeConnectionFixture()
    const spare = join(makeFolder(), 'spare.db')
    const other = await openCopyDatabase({ kind: 'sqlite', path: spare })
    await sql`insert into copies (catalog, channel_id) values ('other', 'c')`.execute(other.writer)
    await other.close()
    await (await openCopyDatabase({ kind: 'sqlite', path })).close()
    breakFile(path)
    const store = await open()
    await expect(store.ping()).rejects.toMatchObject({ code: FAILED })
    renameSync(spare, path)
    clock.advance(WAIT_MS)
    const select = sql`select catalog from copies`
    expect(await store.read(({ reader }) => select.execute(reader))).toMatchObject({
      rows: [{ catalog: 'other' }],
    })
  })
})

describe('close', () => {
  test('during an opening - waits for it and closes what it opened; nothing is opened afterwards', async () => {
    const { path, clock, openings, open } = makeConnectionFixture()
    const opened = defer<undefined>()
    const closed: string[] = []
    let isFirst = true
    const store = await open(async () => {
      if (isFirst) {
        isFirst = false
        throw new StoreError('broken')
      }
      await opened.promise
      return openCounted(path, closed)
    })
    clock.advance(WAIT_MS)
    const pendingCall = store.read(readOne).catch((error: unknown) => error)
    const closing = store.close()
    expect(closed).toEqual([])
    opened.resolve(undefined)
    await closing
    await pendingCall
    expect(closed).toHaveLength(1)
    clock.advance(10 * WAIT_MS)
    await expect(store.ping()).rejects.toMatchObject({ code: FAILED })
    expect(openings()).toBe(2)
  })

  test('database that never opened - closes at once', async () => {
    const { path, open } = makeConnectionFixture()
    breakFile(path)
    const store = await open()
    await expect(store.close()).resolves.toBeUndefined()
  })
})
