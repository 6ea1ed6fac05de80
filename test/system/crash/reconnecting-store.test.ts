import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { SECOND_MS } from '../../../src/clock.ts'
import { openReconnectingStore } from '../../../src/storage/reconnecting-store.ts'
import { openSqlStore } from '../../../src/storage/sql-store.ts'
import type { CopyStore } from '../../../src/storage/store.ts'
import { StoreError, StoreNewerError } from '../../../src/errors.ts'
import { makeFolder } from '../../cli/run-cli.ts'
import { CHANNEL_ID } from '../../helpers/fake-catalog.ts'
import { type FakeClock, createFakeClock } from '../../helpers/fake-clock.ts'
import { NOON_MS } from '../../helpers/harness.ts'
import { makeProduct, toGtin } from '../../helpers/products.ts'
import { defer } from '../../helpers/defer.ts'

const FAILED = 'VITRINE_STORE_FAILED'
const WAIT_MS: number = 30 * SECOND_MS

/** A reconnecting store with a fake clock; the test opens it. */
type StoreFixture = Readonly<{
  path: string
  clock: FakeClock
  failures: unknown[]
  /** Number of attempts to open the store. */
  openings(): number
  open(opener?: () => Promise<CopyStore>): Promise<CopyStore>
}>

function makeStoreFixture(): StoreFixture {
  const path = join(makeFolder(), 'copy.db')
  const clock = createFakeClock(NOON_MS)
  const failures: unknown[] = []
  let openings = 0
  const openFile = (): Promise<CopyStore> =>
    openSqlStore({ database: { kind: 'sqlite', path }, catalog: 'c' })
  return {
    path,
    clock,
    failures,
    openings: () => openings,
    async open(opener = openFile) {
      const store = await openReconnectingStore({
        open: () => {
          openings++
          return opener()
        },
        clock,
        onFailure: (error) => void failures.push(error),
      })
      onTestFinished(() => store.close())
      return store
    },
  }
}

const breakFile = (path: string): void => writeFileSync(path, 'no database '.repeat(5_000))

/** SQLite's error for a file that is damaged while a connection is open. */
const damaged = new StoreError('failed at ping', { cause: new Error('disk I/O error') })
const busy = new StoreError('failed at ping', { cause: new Error('database is locked') })

const newer = (): Promise<CopyStore> => Promise.reject(new StoreNewerError('newer'))

/** Open a real store whose first `ping` fails with `failure`. */
async function openFailing(path: string, failure: Error, closed: string[]): Promise<CopyStore> {
  const store = await openSqlStore({ database: { kind: 'sqlite', path }, catalog: 'c' })
  let isFailing = true
  return {
    ...store,
    ping() {
      if (!isFailing) return store.ping()
      isFailing = false
      return Promise.reject(failure)
    },
    close() {
      closed.push('closed')
      return store.close()
    },
  }
}

describe('store that cannot be opened', () => {
  test('first opening fails - one failure is reported; for 30 s there is no new attempt, and every method throws', async () => {
    const { path, clock, failures, openings, open } = makeStoreFixture()
    breakFile(path)
    const store = await open()
    expect([failures.length, openings()]).toEqual([1, 1])
    clock.advance(WAIT_MS - 1)
    const calls = [
      store.findProduct(CHANNEL_ID, toGtin(0)),
      store.putLookups([{ channelId: CHANNEL_ID, gtin: toGtin(0), entry: { product: null, asOfMs: 1 } }]),
      store.findChannelList(),
      store.getCopyState(CHANNEL_ID),
      store.updateQuota(NOON_MS, (state) => state),
      store.searchProducts(CHANNEL_ID, '', 1),
      store.ping(),
    ]
    for (const call of calls) await expect(call).rejects.toMatchObject({ code: FAILED })
    expect(openings()).toBe(1)
  })

  test('30 s later, file repaired - many callers cause one opening, and all succeed', async () => {
    const { path, clock, openings, open } = makeStoreFixture()
    breakFile(path)
    const store = await open()
    renameSync(path, `${path}.broken`)
    clock.advance(WAIT_MS)
    await Promise.all(Array.from({ length: 50 }, () => store.ping()))
    expect(openings()).toBe(2)
    await store.putLookups([
      { channelId: CHANNEL_ID, gtin: toGtin(1), entry: { product: makeProduct(), asOfMs: NOON_MS } },
    ])
    expect(openings()).toBe(2)
  })

  test('30 s later, still broken - many callers cause one opening, and all fail; the next attempt is 30 s later', async () => {
    const { path, clock, openings, open } = makeStoreFixture()
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
    await expect(makeStoreFixture().open(newer)).rejects.toMatchObject({ code: 'VITRINE_STORE_NEWER' })
    const { clock, open } = makeStoreFixture()
    const results = [() => Promise.reject(new StoreError('broken')), newer]
    const store = await open(() => (results.shift() ?? newer)())
    clock.advance(WAIT_MS)
    await expect(store.ping()).rejects.toMatchObject({ code: 'VITRINE_STORE_NEWER' })
    await expect(store.ping()).rejects.toMatchObject({ code: FAILED })
  })
})

describe('store that fails while it is open', () => {
  test('damaged file - the store is closed once; after 30 s without an attempt the file is opened again', async () => {
    const { path, clock, openings, open } = makeStoreFixture()
    const closed: string[] = []
    const store = await open(() => openFailing(path, damaged, closed))
    await expect(store.ping()).rejects.toBe(damaged)
    expect(closed).toHaveLength(1)
    await expect(store.getCopyState(CHANNEL_ID)).rejects.toMatchObject({ code: FAILED, cause: damaged })
    clock.advance(WAIT_MS - 1)
    await expect(store.getCopyState(CHANNEL_ID)).rejects.toMatchObject({ code: FAILED })
    expect(openings()).toBe(1)
    clock.advance(1)
    expect(await store.getCopyState(CHANNEL_ID)).toMatchObject({ currentWalk: 0 })
    expect([openings(), closed.length]).toEqual([2, 1])
  })

  test('locked file - the store stays open, and the next call succeeds', async () => {
    const { path, openings, open } = makeStoreFixture()
    const closed: string[] = []
    const store = await open(() => openFailing(path, busy, closed))
    await expect(store.ping()).rejects.toBe(busy)
    await store.ping()
    expect([openings(), closed]).toEqual([1, []])
  })

  test('damaged file, then replaced by another - the store opens the new file by itself', async () => {
    const { path, clock, open } = makeStoreFixture()
    const spare = join(makeFolder(), 'spare.db')
    const other = await openSqlStore({ database: { kind: 'sqlite', path: spare }, catalog: 'c' })
    await other.putLookups([
      {
        channelId: CHANNEL_ID,
        gtin: toGtin(7),
        entry: { product: makeProduct({ gtin: toGtin(7) }), asOfMs: 5 },
      },
    ])
    await other.close()
    const filled = await openSqlStore({ database: { kind: 'sqlite', path }, catalog: 'c' })
    await filled.close()
    breakFile(path)
    const store = await open()
    await expect(store.ping()).rejects.toMatchObject({ code: FAILED })
    renameSync(spare, path)
    clock.advance(WAIT_MS)
    expect(await store.findProduct(CHANNEL_ID, toGtin(7))).toMatchObject({ asOfMs: 5 })
  })
})

describe('close', () => {
  test('during an opening - waits for it and closes the opened store; nothing is opened afterwards', async () => {
    const { path, clock, openings, open } = makeStoreFixture()
    const opened = defer<undefined>()
    const closed: string[] = []
    let isFirst = true
    const store = await open(async () => {
      if (isFirst) {
        isFirst = false
        throw new StoreError('broken')
      }
      await opened.promise
      return openFailing(path, busy, closed)
    })
    clock.advance(WAIT_MS)
    const pendingCall = store.getCopyState(CHANNEL_ID).catch((error: unknown) => error)
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

  test('store that never opened - closes at once', async () => {
    const { path, open } = makeStoreFixture()
    breakFile(path)
    const store = await open()
    await expect(store.close()).resolves.toBeUndefined()
  })
})
