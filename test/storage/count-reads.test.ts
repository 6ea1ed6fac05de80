import { expect, onTestFinished, test } from 'vitest'
import type { LongReads } from '../../src/storage/long-reads.ts'
import { openStoredCopy } from '../../src/storage/stored-copy.ts'
import { makeCopyFile } from '../helpers/copy-file.ts'
import { toGtin } from '../helpers/products.ts'
import { CHANNEL } from './conformance/subject.ts'

test('reads of counts in a file - run on the read thread, because they may read every row', async () => {
  const { path, remove } = await makeCopyFile()
  const called: string[] = []
  const record = <Value>(method: keyof LongReads, value: Value): (() => Promise<Value>) => {
    return () => {
      called.push(method)
      return Promise.resolve(value)
    }
  }
  const store = await openStoredCopy({
    database: { kind: 'sqlite', path },
    catalog: 'c',
    openLongReads: () => ({
      findDeals: record('findDeals', []),
      countDeals: () => Promise.reject(new Error('not counted')),
      searchProducts: record('searchProducts', []),
      listAskedProducts: record('listAskedProducts', []),
      listPlacements: record('listPlacements', []),
      listClicks: record('listClicks', []),
      sumClicks: record('sumClicks', new Map()),
      findLastShownDays: record('findLastShownDays', new Map()),
      close: () => Promise.resolve(),
    }),
  })
  onTestFinished(async () => {
    await store.close()
    await remove()
  })
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
