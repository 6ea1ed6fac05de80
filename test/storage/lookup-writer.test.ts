import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Product } from '../../src/catalog/contract.ts'
import { SECOND_MS } from '../../src/clock.ts'
import { openHealingStore } from '../../src/storage/reconnecting-store.ts'
import type { WaitingLookup } from '../../src/storage/lookup-queue.ts'
import { createLookupWriter } from '../../src/storage/lookup-writer.ts'
import { openSqlStore } from '../../src/storage/sql-store.ts'
import type { CopyStore, Lookup } from '../../src/storage/store.ts'
import { openSqlite } from '../../src/database/sqlite.ts'
import { StoreError } from '../../src/errors.ts'
import { type FakeClock, createFakeClock } from '../helpers/fake-clock.ts'
import { makeParsedOffer, makeProduct, toGtin } from '../helpers/products.ts'

const CHANNEL = 'c'

async function openStore(): Promise<CopyStore> {
  const store = await openSqlStore({ database: { kind: 'sqlite', path: ':memory:' }, catalog: 'http://c' })
  onTestFinished(() => store.close())
  return store
}

function toLookup(index: number, asOfMs = 1): WaitingLookup {
  const gtin = toGtin(index)
  return { channelId: CHANNEL, gtin, entry: { product: makeProduct({ gtin }), asOfMs }, bytes: 500 }
}

/** A store that counts its transactions; `refuse` makes those with a look-up fail. */
async function watchStore(refuse: (lookup: Lookup) => boolean = () => false): Promise<
  Readonly<{
    store: CopyStore
    sizes: number[]
    putLookups: CopyStore['putLookups']
  }>
> {
  const store = await openStore()
  const sizes: number[] = []
  return {
    store,
    sizes,
    putLookups(lookups) {
      sizes.push(lookups.length)
      return lookups.some(refuse) ? Promise.reject(new StoreError('refused')) : store.putLookups(lookups)
    },
  }
}

async function listStored(store: CopyStore, indexes: readonly number[]): Promise<readonly number[]> {
  const found = await Promise.all(
    indexes.map(async (index) => ({ index, entry: await store.findProduct(CHANNEL, toGtin(index)) })),
  )
  return found.filter(({ entry }) => entry !== undefined).map(({ index }) => index)
}

const makeOffers = (count: number): Product['offers'] =>
  Array.from({ length: count }, () => makeParsedOffer())

type HeldStore = Readonly<{ store: CopyStore; other: ReturnType<typeof openSqlite>; clock: FakeClock }>

/** A store of a file that another connection holds, as a process makes it: it lets its writes rest. */
async function openHeldStore(): Promise<HeldStore> {
  const folder = mkdtempSync(join(tmpdir(), 'vitrine-writer-'))
  const path = join(folder, 'copy.db')
  const clock = createFakeClock(0)
  const store = await openHealingStore({
    open: (timeouts) => openSqlStore({ database: { kind: 'sqlite', path }, catalog: 'c', timeouts }),
    clock,
    onFailure: () => {},
  })
  const other = openSqlite({ path, role: 'writer' })
  onTestFinished(async () => {
    other.close()
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })
  other.prepare('begin immediate').run([])
  return { store, other, clock }
}

const findHeld = (): Promise<void> => Promise.reject(new StoreError('database is locked'))

const range = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index)

describe('look-ups on their way into the copy', () => {
  test('forty at once - are written by themselves, in few transactions', async () => {
    const { store, sizes, putLookups } = await watchStore()
    const writer = createLookupWriter({ putLookups }, () => {})
    for (const index of range(40)) writer.put(toLookup(index))
    await vi.waitFor(async () => expect(await listStored(store, range(40))).toEqual(range(40)))
    expect(sizes).toEqual([16, 16, 8])
  })

  test('same product twice - the later is written', async () => {
    const { store, sizes, putLookups } = await watchStore()
    const writer = createLookupWriter({ putLookups }, () => {})
    writer.put(toLookup(1, 100))
    writer.put(toLookup(1, 200))
    await writer.settle()
    expect((await store.findProduct(CHANNEL, toGtin(1)))?.asOfMs).toBe(200)
    expect(sizes).toEqual([1])
  })

  test('one that cannot be written - takes no other with it, and is told once', async () => {
    const failures: unknown[] = []
    const { store, putLookups } = await watchStore(({ gtin }) => gtin === toGtin(2))
    const writer = createLookupWriter({ putLookups }, (error) => failures.push(error))
    for (const index of range(5)) writer.put(toLookup(index))
    await writer.settle()
    expect(await listStored(store, range(5))).toEqual([0, 1, 3, 4])
    expect(failures).toHaveLength(1)
  })

  test('put again after everything was written - is written, too', async () => {
    const { store, putLookups } = await watchStore()
    const writer = createLookupWriter({ putLookups }, () => {})
    for (const index of range(3)) {
      writer.put(toLookup(index))
      await writer.settle()
    }
    expect(await listStored(store, range(3))).toEqual(range(3))
  })

  test('many offers - are written in more transactions, one product at least in each', async () => {
    const { sizes, putLookups } = await watchStore()
    const writer = createLookupWriter({ putLookups }, () => {})
    for (const [index, count] of [300, 90, 90, 90, 1].entries()) {
      const { channelId, gtin } = toLookup(index)
      const product = makeProduct({ gtin, offers: makeOffers(count) })
      writer.put({ channelId, gtin, entry: { product, asOfMs: 1 }, bytes: 500 })
    }
    await writer.settle()
    expect(sizes).toEqual([1, 2, 2])
  })

  test('database that another process holds - they wait, and are written afterwards', async () => {
    const { store, putLookups } = await watchStore()
    let isHeld = true
    const failures: unknown[] = []
    const tries: number[] = []
    const hold: CopyStore['putLookups'] = (lookups) => {
      tries.push(lookups.length)
      if (!isHeld) return putLookups(lookups)
      isHeld = false
      return Promise.reject(new StoreError('failed', { cause: new Error('database is locked') }))
    }
    const writer = createLookupWriter({ putLookups: hold }, (error) => failures.push(error))
    for (const index of range(20)) writer.put(toLookup(index))
    await vi.waitFor(async () => expect(await listStored(store, range(20))).toEqual(range(20)))
    expect([failures, tries]).toEqual([[], [16, 16, 4]])
  })

  test('database that only reads - they wait, and are written afterwards', async () => {
    const { store, putLookups } = await watchStore()
    const refusal = Object.assign(new Error('it only reads'), { code: '25006' })
    const putOnce = vi
      .fn<CopyStore['putLookups']>(putLookups)
      .mockRejectedValueOnce(new StoreError('the database only read a moment ago', { cause: refusal }))
    const failures: unknown[] = []
    const writer = createLookupWriter({ putLookups: putOnce }, (error) => failures.push(error))
    writer.put(toLookup(1))
    await vi.waitFor(async () => expect(await listStored(store, [1])).toEqual([1]))
    expect(failures).toEqual([])
  })

  test('held by another process at a stop, for longer than a write waits - all are written all the same', async () => {
    const { store, other, clock } = await openHeldStore()
    // Two seconds are soon over on a busy machine.
    const standing = vi.spyOn(performance, 'now').mockReturnValue(0)
    onTestFinished(() => standing.mockRestore())
    const failures: unknown[] = []
    let tries = 0
    const writer = createLookupWriter(
      {
        async putLookups(lookups) {
          tries++
          // The other process ends when the store has begun to rest, which is over a few tries later.
          if (tries === 4) clock.advance(SECOND_MS)
          await store.putLookups(lookups).catch((error: unknown) => {
            if (tries === 1) other.prepare('rollback').run([])
            throw error
          })
        },
      },
      (error) => failures.push(error),
    )
    for (const index of range(100)) writer.put(toLookup(index))
    await writer.settle()
    expect(failures).toEqual([])
    expect(await listStored(store, range(100))).toEqual(range(100))
    expect(tries).toBe(10)
  })

  test('held at a stop without end - is tried for two seconds, and told once', async () => {
    const failures: unknown[] = []
    const writer = createLookupWriter({ putLookups: findHeld }, (error) => failures.push(error))
    for (const index of range(40)) writer.put(toLookup(index))
    const startedMs = performance.now()
    await Promise.all([writer.settle(), writer.settle()])
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(2 * SECOND_MS)
    expect(failures).toMatchObject([{ message: 'database is locked' }])
    expect(writer.find(CHANNEL, toGtin(39))).toBeUndefined()
  })

  test('held while they are written one by one at a stop - is told once beside the one that is refused', async () => {
    const failures: unknown[] = []
    const writer = createLookupWriter(
      {
        putLookups: (lookups) =>
          lookups.length === 1 && lookups[0]?.gtin !== toGtin(0)
            ? findHeld()
            : Promise.reject(new StoreError('refused')),
      },
      (error) => failures.push(error),
    )
    for (const index of range(5)) writer.put(toLookup(index))
    await writer.settle()
    expect(failures).toMatchObject([{ message: 'refused' }, { message: 'database is locked' }])
  })

  test('until it is written - is found; then no longer', async () => {
    const { putLookups } = await watchStore()
    const found: unknown[] = []
    const look = (): void =>
      void found.push(writer.find(CHANNEL, toGtin(1))?.asOfMs, writer.find(CHANNEL, toGtin(2)))
    const writer = createLookupWriter(
      {
        putLookups(lookups) {
          look()
          return putLookups(lookups)
        },
      },
      () => {},
    )
    writer.put(toLookup(1, 100))
    look()
    await writer.settle()
    look()
    expect(found).toEqual([100, undefined, 100, undefined, undefined, undefined])
  })

  test('more than a thousand - those beyond are told, and the rest is written', async () => {
    const failures: unknown[] = []
    const { store, putLookups } = await watchStore()
    const writer = createLookupWriter({ putLookups }, (error) => failures.push(error))
    for (const index of range(1_002)) writer.put(toLookup(index))
    writer.put(toLookup(1, 200))
    await writer.settle()
    expect(failures).toHaveLength(2)
    expect((await store.findProduct(CHANNEL, toGtin(1)))?.asOfMs).toBe(200)
    expect(await listStored(store, [0, 999, 1_000])).toEqual([0, 999])
  })
})

test('somebody waits for a look-up - it is written without a moment for others to come', async () => {
  const { putLookups, sizes } = await watchStore()
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const writer = createLookupWriter({ putLookups }, () => {})
  writer.put(toLookup(1))
  for (let turn = 0; turn < 5; turn += 1) await setImmediate()
  expect(sizes).toEqual([])
  writer.hurry()
  for (let turn = 0; turn < 5; turn += 1) await setImmediate()
  expect(sizes).toEqual([1])
  expect(writer.find(CHANNEL, toGtin(1))).toBeUndefined()
})
