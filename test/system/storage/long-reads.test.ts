import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { STORE_THREADS } from '../../../src/storage/threads.ts'
import { type StoredCopy, openStoredCopy } from '../../../src/storage/stored-copy.ts'
import { isShortRead } from '../../../src/storage/store.ts'
import { makeParsedOffer, makeProduct, toGtin } from '../../helpers/products.ts'
import { CHANNEL, makeQuery, walkAll } from '../../storage/conformance/subject.ts'

const products = Array.from({ length: 600 }, (_, index) =>
  makeProduct({
    gtin: toGtin(index),
    title: `Lamp ${index}`,
    offers: [makeParsedOffer({ price: `${20 + index}.00`, oldPrice: '900.00' })],
  }),
)

let store: StoredCopy
let path: string
beforeEach(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'vitrine-threads-'))
  path = join(folder, 'copy.db')
  store = await openStoredCopy({
    database: { kind: 'sqlite', path },
    catalog: 'c',
    threads: STORE_THREADS,
  })
  onTestFinished(async () => {
    await store.close()
    await rm(folder, { recursive: true, force: true })
  })
  await walkAll(store, products, 100)
})

describe('long reads in a separate thread', () => {
  test('grids, counts and searches - equal the results of the calling thread', async () => {
    const direct = await openStoredCopy({ database: { kind: 'sqlite', path }, catalog: 'c' })
    onTestFinished(() => direct.close())
    const short = makeQuery({ limit: 5 })
    const long = makeQuery({ searchText: 'lamp 5', excluded: ['nobody'], sort: 'saving' })
    expect(await store.findDeals(short)).toHaveLength(5)
    for (const query of [short, long]) {
      expect(await store.findDeals(query)).toEqual(await direct.findDeals(query))
      const keys = new Map([['kopje', 'shop']])
      expect(await store.countDeals(query, keys)).toEqual(await direct.countDeals(query, keys))
    }
    expect(await store.searchProducts(CHANNEL, 'lamp 599', 8)).toEqual(
      await direct.searchProducts(CHANNEL, 'lamp 599', 8),
    )
  })

  test('counts - equal the results of the calling thread', async () => {
    const direct = await openStoredCopy({ database: { kind: 'sqlite', path }, catalog: 'c' })
    onTestFinished(() => direct.close())
    const gtin = toGtin(1)
    const key = { channelId: CHANNEL, day: 9, gtin, sub: 'a' }
    await store.addCounts({
      widgets: [{ ...key, shown: 1, hidden: 0, unavailable: 0 }],
      clicks: [{ ...key, merchant: 'Kopje', clicks: 2 }],
    })
    const period = { fromDay: 9, untilDay: 9 }
    const readCounts = (from: StoredCopy) =>
      Promise.all([
        from.listPlacements(CHANNEL, { ...period, gtins: [gtin] }),
        from.listClicks(CHANNEL, { ...period, limit: 9 }),
        from.sumClicks(CHANNEL, { ...period, by: 'gtin', keys: [gtin] }),
        from.findLastShownDays(CHANNEL, [gtin]),
      ])
    const results = await readCounts(store)
    expect(results).toMatchObject([
      [{ sub: 'a' }],
      [{ clicks: 2 }],
      new Map([[gtin, 2]]),
      new Map([[gtin, 9]]),
    ])
    expect(await readCounts(direct)).toEqual(results)
  })

  test('timeout exceeded - the read is cancelled, and the thread continues with the next one', async () => {
    const reads = STORE_THREADS.openLongReads({ path, catalog: 'c' })
    onTestFinished(() => reads.close())
    for (const over of [
      { excluded: ['kopje'] },
      { excluded: ['kopje'], sort: 'saving' },
      { searchText: 'lamp' },
      { brand: 'lumen' },
    ] as const) {
      const query = makeQuery(over)
      await expect(reads.findDeals(query, 0)).rejects.toMatchObject({ code: 'VITRINE_UNAVAILABLE' })
      expect(await reads.findDeals(makeQuery({ limit: 3 }), 60_000)).toHaveLength(3)
    }
  })

  test('read that fails - is a store error with the message of the database', async () => {
    const reads = STORE_THREADS.openLongReads({ path: join(path, 'no-folder', 'copy.db'), catalog: 'c' })
    onTestFinished(() => reads.close())
    await expect(reads.findDeals(makeQuery())).rejects.toMatchObject({
      code: 'VITRINE_STORE_FAILED',
      message: expect.stringContaining('Cannot open the database'),
      remedy: 'Choose another path.',
    })
    // The same thread handles another read.
    await expect(reads.findDeals(makeQuery())).rejects.toThrow(/Cannot open the database/)
  })

  test('closing - ends the thread after its pending reads', async () => {
    const reads = STORE_THREADS.openLongReads({ path, catalog: 'c' })
    // The thread has started: its start does not count as time to close.
    await reads.findDeals(makeQuery({ limit: 1 }))
    const read = reads.findDeals(makeQuery({ searchText: 'lamp' }))
    await reads.close()
    expect(await read).toHaveLength(61)
  })
})

test('short reads - are only pages near the start without filters that require a search', () => {
  expect(isShortRead(makeQuery({ minDiscountPercent: 20, offset: 960 }))).toBe(true)
  for (const over of [
    { searchText: 'x' },
    { brand: 'x' },
    { merchants: ['x'] },
    { excluded: ['x'] },
    { maxPrice: '5' },
    { offset: 1_020 },
    { offset: 204, sort: 'price' },
    { minDiscountPercent: 20, sort: 'newest' },
  ] as const)
    expect(isShortRead(makeQuery(over))).toBe(false)
})
