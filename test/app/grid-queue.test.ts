import request from 'supertest'
import { expect, test, vi } from 'vitest'
import type { StoreThreads } from '../../src/storage/threads.ts'
import { defer } from '../helpers/defer.ts'
import { CHANNEL_ID } from '../helpers/fake-catalog.ts'
import { makeProductOnSale, startStockedHarness } from './app-client.ts'

/** A grid that needs a long read. */
const toGrid = (brand: string): string => `/fragments/${CHANNEL_ID}/deals?currency=EUR&brand=${brand}`

/** Create long reads that the test ends; `begun` lists their brands. */
function createReads(): Readonly<{ open: StoreThreads['openLongReads']; begun: string[]; endNext(): void }> {
  const begun: string[] = []
  const running: (() => void)[] = []
  return {
    begun,
    endNext: () => running.shift()?.(),
    open: () => ({
      findDeals({ brand }) {
        const read = defer<[]>()
        begun.push(brand ?? '')
        running.push(() => read.resolve([]))
        return read.promise
      },
      countDeals: () => Promise.reject(new Error('not counted')),
      searchProducts: () => Promise.resolve([]),
      listAskedProducts: () => Promise.resolve([]),
      listPlacements: () => Promise.resolve([]),
      listClicks: () => Promise.resolve([]),
      sumClicks: () => Promise.resolve(new Map()),
      findLastShownDays: () => Promise.resolve(new Map()),
      close: () => Promise.resolve(),
    }),
  }
}

test('grids of several visitors - take turns by visitor address, which the trusted proxy reports', async () => {
  const reads = createReads()
  const { app, clock } = await startStockedHarness([makeProductOnSale()], {
    settings: { VITRINE_TRUST_PROXY: '1' },
    over: { threads: { openLongReads: reads.open } },
  })
  const visit = async (brand: string, address: string): Promise<string | undefined> => {
    const { headers } = await request(app).get(toGrid(brand)).set('X-Forwarded-For', address)
    return headers['vitrine-state']
  }
  const visits: Promise<string | undefined>[] = []
  for (const [brand, address] of [
    ['a1', '192.0.2.1'],
    ['a2', '192.0.2.1'],
    ['a3', '192.0.2.1'],
    ['b1', '192.0.2.2'],
  ] as const) {
    visits.push(visit(brand, address))
    // Each queued request adds two waits: its deadline and the deadline of its queue entry.
    await vi.waitFor(() => expect(clock.pendingWaits).toBeGreaterThanOrEqual(2 * visits.length))
  }
  for (let count = 1; count <= visits.length; count += 1) {
    await vi.waitFor(() => expect(reads.begun).toHaveLength(count))
    reads.endNext()
  }
  expect(reads.begun).toEqual(['a1', 'a2', 'b1', 'a3'])
  expect(await Promise.all(visits)).toEqual(['hidden', 'hidden', 'hidden', 'hidden'])
})

test('grid without a filter - does not wait for a long read', async () => {
  const reads = createReads()
  const { app } = await startStockedHarness([makeProductOnSale()], {
    over: { threads: { openLongReads: reads.open } },
  })
  const searched = request(app)
    .get(toGrid('a1'))
    .then(({ headers }) => headers['vitrine-state'])
  await vi.waitFor(() => expect(reads.begun).toEqual(['a1']))
  const plain = await request(app).get(`/fragments/${CHANNEL_ID}/deals?currency=EUR`)
  expect(plain.headers['vitrine-state']).toBe('shown')
  reads.endNext()
  expect(await searched).toBe('hidden')
})

test('first products - are read without the long-read thread; a search uses it', async () => {
  const { context } = await startStockedHarness([makeProductOnSale()], {
    over: { threads: { openLongReads: createReads().open } },
  })
  expect(await context.store.searchProducts(CHANNEL_ID, '', 1)).toHaveLength(1)
  expect(await context.store.searchProducts(CHANNEL_ID, 'anything', 1)).toEqual([])
})
