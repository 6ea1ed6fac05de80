import { beforeEach, describe, expect, test, vi } from 'vitest'
import { HOUR_MS, SECOND_MS } from '../../src/clock.ts'
import type { CopyStore, WalkStore } from '../../src/storage/store.ts'
import { StoreError } from '../../src/errors.ts'
import { type CachedDeals, type DealRequest, DealSource } from '../../src/freshness/deals.ts'
import { type LruCache, createLruCache } from '../../src/lib/lru-cache.ts'
import { makeQuery, walkAll } from '../storage/conformance/subject.ts'
import { CHANNEL_ID } from '../helpers/fake-catalog.ts'
import { defer } from '../helpers/defer.ts'
import { type FakeClock, createFakeClock } from '../helpers/fake-clock.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { makeParsedOffer, makeProduct, toGtin } from '../helpers/products.ts'
import { FRESHNESS, openStore } from './sources-fixture.ts'

let clock: FakeClock
let store: CopyStore & WalkStore
let isBroken: boolean
let readCount: number
let deals: DealSource
let cache: LruCache<CachedDeals>
let onRead: () => void
let onFind: () => Promise<void>

beforeEach(async () => {
  clock = createFakeClock(NOON_MS)
  store = await openStore(clock)
  isBroken = false
  readCount = 0
  onRead = () => {}
  onFind = () => Promise.resolve()
  cache = createLruCache<CachedDeals>({ maxEntries: 10, maxBytes: 1_000_000 })
  const failing = <T extends unknown[], R>(read: (...parameters: T) => Promise<R>) => {
    return (...parameters: T): Promise<R> =>
      isBroken ? Promise.reject(new StoreError('broken')) : read(...parameters)
  }
  deals = new DealSource({
    store: {
      getCopyState: failing(store.getCopyState),
      findDealCurrency: failing(store.findDealCurrency),
      findDeals: failing(async (query, timeoutMs) => {
        readCount += 1
        onRead()
        await onFind()
        return store.findDeals(query, timeoutMs)
      }),
    },
    cache,
    clock,
    config: FRESHNESS,
    onStoreFailure: () => {},
  })
})

const walk = (count: number, asOfMs: number): Promise<void> => {
  const offers = [makeParsedOffer({ oldPrice: '99.00' })]
  const products = Array.from({ length: count }, (_, index) => makeProduct({ gtin: toGtin(index), offers }))
  return walkAll(store, products, asOfMs)
}

type RequestOverrides = Readonly<{ currency?: string | null; limit?: number; key?: string }>

/** Different cache keys that select the same deals. */
const KEYS = ['b', 'c', 'd', 'known', 'first', 'second', 'other']

const toRequest = ({ key = '', currency = null, limit = 12 }: RequestOverrides): DealRequest => ({
  query: { ...makeQuery({ minDiscountPercent: KEYS.indexOf(key) + 2, limit: limit + 1 }), currency },
})

/** Return `count, has next, status`, or the error code. */
async function requestDeals(over: RequestOverrides = {}): Promise<string> {
  return deals.getDeals(toRequest(over)).then(
    ({ value, status }) => `${value.deals.length}${value.hasNext ? ' and more' : ''}, ${status}`,
    (error: { code: string }) => error.code,
  )
}

/** The failure of the store. */
const findFailureReason = (over: Readonly<{ key: string }>): Promise<string | undefined> =>
  deals
    .getDeals(toRequest(over))
    .then(() => undefined)
    .catch((error: Error) => (error.cause as Error | undefined)?.message)

const readPage = async (): Promise<unknown> => {
  const { value, asOfMs, validUntilMs } = await deals.getDeals(toRequest({}))
  return [value.deals.map(({ gtin }) => gtin), asOfMs, validUntilMs]
}

describe('grid', () => {
  test('before the first complete walk - is unavailable', async () => {
    expect(await requestDeals()).toBe('VITRINE_UNAVAILABLE')
    const offers = [makeParsedOffer({ oldPrice: '99.00' })]
    const entry = { product: makeProduct({ offers }), asOfMs: NOON_MS }
    await store.putLookups([{ channelId: CHANNEL_ID, gtin: toGtin(1), entry }])
    expect(await requestDeals()).toBe('VITRINE_UNAVAILABLE')
  })

  test('walked - has the deals and whether there are more', async () => {
    await walk(5, NOON_MS)
    expect(await requestDeals()).toBe('5, hit')
    expect(await requestDeals({ key: 'b', limit: 5 })).toBe('5, hit')
    expect(await requestDeals({ key: 'c', limit: 4 })).toBe('4 and more, hit')
    expect(await requestDeals({ key: 'd', currency: 'GBP' })).toBe('0, hit')
  })

  test('walked without deals - is empty, with the time of the walk', async () => {
    await walkAll(store, [makeProduct()], NOON_MS - SECOND_MS)
    expect(await requestDeals()).toBe('0, hit')
  })

  test.each([
    [300 * SECOND_MS - 1, '2, hit'],
    [300 * SECOND_MS, '2, stale'],
    [3_600 * SECOND_MS, '2, stale'],
    [3_601 * SECOND_MS, '2, rescued'],
    [604_800 * SECOND_MS, '2, rescued'],
    [604_801 * SECOND_MS, 'VITRINE_UNAVAILABLE'],
  ])('copy of %d ms - %s', async (ageMs, expected) => {
    await walk(2, NOON_MS - ageMs)
    expect(await requestDeals()).toBe(expected)
  })

  test('one expired product - loses its card, not the grid', async () => {
    const offers = [makeParsedOffer({ oldPrice: '99.00' })]
    await walk(2, NOON_MS - 604_801 * SECOND_MS)
    const entry = { product: makeProduct({ gtin: toGtin(1), offers }), asOfMs: NOON_MS }
    await store.putLookups([{ channelId: CHANNEL_ID, gtin: toGtin(1), entry }])
    expect(await requestDeals()).toBe('1, hit')
  })

  describe('sale that ends', () => {
    const END_MS = NOON_MS + 60 * SECOND_MS
    beforeEach(async () => {
      const sale = makeParsedOffer({ oldPrice: '99.00' })
      await walkAll(
        store,
        [
          makeProduct({ gtin: toGtin(1), offers: [{ ...sale, saleEndsAtMs: END_MS }] }),
          makeProduct({ gtin: toGtin(2), offers: [sale] }),
        ],
        NOON_MS,
      )
    })

    test('page in memory - is read again after its end', async () => {
      await readPage()
      clock.advance(60 * SECOND_MS - 1)
      expect(await readPage()).toEqual([[toGtin(1), toGtin(2)], NOON_MS, END_MS - 1 + SECOND_MS])
      expect(readCount).toBe(1)
      clock.advance(1)
      expect(await readPage()).toEqual([[toGtin(2)], NOON_MS, END_MS + SECOND_MS])
      expect(readCount).toBe(2)
    })

    test('store that fails, page in memory - loses only the card of the ended sale', async () => {
      await readPage()
      isBroken = true
      clock.advance(60 * SECOND_MS)
      expect(await readPage()).toEqual([[toGtin(2)], NOON_MS, END_MS + SECOND_MS])
    })
  })

  test('a hundred concurrent identical requests - share one read', async () => {
    await walk(2, NOON_MS)
    const results = await Promise.all(Array.from({ length: 100 }, () => requestDeals()))
    expect(new Set(results)).toEqual(new Set(['2, hit']))
    expect(readCount).toBe(1)
  })

  test('reads longer than the visitor timeout - unavailable, or the page in memory', async () => {
    await walk(2, NOON_MS)
    await requestDeals({ key: 'known' })
    clock.advance(FRESHNESS.freshSeconds * SECOND_MS)
    onRead = () => clock.advance(FRESHNESS.visitorTimeoutMs + 1)
    const results = await Promise.all(['first', 'second', 'known'].map((key) => requestDeals({ key })))
    expect(results).toEqual(['VITRINE_UNAVAILABLE', 'VITRINE_UNAVAILABLE', '2, stale'])
  })

  test('store that hangs, request after a failed read - is unavailable for the same reason', async () => {
    await walk(2, NOON_MS)
    const silent = defer<void>()
    onFind = () => silent.promise
    const results = Promise.all(['first', 'second'].map((key) => findFailureReason({ key })))
    await vi.waitFor(() => expect(readCount).toBe(1))
    onFind = () => new Promise(() => {})
    silent.reject(new StoreError('silent'))
    await vi.waitFor(() => expect(readCount).toBe(2))
    clock.advance(FRESHNESS.visitorTimeoutMs)
    expect(await results).toEqual(['silent', 'silent'])
  })

  test('store that is only slow, an hour after a failure - is late, without that failure as the cause', async () => {
    await walk(2, NOON_MS)
    onFind = () => Promise.reject(new StoreError('silent'))
    expect(await findFailureReason({ key: 'first' })).toBe('silent')
    clock.advance(HOUR_MS)
    onFind = () => new Promise(() => {})
    const late = findFailureReason({ key: 'second' })
    await vi.waitFor(() => expect(readCount).toBe(2))
    clock.advance(FRESHNESS.visitorTimeoutMs)
    expect(await late).toBeUndefined()
  })

  test('products with many long offers - use no more memory than is counted', async () => {
    const affiliateUrl = `https://links.example/${'x'.repeat(2_000)}`
    const offers = Array.from({ length: 200 }, (_, index) =>
      makeParsedOffer({ merchant: `Shop ${index}`, oldPrice: '99.00', affiliateUrl }),
    )
    await walkAll(store, [makeProduct({ offers })], NOON_MS)
    await requestDeals()
    const [page] = [cache.get(JSON.stringify(toRequest({}).query))?.page]
    expect(cache.byteCount()).toBeGreaterThan(2 * affiliateUrl.length)
    expect(JSON.stringify(page).length).toBeLessThan(cache.byteCount())
    expect(JSON.stringify(page).length).toBeLessThan(2 * affiliateUrl.length)
  })

  test('same request within the fresh time and the same walk - is read once', async () => {
    await walk(2, NOON_MS)
    for (const _ of [1, 2, 3]) await requestDeals()
    expect(readCount).toBe(1)
    clock.advance(FRESHNESS.freshSeconds * SECOND_MS)
    await requestDeals()
    expect(readCount).toBe(2)
  })

  test('new walk - is used at once', async () => {
    await walk(2, NOON_MS)
    expect(await requestDeals()).toBe('2, hit')
    await walk(3, NOON_MS)
    expect(await requestDeals()).toBe('3, hit')
  })

  test('store that fails - pages in memory are served, all others are unavailable', async () => {
    await walk(2, NOON_MS)
    await requestDeals()
    isBroken = true
    clock.advance(3_601 * SECOND_MS)
    expect(await requestDeals()).toBe('2, rescued')
    expect(await requestDeals({ key: 'other' })).toBe('VITRINE_UNAVAILABLE')
    clock.advance(604_800 * SECOND_MS)
    expect(await requestDeals()).toBe('VITRINE_UNAVAILABLE')
  })
})
