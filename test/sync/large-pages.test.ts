import { gzipSync } from 'node:zlib'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { WireProduct } from '../../src/catalog/contract.ts'
import { HOUR_MS } from '../../src/clock.ts'
import { parseSerializedAddress } from '../../src/config/database-address.ts'
import { openStoredCopy } from '../../src/storage/stored-copy.ts'
import { CHANNEL_ID, makeWireOffer, makeWireProduct, sendJson } from '../helpers/fake-catalog.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { toGtin } from '../helpers/products.ts'
import { readBox } from '../storage/conformance/subject.ts'
import { type WalkFixture, makeWalkFixture, makeWireProducts, setProducts } from './walk-fixture.ts'
import { IS_FULL } from '../helpers/property-runs.ts'

/** More than a page of 50 products of `makeWireProducts`, less than one of 200. */
const MAX_BYTES = 20_000

const TOO_LARGE = 'VITRINE_CATALOG_TOO_LARGE'

const COUNT = IS_FULL ? 60 : 12

let fixture: WalkFixture
beforeEach(async () => {
  fixture = await makeWalkFixture()
})

const walk = (): ReturnType<WalkFixture['walk']> => fixture.walk({ job: { maxBytes: MAX_BYTES } })

/** Read the limits of the page requests, and forget them. */
function takeLimits(): number[] {
  const limits = fixture.catalog.calls.flatMap(({ path }) => /limit=(\d+)/.exec(path)?.[1] ?? [])
  fixture.catalog.calls.length = 0
  return limits.map(Number)
}

/** Make a product larger than a response may be, and sold by a shop of its own. */
function enlarge(product: WireProduct, bytes = 2 * MAX_BYTES): WireProduct {
  const offers = [makeWireOffer({ merchant: { name: 'Giant shop' }, old_price: '99.00' })]
  return { ...product, offers, title: 'x'.repeat(bytes) }
}

/** Make products; those at `positions` are larger than a response may be. */
const makeProducts = (count: number, positions: readonly number[]): WireProduct[] =>
  makeWireProducts(count).map((product, index) => (positions.includes(index) ? enlarge(product) : product))

describe('pages that are too large', () => {
  test('pages of 200 products - are read with 50, then 200 are tried again', async () => {
    setProducts(fixture.catalog, makeWireProducts(260))
    const { walks, calls } = await walk()
    expect(walks).toMatchObject([{ outcome: 'complete', productCount: 260, drops: {}, droppedGtins: {} }])
    expect(takeLimits()).toEqual([200, 50, 50, 50, 50, 200])
    expect(calls).toContainEqual({ operation: 'products', outcome: TOO_LARGE, count: 1 })
    expect(fixture.clock.pendingWaits).toBe(0)
  })

  test('calls - each one counts against the daily limit', async () => {
    setProducts(fixture.catalog, makeWireProducts(260))
    const { walks } = await fixture.walk({ job: { maxBytes: MAX_BYTES, dailyLimit: 7 } })
    expect(walks).toMatchObject([{ outcome: 'failed', failure: 'VITRINE_CATALOG_CALL_BLOCKED' }])
    // Three of seven are for walks and two for refreshes, which a first walk borrows: the list of channels, and these.
    expect(takeLimits()).toEqual([200, 50, 50, 50])
  })

  test('catalog that ignores the limit - the walk fails and names the product before', async () => {
    const products = makeWireProducts(260)
    setProducts(fixture.catalog, products)
    await fixture.walk()
    fixture.catalog.fault = {
      pathPattern: /\/products\?/,
      respond: (_request, response) => sendJson(response, 200, { items: products, next_cursor: null }),
    }
    expect((await walk()).walks).toMatchObject([
      {
        outcome: 'failed',
        failure: TOO_LARGE,
        reason: expect.stringMatching(/^the first product is .*: the catalog sends more products/),
      },
    ])
    expect(await readBox(fixture.copy, toGtin(3))).toBe(`Lamp 3 @${NOON_MS}`)
  })
})

describe('product that is too large by itself', () => {
  test.each([
    ['in the middle', 70],
    ['first', 0],
    ['last', 79],
  ])('%s - is left out, counted and named; the others are walked', async (_name, position) => {
    setProducts(fixture.catalog, makeProducts(80, [position]))
    const { walks } = await walk()
    expect(walks).toMatchObject([
      {
        outcome: 'complete',
        productCount: 79,
        drops: { product_too_large: 1 },
        droppedGtins: { product_too_large: [toGtin(position)] },
      },
    ])
    expect(await fixture.copy.getCopyState(CHANNEL_ID)).toMatchObject({
      productCount: 79,
      drops: { product_too_large: 1 },
    })
    const other = position === 0 ? 1 : position - 1
    expect(await readBox(fixture.copy, toGtin(other))).toBe(`Lamp ${other} @${NOON_MS}`)
    expect(await readBox(fixture.copy, toGtin(position))).toBe('unknown')
  })

  test(`${COUNT} of them in a row - all are left out`, async () => {
    const positions = Array.from({ length: COUNT }, (_, index) => index)
    setProducts(fixture.catalog, makeProducts(COUNT + 1, positions))
    const { walks } = await walk()
    expect(walks).toMatchObject([
      { outcome: 'complete', productCount: 1, drops: { product_too_large: COUNT } },
    ])
  })

  test('compressed response - the same', async () => {
    const [giant] = makeProducts(1, [0])
    fixture.catalog.fault = {
      pathPattern: /\/products\?/,
      respond: (_request, response) =>
        response
          .writeHead(200, { 'content-encoding': 'gzip' })
          .end(gzipSync(JSON.stringify({ next_cursor: null, items: [giant] }))),
    }
    expect((await walk()).walks).toMatchObject([
      { outcome: 'complete', droppedGtins: { product_too_large: [toGtin(0)] } },
    ])
  })

  test('stored before - keeps its data and their age; its neighbours that are gone are removed', async () => {
    setProducts(fixture.catalog, makeWireProducts(80))
    await walk()
    fixture.clock.advance(HOUR_MS)
    setProducts(fixture.catalog, makeWireProducts(80))
    await walk()
    const seenMs = NOON_MS + HOUR_MS
    for (const hours of [2, 3]) {
      fixture.clock.advance(HOUR_MS)
      setProducts(
        fixture.catalog,
        makeProducts(80, [70, 71]).filter((_product, index) => index !== 69 && index !== 72),
      )
      expect((await walk()).walks).toMatchObject([{ outcome: 'complete', productCount: 76 }])
      expect(await readBox(fixture.copy, toGtin(68))).toBe(`Lamp 68 @${NOON_MS + hours * HOUR_MS}`)
      expect(await readBox(fixture.copy, toGtin(69))).toBe('unknown')
      expect(await readBox(fixture.copy, toGtin(70))).toBe(`Lamp 70 @${seenMs}`)
      expect(await readBox(fixture.copy, toGtin(71))).toBe(`Lamp 71 @${seenMs}`)
      expect(await readBox(fixture.copy, toGtin(72))).toBe('unknown')
    }
    fixture.clock.advance(HOUR_MS)
    setProducts(fixture.catalog, makeWireProducts(80, 'Small again'))
    await walk()
    expect(await readBox(fixture.copy, toGtin(70))).toBe(`Small again 70 @${NOON_MS + 4 * HOUR_MS}`)
  })

  test('left out after an attempt of the same walk that found it gone - its data stay', async () => {
    setProducts(fixture.catalog, makeWireProducts(80))
    await walk()
    fixture.clock.advance(HOUR_MS)
    // The first page is stored without the product, the second one fails.
    setProducts(
      fixture.catalog,
      makeWireProducts(80).filter((_product, index) => index !== 10),
    )
    fixture.catalog.fault = {
      pathPattern: /cursor=/,
      respond: (_request, response) => sendJson(response, 404, { error: 'a fault of the test' }),
    }
    expect((await walk()).walks).toMatchObject([{ outcome: 'failed' }])
    fixture.catalog.fault = null
    fixture.clock.advance(2 * HOUR_MS)
    setProducts(fixture.catalog, makeProducts(80, [10]))
    expect((await walk()).walks).toMatchObject([{ outcome: 'complete', productCount: 79 }])
    expect(await readBox(fixture.copy, toGtin(10))).toBe(`Lamp 10 @${NOON_MS}`)
  })

  test('interrupted after it - the next walk resumes, and its data stay', async () => {
    setProducts(fixture.catalog, makeWireProducts(160))
    await walk()
    fixture.clock.advance(HOUR_MS)
    setProducts(fixture.catalog, makeProducts(160, [20]))
    fixture.catalog.fault = {
      pathPattern: new RegExp(`limit=200&cursor=${toGtin(20)}`),
      respond: (_request, response) => sendJson(response, 404, { error: 'a fault of the test' }),
    }
    expect((await walk()).walks).toMatchObject([{ outcome: 'failed' }])
    fixture.catalog.fault = null
    expect((await walk()).walks).toMatchObject([{ outcome: 'complete', productCount: 159 }])
    expect(await readBox(fixture.copy, toGtin(20))).toBe(`Lamp 20 @${NOON_MS}`)
  })

  test('its shop - is not reported as gone', async () => {
    const small = makeWireProducts(3).map((product, index) =>
      index === 1 ? { ...product, offers: enlarge(product).offers } : product,
    )
    setProducts(fixture.catalog, small)
    await walk()
    fixture.clock.advance(HOUR_MS)
    setProducts(fixture.catalog, makeProducts(3, [1]))
    await walk()
    expect(await fixture.copy.listEvents(10)).toEqual([])
  })

  test('its prices - are not recorded as observed', async () => {
    setProducts(fixture.catalog, makeWireProducts(3))
    await walk()
    fixture.clock.advance(24 * HOUR_MS)
    setProducts(fixture.catalog, makeProducts(3, [1]))
    await walk()
    const { job, clock } = fixture
    const { history } = job
    const database = parseSerializedAddress(job.database)
    const copy = await openStoredCopy({ database, catalog: job.catalog, clock, history })
    onTestFinished(() => copy.close())
    const countDays = async (gtin: string): Promise<unknown> =>
      (await copy.findPriceSeries(CHANNEL_ID, gtin)).map(({ days }) => days.length)
    expect([await countDays(toGtin(0)), await countDays(toGtin(1)), await countDays(toGtin(2))]).toEqual([
      [2],
      [1],
      [2],
    ])
  })

  test.each([
    ['without GTIN', undefined, TOO_LARGE, 'its GTIN is unknown'],
    ['with a smaller GTIN than the product before', toGtin(0), 'VITRINE_CATALOG_INVALID', 'not sorted'],
  ])('%s - the walk fails and says why', async (_name, gtin, failure, reason) => {
    const [first, second] = makeWireProducts(2)
    const giant = { ...enlarge(second ?? makeWireProduct()), gtin }
    fixture.catalog.fault = {
      pathPattern: /\/products\?/,
      respond({ url = '' }, response) {
        if (url.endsWith('limit=1')) sendJson(response, 200, { items: [first], next_cursor: 'second' })
        else sendJson(response, 200, { items: [giant], next_cursor: null })
      },
    }
    expect((await walk()).walks).toMatchObject([
      { outcome: 'failed', failure, reason: expect.stringContaining(reason) },
    ])
  })

  test('16 times larger than a response may be - the walk fails and names the product before', async () => {
    const [first, second] = makeWireProducts(2)
    setProducts(fixture.catalog, [first, second && enlarge(second, 17 * MAX_BYTES)] as WireProduct[])
    expect((await walk()).walks).toMatchObject([
      {
        outcome: 'failed',
        failure: TOO_LARGE,
        reason: expect.stringContaining(`the product after GTIN ${toGtin(0)} is larger`),
      },
    ])
  })
})
