import { expect, onTestFinished, test, vi } from 'vitest'
import type { LongReads } from '../../src/storage/long-reads.ts'
import type { StoreThreads } from '../../src/storage/threads.ts'
import { type StoredCopy, openStoredCopy } from '../../src/storage/stored-copy.ts'
import { makeCopyFile } from '../helpers/copy-file.ts'
import { makeParsedOffer, makeProduct, toGtin } from '../helpers/products.ts'
import { CHANNEL, makeQuery, walkAll } from './conformance/subject.ts'

/** Open a copy whose long reads are only recorded. */
async function openRecorded(): Promise<Readonly<{ store: StoredCopy; called: readonly string[] }>> {
  const { path, remove } = await makeCopyFile()
  const called: string[] = []
  const record = <Value>(method: keyof LongReads, value: Value): (() => Promise<Value>) => {
    return () => {
      called.push(method)
      return Promise.resolve(value)
    }
  }
  const openLongReads: StoreThreads['openLongReads'] = () => ({
    findDeals: record('findDeals', []),
    countDeals: () => Promise.reject(new Error('not counted')),
    searchProducts: record('searchProducts', []),
    listAskedProducts: record('listAskedProducts', []),
    listPlacements: record('listPlacements', []),
    listClicks: record('listClicks', []),
    sumClicks: record('sumClicks', new Map()),
    findLastShownDays: record('findLastShownDays', new Map()),
    close: () => Promise.resolve(),
  })
  const store = await openStoredCopy({
    database: { kind: 'sqlite', path },
    catalog: 'c',
    threads: { openLongReads },
  })
  onTestFinished(async () => {
    await store.close()
    await remove()
  })
  return { store, called }
}

test('short grid that takes long, because no deal is in stock - is left to the read thread', async () => {
  const { store, called } = await openRecorded()
  const products = Array.from({ length: 300 }, (_, index) => {
    const offer = {
      price: '80.00',
      oldPrice: '100.00',
      availability: index === 299 ? 'in_stock' : 'out_of_stock',
    }
    return makeProduct({ gtin: toGtin(index), offers: [makeParsedOffer(offer)] })
  })
  await walkAll(store, products, 100)
  const query = makeQuery({ isInStockOnly: true, limit: 5 })
  expect(await store.findDeals(query)).toHaveLength(1)
  let nowMs = performance.now()
  const now = vi.spyOn(performance, 'now').mockImplementation(() => (nowMs += 30))
  onTestFinished(() => now.mockRestore())
  expect(await store.findDeals(query)).toEqual([])
  expect(called).toEqual(['findDeals'])
})

test('reads of counts in a file - run on the read thread, because they may read every row', async () => {
  const { store, called } = await openRecorded()
  const period = { fromDay: 1, untilDay: 2 }
  const gtins = [toGtin(1)]
  await store.listAskedProducts(CHANNEL, { ...period, limit: 1 })
  await store.listPlacements(CHANNEL, { ...period, gtins })
  await store.listClicks(CHANNEL, { ...period, limit: 1 })
  await store.sumClicks(CHANNEL, { ...period, by: 'gtin', keys: gtins })
  await store.findLastShownDays(CHANNEL, gtins)
  expect(called).toEqual([
    'listAskedProducts',
    'listPlacements',
    'listClicks',
    'sumClicks',
    'findLastShownDays',
  ])
})
