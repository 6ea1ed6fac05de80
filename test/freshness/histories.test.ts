import { beforeEach, describe, expect, test } from 'vitest'
import { DAY_MS, SECOND_MS } from '../../src/clock.ts'
import { StoreError } from '../../src/errors.ts'
import { type CachedHistory, type HistorySource, createHistorySource } from '../../src/freshness/histories.ts'
import { type LruCache, createLruCache } from '../../src/lib/lru-cache.ts'
import type { PriceSeries } from '../../src/offers/price-history.ts'
import { defer } from '../helpers/defer.ts'
import { type FakeClock, createFakeClock } from '../helpers/fake-clock.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { FRESHNESS } from './sources-fixture.ts'

const SERIES: readonly PriceSeries[] = [
  { merchantKey: 'kopje', currency: 'EUR', days: [{ day: 1, low: 2, last: 2, isImported: false }] },
]
const FRESH_MS = FRESHNESS.freshSeconds * SECOND_MS

let clock: FakeClock
let cache: LruCache<CachedHistory>
let reads: string[]
let failures: unknown[]
let findPriceSeries: () => Promise<readonly PriceSeries[]>
let histories: HistorySource

beforeEach(() => {
  clock = createFakeClock(NOON_MS)
  cache = createLruCache<CachedHistory>({ maxEntries: 10, maxBytes: 100_000 })
  reads = []
  failures = []
  findPriceSeries = () => Promise.resolve(SERIES)
  histories = createHistorySource({
    store: {
      findPriceSeries: (channelId, gtin) => {
        reads.push(`${channelId} ${gtin}`)
        return findPriceSeries()
      },
    },
    cache,
    clock,
    config: FRESHNESS,
    onStoreFailure: (error) => void failures.push(error),
  })
})

const find = (asOfMs = NOON_MS, gtin = 'g'): ReturnType<HistorySource['findHistory']> =>
  histories.findHistory({
    channelId: 'c',
    gtin,
    asOfMs,
    deadlineMs: clock.nowMs() + FRESHNESS.visitorTimeoutMs,
  })

describe('observed prices of a product', () => {
  test('first read - from the store, valid while fresh', async () => {
    expect(await find()).toEqual({ series: SERIES, validUntilMs: NOON_MS + FRESH_MS })
    expect(reads).toEqual(['c g'])
  })

  test('same state of the product - is not read again before the time is over', async () => {
    await find()
    clock.advance(FRESH_MS - 1)
    expect(await find()).toEqual({ series: SERIES, validUntilMs: NOON_MS + FRESH_MS })
    expect(reads).toHaveLength(1)
    clock.advance(1)
    expect(await find()).toMatchObject({ validUntilMs: NOON_MS + 2 * FRESH_MS })
    expect(reads).toHaveLength(2)
  })

  test('new state of the product, or another product - is read', async () => {
    await find()
    await find(NOON_MS + 1)
    await find(NOON_MS + 1, 'h')
    expect(reads).toEqual(['c g', 'c g', 'c h'])
  })

  test('clock set back by a day - what was read in the future is not used', async () => {
    await find()
    clock.step(-DAY_MS)
    await find()
    expect(reads).toHaveLength(2)
  })

  test('several requests at once - share a read', async () => {
    expect(await Promise.all([find(), find(), find()])).toHaveLength(3)
    expect(reads).toHaveLength(1)
  })

  test('failing store - nothing is found, and the failure is recorded', async () => {
    const error = new StoreError('broken')
    findPriceSeries = () => Promise.reject(error)
    expect(await find()).toBeUndefined()
    expect([failures, cache.entryCount()]).toEqual([[error], 0])
  })

  test('slow store - nothing is found at the deadline, and the next request has the prices', async () => {
    const read = defer<readonly PriceSeries[]>()
    findPriceSeries = () => read.promise
    const late = find()
    clock.advance(FRESHNESS.visitorTimeoutMs)
    expect(await late).toBeUndefined()
    const next = find()
    read.resolve(SERIES)
    expect(await next).toMatchObject({ series: SERIES })
    expect([reads.length, failures]).toEqual([1, []])
  })

  test('cache - counts the days of all series', async () => {
    await find()
    const oneDay = cache.byteCount()
    const [first] = SERIES
    findPriceSeries = () =>
      Promise.resolve([
        {
          merchantKey: 'kopje',
          currency: 'EUR',
          days: Array.from({ length: 101 }, () => first?.days[0]).flatMap((day) => day ?? []),
        },
      ])
    await find(NOON_MS + 1)
    expect(cache.byteCount() - oneDay).toBe(6_400)
  })
})
