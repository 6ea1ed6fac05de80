import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/clock.ts'
import { StoreError } from '../../src/errors.ts'
import { walkAll } from '../storage/conformance/subject.ts'
import { defer } from '../helpers/defer.ts'
import { CHANNEL_ID, FAKE_KEY, makeWireProduct, sendJson } from '../helpers/fake-catalog.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { makeProduct, toGtin } from '../helpers/products.ts'
import {
  type SourceOptions,
  type Sources,
  makeSources,
  openStore,
  setLargeProducts,
  setOutcome,
} from './sources-fixture.ts'
import { parseConfig } from '../../src/config/config.ts'
import type { CopyStore } from '../../src/storage/store.ts'
import { readCompleteness } from '../../src/freshness/products.ts'

const GTIN = toGtin(1)
const STALE_AGE_MS = 400 * SECOND_MS
const RESCUE_AGE_MS = 2 * HOUR_MS

const requestProduct = (sources: Sources, gtin: string = GTIN): ReturnType<Sources['getProduct']> =>
  sources.getProduct(gtin)

const putCopy = (sources: Sources, ageMs: number): Promise<void> =>
  sources.store.putLookups([
    {
      channelId: CHANNEL_ID,
      gtin: GTIN,
      entry: {
        product: makeProduct({ gtin: GTIN, title: 'copy' }),
        asOfMs: NOON_MS - ageMs,
      },
    },
  ])

const fail = (): Promise<never> => Promise.reject(new StoreError('broken'))

/** Create sources whose store fails every product operation. */
async function makeWithFailingStore(): Promise<Sources> {
  const store = { ...(await openStore()), findProduct: fail, putLookups: fail, getCopyState: fail }
  return makeSources({ store, walkPeriodMs: HOUR_MS })
}

/** Create sources whose look-ups are not written before the end of the test. */
async function makeWithBlockedWrites(bounds?: SourceOptions['bounds']): Promise<Sources> {
  const store = await openStore()
  const { promise, resolve } = defer<void>()
  const putLookups: typeof store.putLookups = (lookups) => promise.then(() => store.putLookups(lookups))
  const sources = await makeSources({ store: { ...store, putLookups }, ...(bounds && { bounds }) })
  onTestFinished(() => resolve())
  return sources
}

describe('concurrent visitors', () => {
  test('100 for an unknown product - make one call and share its result', async () => {
    const sources = await makeSources()
    const blocked = setOutcome(sources.catalog, 'late', GTIN)
    const visits = Array.from({ length: 100 }, () => requestProduct(sources))
    await vi.waitFor(() => expect(blocked.responses).toHaveLength(1))
    blocked.release()
    const results = await Promise.all(visits)
    expect(new Set(results.map(({ value }) => value?.title))).toEqual(new Set(['from the catalog']))
    expect(await sources.countProductCalls()).toBe(1)
  })

  test('100 for an unknown product, the call fails - make one call and share the failure', async () => {
    const sources = await makeSources()
    setOutcome(sources.catalog, '500', GTIN)
    const visits = await Promise.allSettled(Array.from({ length: 100 }, () => requestProduct(sources)))
    expect(visits.every(({ status }) => status === 'rejected')).toBe(true)
    expect(await sources.countProductCalls()).toBe(1)
  })

  test('100 for a stale product - make one background call', async () => {
    const sources = await makeSources()
    await putCopy(sources, STALE_AGE_MS)
    setOutcome(sources.catalog, 'responds', GTIN)
    const results = await Promise.all(Array.from({ length: 100 }, () => requestProduct(sources)))
    expect(results.every(({ status }) => status === 'stale')).toBe(true)
    await vi.waitFor(async () => expect((await requestProduct(sources)).status).toBe('hit'))
    expect(await sources.countProductCalls()).toBe(1)
  })
})

describe('late responses', () => {
  test('response after the first visitor timed out - serves later visitors without another call', async () => {
    const sources = await makeSources()
    const blocked = setOutcome(sources.catalog, 'late', GTIN)
    const first = requestProduct(sources).catch((error: { code: string }) => error.code)
    await vi.waitFor(() => expect(blocked.responses).toHaveLength(1))
    sources.clock.advance(800)
    expect(await first).toBe('VITRINE_UNAVAILABLE')
    const second = requestProduct(sources)
    blocked.release()
    expect((await second).value?.title).toBe('from the catalog')
    expect(await requestProduct(sources)).toMatchObject({ status: 'hit' })
    expect(await sources.countProductCalls()).toBe(1)
    await sources.settle()
    expect(await sources.store.findProduct(CHANNEL_ID, GTIN)).toMatchObject({ asOfMs: NOON_MS + 800 })
  })

  test('response in time - leaves no timer', async () => {
    const sources = await makeSources()
    setOutcome(sources.catalog, 'responds', GTIN)
    await requestProduct(sources)
    expect(sources.clock.pendingWaits).toBe(0)
  })
})

describe('failures', () => {
  test.each([
    ['500', 5 * SECOND_MS],
    ['invalid', MINUTE_MS],
  ] as const)('%s - is cached: one call per window of %d ms', async (outcome, windowMs) => {
    const sources = await makeSources()
    await putCopy(sources, RESCUE_AGE_MS)
    setOutcome(sources.catalog, outcome, GTIN)
    for (let window = 1; window <= 3; window += 1) {
      expect(await requestProduct(sources)).toMatchObject({ status: 'rescued', value: { title: 'copy' } })
      sources.clock.advance(windowMs - 1)
      expect(await requestProduct(sources)).toMatchObject({ status: 'rescued' })
      expect(await sources.countProductCalls()).toBe(window)
      sources.clock.advance(1)
    }
  })

  test('jitter - adds up to a fifth to the window', async () => {
    const sources = await makeSources({ random: () => 1 })
    setOutcome(sources.catalog, '500', GTIN)
    await requestProduct(sources).catch(() => {})
    sources.clock.advance(6 * SECOND_MS - 1)
    await requestProduct(sources).catch(() => {})
    expect(await sources.countProductCalls()).toBe(1)
    sources.clock.advance(1)
    await requestProduct(sources).catch(() => {})
    expect(await sources.countProductCalls()).toBe(2)
  })

  test('response that a CDN cached too long - is fetched again once per window, not at every visit', async () => {
    const sources = await makeSources()
    sources.catalog.fault = {
      pathPattern: new RegExp(`products/${GTIN}`),
      respond: (_request, response) => {
        response.setHeader('age', '400')
        sendJson(response, 200, makeWireProduct({ gtin: GTIN }))
      },
    }
    expect(await requestProduct(sources)).toMatchObject({ status: 'miss' })
    for (let visit = 0; visit < 3; visit += 1)
      expect(await requestProduct(sources)).toMatchObject({ status: 'stale' })
    expect(await sources.countProductCalls()).toBe(1)
  })

  test('failure of one product - does not affect others', async () => {
    const sources = await makeSources()
    setOutcome(sources.catalog, '500', GTIN)
    await requestProduct(sources).catch(() => {})
    setOutcome(sources.catalog, 'responds', toGtin(2))
    expect(await requestProduct(sources, toGtin(2))).toMatchObject({ status: 'miss' })
  })

  test('stale product after a recent failure - is served at once without a call', async () => {
    const sources = await makeSources()
    await putCopy(sources, STALE_AGE_MS)
    setOutcome(sources.catalog, '500', GTIN)
    await requestProduct(sources)
    await vi.waitFor(async () => expect(await sources.countProductCalls()).toBe(1))
    expect(await requestProduct(sources)).toMatchObject({ status: 'stale' })
    expect(await sources.countProductCalls()).toBe(1)
  })

  test('429 - pauses every product until Retry-After, and copies are served at once', async () => {
    const sources = await makeSources()
    await putCopy(sources, RESCUE_AGE_MS)
    sources.catalog.fault = {
      pathPattern: /\/products\//,
      respond: (_request, response) => response.writeHead(429, { 'retry-after': '120' }).end(),
    }
    expect(await requestProduct(sources)).toMatchObject({ status: 'rescued' })
    await expect(requestProduct(sources, toGtin(2))).rejects.toMatchObject({ code: 'VITRINE_UNAVAILABLE' })
    sources.clock.advance(120 * SECOND_MS - 1)
    expect(await requestProduct(sources)).toMatchObject({ status: 'rescued' })
    expect(sources.catalog.countCalls(/\/products\//)).toBe(1)
    setOutcome(sources.catalog, 'responds', GTIN)
    sources.clock.advance(1)
    expect(await requestProduct(sources)).toMatchObject({ status: 'miss' })
  })
})

describe('look-ups of unknown products', () => {
  test('more than the hourly limit - are unavailable until the hour has passed; known products are still served', async () => {
    const sources = await makeSources({ config: { unknownLookupsPerHour: 2 }, walkPeriodMs: null })
    await putCopy(sources, RESCUE_AGE_MS)
    sources.catalog.products.set(
      CHANNEL_ID,
      [1, 11, 12, 13].map((index) => makeWireProduct({ gtin: toGtin(index) })),
    )
    await requestProduct(sources, toGtin(11))
    sources.clock.advance(MINUTE_MS)
    await requestProduct(sources, toGtin(12))
    await expect(requestProduct(sources, toGtin(13))).rejects.toMatchObject({ code: 'VITRINE_UNAVAILABLE' })
    expect(await sources.countProductCalls()).toBe(2)
    expect(await requestProduct(sources)).toMatchObject({ status: 'miss' })
    sources.clock.advance(59 * MINUTE_MS - 1)
    await expect(requestProduct(sources, toGtin(13))).rejects.toMatchObject({ code: 'VITRINE_UNAVAILABLE' })
    // The denial is cached for one second.
    sources.clock.advance(SECOND_MS)
    expect(await requestProduct(sources, toGtin(13))).toMatchObject({ status: 'miss' })
  })

  test.each([
    ['first walk pending', HOUR_MS],
    ['walks disabled (VITRINE_SYNC_CRON=off)', null],
  ])('no copy yet, %s - count from the first request on', async (_case, walkPeriodMs) => {
    const sources = await makeSources({ config: { unknownLookupsPerHour: 2 }, walkPeriodMs })
    for (const index of [11, 12]) {
      setOutcome(sources.catalog, 'responds', toGtin(index))
      expect(await requestProduct(sources, toGtin(index))).toMatchObject({ status: 'miss' })
    }
    for (let index = 13; index < 100; index += 1)
      await expect(requestProduct(sources, toGtin(index))).rejects.toMatchObject({
        code: 'VITRINE_UNAVAILABLE',
      })
    expect(await sources.countProductCalls()).toBe(2)
  })
})

describe('several processes on one copy', () => {
  test("another process's fresh result - is used without a call", async () => {
    const store = await openStore()
    const firstProcess = await makeSources({ store, walkPeriodMs: null })
    const secondProcess = await makeSources({
      store,
      catalog: firstProcess.catalog,
      clock: firstProcess.clock,
      walkPeriodMs: null,
    })
    setOutcome(firstProcess.catalog, 'responds', GTIN)
    await requestProduct(firstProcess)
    await firstProcess.settle()
    await requestProduct(secondProcess)
    firstProcess.clock.advance(STALE_AGE_MS)
    setOutcome(firstProcess.catalog, 'responds', GTIN)
    await requestProduct(firstProcess)
    await vi.waitFor(async () => expect((await requestProduct(firstProcess)).status).toBe('hit'))
    await firstProcess.settle()
    expect(await requestProduct(secondProcess)).toMatchObject({
      status: 'hit',
      asOfMs: NOON_MS + STALE_AGE_MS,
    })
    expect(await firstProcess.countProductCalls()).toBe(2)
  })
})

test('product of a walk with the time of a cached 404 - is shown as soon as the 404 has expired', async () => {
  const sources = await makeSources()
  setOutcome(sources.catalog, '404', GTIN)
  expect(await requestProduct(sources)).toMatchObject({ value: null })
  await sources.settle()
  await walkAll(sources.store, [makeProduct({ gtin: GTIN, title: 'walked' })], NOON_MS)
  sources.clock.advance(6 * MINUTE_MS)
  expect(await requestProduct(sources)).toMatchObject({ value: { title: 'walked' } })
})

describe('store that fails', () => {
  test('unknown product - is fetched, shown and cached in memory; each failure is reported', async () => {
    const sources = await makeWithFailingStore()
    setOutcome(sources.catalog, 'responds', GTIN)
    expect(await requestProduct(sources)).toMatchObject({
      status: 'miss',
      value: { title: 'from the catalog' },
    })
    expect(await requestProduct(sources)).toMatchObject({ status: 'hit' })
    await sources.settle()
    expect(sources.storeFailures.length).toBeGreaterThanOrEqual(2)
    expect(await sources.countProductCalls()).toBe(1)
  })

  test('product in memory - goes through every age as with a store', async () => {
    const sources = await makeWithFailingStore()
    setOutcome(sources.catalog, 'responds', GTIN)
    await requestProduct(sources)
    setOutcome(sources.catalog, '500', GTIN)
    sources.clock.advance(RESCUE_AGE_MS)
    expect(await requestProduct(sources)).toMatchObject({
      status: 'rescued',
      value: { title: 'from the catalog' },
    })
  })
})

describe('retention', () => {
  test('brand missing in a refresh - the previous brand stays', async () => {
    const sources = await makeSources()
    await putCopy(sources, RESCUE_AGE_MS)
    const { brand: _, ...product } = makeWireProduct({ gtin: GTIN, title: 'renamed' })
    sources.catalog.products.set(CHANNEL_ID, [product])
    expect((await requestProduct(sources)).value).toMatchObject({ title: 'renamed', brand: 'Lumen' })
    await sources.settle()
    expect((await sources.store.findProduct(CHANNEL_ID, GTIN))?.product?.brand).toBe('Lumen')
  })

  test('Age header of the response - counts into the age of the product', async () => {
    const sources = await makeSources()
    sources.catalog.fault = {
      pathPattern: /\/products\//,
      respond: (_request, response) => {
        response.setHeader('age', '200')
        sendJson(response, 200, makeWireProduct({ gtin: GTIN }))
      },
    }
    expect(await requestProduct(sources)).toMatchObject({ asOfMs: NOON_MS - 200 * SECOND_MS, status: 'miss' })
    sources.clock.advance(100 * SECOND_MS - 1)
    expect((await requestProduct(sources)).status).toBe('hit')
    sources.clock.advance(1)
    expect((await requestProduct(sources)).status).toBe('stale')
  })

  test('memory - more products than the limit - stays within the limit, the copy serves the rest', async () => {
    const sources = await makeSources({ bounds: { maxEntries: 5, maxBytes: 1_000_000 } })
    const products = Array.from({ length: 20 }, (_, index) => makeProduct({ gtin: toGtin(index) }))
    await walkAll(sources.store, products, NOON_MS)
    for (const { gtin } of products)
      expect(await requestProduct(sources, gtin)).toMatchObject({ status: 'hit' })
    expect(sources.cache.entryCount()).toBe(5)
    expect(await requestProduct(sources, toGtin(0))).toMatchObject({ status: 'hit' })
  })

  test('memory - products larger than the byte limit - are not cached', async () => {
    const sources = await makeSources({ bounds: { maxEntries: 5, maxBytes: 1_000 } })
    const title = 'x'.repeat(2_000)
    await walkAll(sources.store, [makeProduct({ gtin: GTIN, title })], NOON_MS)
    expect(await requestProduct(sources)).toMatchObject({ value: { title } })
    expect(sources.cache.byteCount()).toBeLessThanOrEqual(1_000)
  })

  test('memory - product larger than the byte limit, not yet written - is found by the next visitor without a call', async () => {
    const sources = await makeWithBlockedWrites({ maxEntries: 5, maxBytes: 10 })
    setOutcome(sources.catalog, 'responds', GTIN)
    expect((await requestProduct(sources)).status).toBe('miss')
    expect(await requestProduct(sources)).toMatchObject({
      value: { title: 'from the catalog' },
      status: 'hit',
    })
    expect([sources.cache.entryCount(), await sources.countProductCalls()]).toEqual([0, 1])
  })

  test('more than 8 MB of pending writes - are not written, and reported', async () => {
    const sources = await makeWithBlockedWrites()
    for (const gtin of setLargeProducts(sources))
      expect((await requestProduct(sources, gtin)).status).toBe('miss')
    expect(sources.storeFailures.length).toBeGreaterThan(5)
    expect(sources.storeFailures[0]).toMatchObject({ message: 'too many look-ups are being written' })
  })

  test('error of a failed look-up - does not contain the key', async () => {
    const sources = await makeSources()
    setOutcome(sources.catalog, '500', GTIN)
    const error: unknown = await requestProduct(sources).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(Error)
    expect(`${String(error)} ${JSON.stringify(error)} ${(error as Error).stack}`).not.toContain(FAKE_KEY)
  })
})

test('schedule that pauses after a walk - an old copy does not count as recent', async () => {
  const sources = await makeSources()
  const state = await sources.store.getCopyState(CHANNEL_ID)
  const endedAtMs = NOON_MS - 3 * HOUR_MS
  const walked = { completedAtMs: endedAtMs, completedStartedAtMs: endedAtMs, hadProducts: true }
  const findTime = async (periodBeforeMs: number): Promise<number | undefined> => {
    const { walkedAtMs } = await readCompleteness(
      {
        store: { getCopyState: () => Promise.resolve({ ...state, ...walked }) },
        isCatalogEmbedded: false,
        clock: sources.clock,
        config: parseConfig({}).config.freshness,
        findWalkPeriodMs: (timeMs) => (timeMs < NOON_MS - HOUR_MS ? periodBeforeMs : 60 * HOUR_MS),
      },
      { channelId: CHANNEL_ID, deadlineMs: NOON_MS + SECOND_MS },
    )
    return walkedAtMs
  }
  expect([await findTime(HOUR_MS), await findTime(2 * HOUR_MS)]).toEqual([undefined, endedAtMs])
})

test('no scheduled walks - the catalog is called without reading the copy state', async () => {
  const getCopyState = vi.fn<CopyStore['getCopyState']>()
  const sources = await makeSources()
  const { findWalkPeriodMs, freshness } = parseConfig({ VITRINE_SYNC_CRON: 'off' }).config
  const rules = { config: freshness, findWalkPeriodMs, isCatalogEmbedded: true }
  const details = { ...rules, store: { getCopyState }, clock: sources.clock }
  const completeness = await readCompleteness(details, { channelId: CHANNEL_ID, deadlineMs: NOON_MS })
  expect(completeness).toEqual({ walkedAtMs: undefined, isEmpty: false, hasMalformed: false })
  expect(getCopyState).not.toHaveBeenCalled()
})
