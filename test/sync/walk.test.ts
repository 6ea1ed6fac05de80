import { beforeEach, describe, expect, test, vi } from 'vitest'
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/clock.ts'
import { LEASE_MS } from '../../src/storage/walk-leases.ts'
import { CHANNEL_ID, type FaultHandler, makeWireProduct, sendJson } from '../helpers/fake-catalog.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { toGtin } from '../helpers/products.ts'
import { readBox, readGrid } from '../storage/conformance/subject.ts'
import { type WalkFixture, makeWalkFixture, makeWireProducts, setProducts } from './walk-fixture.ts'

const PAGES = /\/products\?/
const SECOND_PAGE = /products\?.*cursor=/

let fixture: WalkFixture
beforeEach(async () => {
  fixture = await makeWalkFixture()
})

/** Respond with a status from now on, or for the first `times` calls. */
function failWith(status: number, matches: RegExp, times = Infinity): void {
  let remaining = times
  const fault: FaultHandler = (_request, response) => {
    remaining -= 1
    if (remaining === 0) fixture.catalog.fault = null
    sendJson(response, status, { error: 'a fault of the test' })
  }
  fixture.catalog.fault = { pathPattern: matches, respond: fault }
}

/** Respond to every page request with these items. */
const put = (items: readonly unknown[], nextCursor: string | null): void => {
  fixture.catalog.fault = {
    pathPattern: PAGES,
    respond: (_request, response) => sendJson(response, 200, { items, next_cursor: nextCursor }),
  }
}

/** Try to acquire the lease as another process. */
const acquireLeaseAsOther = (): Promise<boolean> =>
  fixture.copy.acquireWalkLease(CHANNEL_ID, { owner: 'stranger', forMs: LEASE_MS })

describe('walk', () => {
  test('malformed offers and products - their GTINs are reported, the first ten per reason', async () => {
    const [first, second, ...others] = makeWireProducts(450)
    setProducts(fixture.catalog, [
      { ...first, title: '' },
      { ...second, offers: [{ ...second?.offers[0], affiliate_url: 'x' }, ...(second?.offers ?? [])] },
      ...others.map((product) => ({ ...product, offers: [{ ...product.offers[0], price: '12,50' }] })),
    ] as typeof others)
    const ten = Array.from({ length: 10 }, (_, index) => toGtin(index + 2))
    const droppedGtins = { product: [toGtin(0)], link: [toGtin(1)], price: ten }
    expect((await fixture.walk()).walks).toMatchObject([{ productCount: 449, droppedGtins }])
    // The next walk checks malformed products again, although their bytes are unchanged.
    expect((await fixture.walk()).walks).toMatchObject([{ productCount: 449, droppedGtins }])
  })

  test('450 products - are requested in three pages of at most 200 and all stored', async () => {
    setProducts(fixture.catalog, makeWireProducts(450))
    const progress: string[] = []
    const report = await fixture.walk({
      onProgress: ({ productCount, isDone }) => progress.push(`${productCount} ${isDone}`),
    })
    expect(report.walks).toMatchObject([{ outcome: 'complete', productCount: 450, failure: null }])
    expect(report.calls).toEqual([
      { operation: 'channels', outcome: 'ok', count: 1 },
      { operation: 'products', outcome: 'ok', count: 3 },
    ])
    const paths = fixture.catalog.calls.map(({ path }) => path).filter((path) => PAGES.test(path))
    expect(paths.every((path) => path.includes('limit=200'))).toBe(true)
    expect(progress).toEqual(['200 false', '400 false', '450 true'])
    expect(await fixture.copy.getCopyState(CHANNEL_ID)).toMatchObject({ productCount: 450, dealCount: 450 })
    expect(await readBox(fixture.copy, toGtin(449))).toBe(`Lamp 449 @${NOON_MS}`)
  })

  test('two channels, one fails - the other is still walked', async () => {
    const other = { ...fixture.catalog.channels[0], id: '00000000-0000-4000-8000-000000000002' }
    fixture.catalog.channels = [{ name: 'b', kind: 'app', url: null, ...other }, ...fixture.catalog.channels]
    setProducts(fixture.catalog, makeWireProducts(1))
    failWith(400, new RegExp(`${other.id}/products`))
    const { walks } = await fixture.walk()
    expect(walks.map(({ outcome, failure }) => [outcome, failure])).toEqual([
      ['failed', 'VITRINE_CATALOG_STATUS'],
      ['complete', null],
    ])
  })

  test('channels that are not served - are not walked', async () => {
    const { walks } = await fixture.walk({ job: { channels: ['00000000-0000-4000-8000-000000000009'] } })
    expect(walks).toEqual([])
    expect(fixture.catalog.countCalls(PAGES)).toBe(0)
    expect((await fixture.copy.findChannelList())?.channels).toHaveLength(1)
  })

  test('list of channels that cannot be fetched - the walk reports why and changes nothing', async () => {
    failWith(401, /channels$/)
    expect(await fixture.walk()).toMatchObject({ walks: [], failure: 'VITRINE_CATALOG_KEY_REFUSED' })
    expect(await fixture.copy.findChannelList()).toBeUndefined()
  })
})

describe('retries', () => {
  beforeEach(() => setProducts(fixture.catalog, makeWireProducts(3)))

  test('page fails three times - is retried after 1, 4 and 16 seconds and then stored', async () => {
    failWith(503, PAGES, 3)
    const walking = fixture.walk()
    for (const [index, waitMs] of [SECOND_MS, 4 * SECOND_MS, 16 * SECOND_MS].entries()) {
      await vi.waitFor(() => {
        expect(fixture.catalog.countCalls(PAGES)).toBe(index + 1)
        expect(fixture.clock.pendingDelaysMs).toEqual([waitMs])
      })
      fixture.clock.advance(waitMs - 1)
      expect(fixture.clock.pendingDelaysMs).toEqual([1])
      fixture.clock.advance(1)
    }
    expect((await walking).walks).toMatchObject([{ outcome: 'complete', productCount: 3 }])
    expect(fixture.catalog.countCalls(PAGES)).toBe(4)
  })

  test('page fails four times - the walk fails and the old copy stays', async () => {
    await fixture.walk()
    setProducts(fixture.catalog, makeWireProducts(2, 'Renamed'))
    failWith(500, PAGES)
    const callsBefore = fixture.catalog.countCalls(PAGES)
    const walking = fixture.walk()
    for (const [index, waitMs] of [SECOND_MS, 4 * SECOND_MS, 16 * SECOND_MS].entries()) {
      await vi.waitFor(() => {
        expect(fixture.catalog.countCalls(PAGES)).toBe(callsBefore + index + 1)
        expect(fixture.clock.pendingDelaysMs).toEqual([waitMs])
      })
      fixture.clock.advance(waitMs)
    }
    expect((await walking).walks).toMatchObject([{ outcome: 'failed', failure: 'VITRINE_CATALOG_STATUS' }])
    expect(fixture.catalog.countCalls(PAGES)).toBe(callsBefore + 4)
    expect(await readGrid(fixture.copy)).toEqual(['Lamp 0', 'Lamp 1', 'Lamp 2'])
  })

  test.each([
    [401, 'VITRINE_CATALOG_KEY_REFUSED'],
    [403, 'VITRINE_CATALOG_KEY_REFUSED'],
    [429, 'VITRINE_CATALOG_RATE_LIMITED'],
    [400, 'VITRINE_CATALOG_STATUS'],
    [404, 'VITRINE_CATALOG_STATUS'],
  ])('page with status %i - is not retried', async (status, failure) => {
    failWith(status, PAGES)
    const report = await fixture.walk()
    expect(report.walks).toMatchObject([{ outcome: 'failed', failure }])
    expect(fixture.catalog.countCalls(PAGES)).toBe(1)
  })

  test('429 with Retry-After - the report has the pause', async () => {
    fixture.catalog.fault = {
      pathPattern: PAGES,
      respond: (_request, response) => response.writeHead(429, { 'retry-after': '120' }).end(),
    }
    expect((await fixture.walk()).pausedUntilMs).toBe(NOON_MS + 120 * SECOND_MS)
  })

  test('pause known before - no call is made', async () => {
    const report = await fixture.walk({ job: { pausedUntilMs: NOON_MS + 1 } })
    expect(report.failure).toBe('VITRINE_CATALOG_CALL_BLOCKED')
    expect(fixture.catalog.calls).toEqual([])
  })

  test('stop while the catalog hangs - ends at once and reports the stop', async () => {
    const stop = new AbortController()
    fixture.catalog.fault = { pathPattern: PAGES, respond: () => stop.abort() }
    expect((await fixture.walk({ signal: stop.signal })).walks).toMatchObject([
      { outcome: 'failed', failure: 'VITRINE_WALK_FAILED' },
    ])
    expect(fixture.clock.nowMs()).toBe(NOON_MS)
    expect(fixture.catalog.countCalls(PAGES)).toBe(1)
    expect(fixture.clock.pendingWaits).toBe(0)
  })

  test('stop before the start - makes no call', async () => {
    expect(await fixture.walk({ signal: AbortSignal.abort() })).toMatchObject({
      walks: [],
      failure: 'VITRINE_WALK_FAILED',
    })
    expect(fixture.catalog.calls).toEqual([])
  })

  test('stop while waiting for a retry - ends at once and leaves no timer', async () => {
    failWith(503, PAGES)
    const stop = new AbortController()
    const walking = fixture.walk({ signal: stop.signal })
    await vi.waitFor(() => {
      expect(fixture.catalog.countCalls(PAGES)).toBe(1)
      expect(fixture.clock.pendingDelaysMs).toEqual([SECOND_MS])
    })
    stop.abort()
    expect((await walking).walks).toMatchObject([{ outcome: 'failed' }])
    expect(fixture.clock.pendingWaits).toBe(0)
    expect(fixture.catalog.countCalls(PAGES)).toBe(1)
  })
})

describe('interrupted walks', () => {
  beforeEach(() => setProducts(fixture.catalog, makeWireProducts(450)))

  test('interrupted at the second page - the next walk resumes there', async () => {
    failWith(401, SECOND_PAGE)
    expect((await fixture.walk()).walks).toMatchObject([{ outcome: 'failed' }])
    expect(await readBox(fixture.copy, toGtin(0))).toBe(`Lamp 0 @${NOON_MS}`)
    expect(await readGrid(fixture.copy)).toEqual([])
    fixture.catalog.fault = null
    fixture.clock.advance(HOUR_MS)
    fixture.catalog.calls.length = 0
    expect((await fixture.walk()).walks).toMatchObject([{ outcome: 'complete', productCount: 450 }])
    const paths = fixture.catalog.calls.map(({ path }) => path).filter((path) => PAGES.test(path))
    expect(paths).toHaveLength(2)
    expect(paths[0]).toContain(`cursor=${toGtin(199)}`)
    const state = await fixture.copy.getCopyState(CHANNEL_ID)
    expect(state).toMatchObject({ productCount: 450, completedStartedAtMs: NOON_MS })
  })

  test('interrupted more than an hour ago - the next walk starts again', async () => {
    failWith(401, SECOND_PAGE)
    await fixture.walk()
    fixture.catalog.fault = null
    fixture.clock.advance(HOUR_MS + 1)
    fixture.catalog.calls.length = 0
    expect((await fixture.walk()).walks).toMatchObject([{ outcome: 'complete' }])
    expect(fixture.catalog.countCalls(PAGES)).toBe(3)
    const state = await fixture.copy.getCopyState(CHANNEL_ID)
    expect(state.completedStartedAtMs).toBe(NOON_MS + HOUR_MS + 1)
  })

  test('cursor rejected with 400 on resuming - starts again, counts and dates every product once', async () => {
    failWith(401, new RegExp(`cursor=${toGtin(399)}`))
    await fixture.walk()
    fixture.clock.advance(MINUTE_MS)
    setProducts(fixture.catalog, makeWireProducts(451).slice(1))
    let rejectedCount = 0
    fixture.catalog.fault = {
      pathPattern: new RegExp(`cursor=${toGtin(399)}`),
      respond: (_request, response) => {
        rejectedCount += 1
        sendJson(response, 400, { error: 'bad cursor' })
      },
    }
    expect((await fixture.walk()).walks).toMatchObject([{ outcome: 'complete', productCount: 450 }])
    expect(rejectedCount).toBe(1)
    const state = await fixture.copy.getCopyState(CHANNEL_ID)
    expect(state).toMatchObject({ productCount: 450, dealCount: 450 })
    const laterMs = NOON_MS + MINUTE_MS
    expect(await readBox(fixture.copy, toGtin(0))).toBe('unknown')
    expect(await readBox(fixture.copy, toGtin(199))).toBe(`Lamp 199 @${laterMs}`)
    expect(await readBox(fixture.copy, toGtin(450))).toBe(`Lamp 450 @${laterMs}`)
  })

  test('catalog that rejects every cursor - fails each walk after its first page and does not loop', async () => {
    failWith(400, SECOND_PAGE)
    for (const calls of [2, 5]) {
      expect((await fixture.walk()).walks).toMatchObject([
        { outcome: 'failed', failure: 'VITRINE_CATALOG_STATUS' },
      ])
      expect(fixture.catalog.countCalls(PAGES)).toBe(calls)
    }
  })
})

describe('invalid pages', () => {
  const [first, second] = makeWireProducts(2, 'Broken')
  const NO_PROGRESS = 'the product pages make no progress: they are empty or repeat a cursor'

  beforeEach(async () => {
    setProducts(fixture.catalog, makeWireProducts(2))
    await fixture.walk()
  })

  test.each([
    ['in descending order', [second, first], null, 'the page of products is not sorted by GTIN'],
    ['empty with a cursor', [], 'on', NO_PROGRESS],
    ['of malformed products with a cursor', [{ gtin: 'x' }], 'on', NO_PROGRESS],
    ['that repeats forever', [first], 'on', NO_PROGRESS],
  ])(
    'page %s - fails the walk with its reason and keeps the old copy',
    async (_, items, nextCursor, reason) => {
      put(items, nextCursor)
      const { walks } = await fixture.walk()
      expect(walks).toMatchObject([{ outcome: 'failed', failure: 'VITRINE_CATALOG_INVALID', reason }])
      const state = { failure: 'VITRINE_CATALOG_INVALID', failureReason: reason, retry: null }
      expect(await fixture.copy.getCopyState(CHANNEL_ID)).toMatchObject(state)
      expect(await readGrid(fixture.copy)).toEqual(['Lamp 0', 'Lamp 1'])
      expect(await readBox(fixture.copy, toGtin(0))).toBe(`Lamp 0 @${NOON_MS}`)
    },
  )

  test('malformed pages with ever new cursors - fail the walk after fifty pages', async () => {
    let page = 0
    fixture.catalog.fault = {
      pathPattern: PAGES,
      respond: (_request, response) =>
        sendJson(response, 200, { items: [{ gtin: 'x' }], next_cursor: `page ${(page += 1)}` }),
    }
    const { walks } = await fixture.walk()
    expect(walks).toMatchObject([{ outcome: 'failed', failure: 'VITRINE_CATALOG_INVALID' }])
    expect(page).toBe(51)
    expect(await readGrid(fixture.copy)).toEqual(['Lamp 0', 'Lamp 1'])
  })

  test('page of malformed products between good pages - only they are dropped and counted', async () => {
    const pages = [
      { items: [makeWireProduct({ gtin: toGtin(0) })], next_cursor: 'b' },
      { items: [{ gtin: 'x' }, makeWireProduct({ gtin: toGtin(1), title: ' ' })], next_cursor: 'c' },
      { items: [makeWireProduct({ gtin: toGtin(2) })], next_cursor: null },
    ]
    fixture.catalog.fault = {
      pathPattern: PAGES,
      respond: (_request, response) => sendJson(response, 200, pages.shift()),
    }
    expect((await fixture.walk()).walks).toMatchObject([{ outcome: 'complete', productCount: 2 }])
    expect(await fixture.copy.getCopyState(CHANNEL_ID)).toMatchObject({
      drops: { product: 2 },
      productCount: 2,
    })
    expect(await readBox(fixture.copy, toGtin(1))).toBe('unknown')
    expect(await readBox(fixture.copy, toGtin(2))).toContain('Lumen')
  })

  test('last page of malformed products - the walk completes', async () => {
    put([{ gtin: 'x' }], null)
    const { walks } = await fixture.walk({ job: { isAccepted: true } })
    expect(walks).toMatchObject([{ outcome: 'complete', productCount: 0 }])
    expect((await fixture.copy.getCopyState(CHANNEL_ID)).drops).toEqual({ product: 1 })
  })

  test('repeated product - is stored once, the second one is counted', async () => {
    put([first, first, second], null)
    expect((await fixture.walk()).walks).toMatchObject([{ outcome: 'complete', productCount: 2 }])
    expect((await fixture.copy.getCopyState(CHANNEL_ID)).drops).toEqual({ product: 1 })
  })

  test('page with a malformed product - the rest is stored, the malformed one is counted', async () => {
    put([makeWireProduct({ gtin: toGtin(5) }), { gtin: 'x' }], null)
    expect((await fixture.walk()).walks).toMatchObject([{ outcome: 'complete', productCount: 1 }])
    expect((await fixture.copy.getCopyState(CHANNEL_ID)).drops).toEqual({ product: 1 })
  })
})

/** Acquire the lease as another process as soon as the first page is stored. */
async function loseLease(): Promise<void> {
  await vi.waitFor(async () => expect(await readBox(fixture.copy, toGtin(199))).toBe(`Lamp 199 @${NOON_MS}`))
  fixture.clock.advance(MINUTE_MS)
  await acquireLeaseAsOther()
}

describe('leases', () => {
  beforeEach(() => setProducts(fixture.catalog, makeWireProducts(450)))

  test('lease owned by another process - the channel is not walked', async () => {
    await acquireLeaseAsOther()
    expect((await fixture.walk()).walks).toMatchObject([{ outcome: 'busy', failure: null }])
    expect(fixture.catalog.countCalls(PAGES)).toBe(0)
  })

  test('walk that has ended - releases the lease', async () => {
    await fixture.walk()
    expect(await acquireLeaseAsOther()).toBe(true)
  })

  test('lease lost while a page is fetched - stops without storing that page', async () => {
    const { catalog, clock } = fixture
    catalog.fault = {
      pathPattern: SECOND_PAGE,
      respond: (request, response) => {
        catalog.fault = null
        void loseLease().finally(() => {
          const items = makeWireProducts(450).slice(200, 400)
          sendJson(response, 200, { items, next_cursor: request.url === undefined ? null : toGtin(399) })
        })
      },
    }
    const { walks } = await fixture.walk({
      clock: { ...clock, nowMs: clock.nowMs, wait: () => new Promise(() => {}), startTimer: () => () => {} },
    })
    expect(walks).toMatchObject([{ outcome: 'failed', failure: 'VITRINE_WALK_FAILED' }])
    expect(await readBox(fixture.copy, toGtin(199))).toBe(`Lamp 199 @${NOON_MS}`)
    expect(await readBox(fixture.copy, toGtin(200))).toBe('unknown')
    expect(await acquireLeaseAsOther()).toBe(true)
    expect(catalog.countCalls(PAGES)).toBe(2)
  })

  test('lease lost while the next page is prefetched - discards that page and requests no other', async () => {
    const { catalog, clock } = fixture
    const { walks } = await fixture.walk({
      clock: { ...clock, nowMs: clock.nowMs, wait: () => new Promise(() => {}), startTimer: () => () => {} },
      onProgress: () => {
        clock.advance(MINUTE_MS)
        void acquireLeaseAsOther()
      },
    })
    expect(walks).toMatchObject([{ outcome: 'failed', failure: 'VITRINE_WALK_FAILED' }])
    expect(await readBox(fixture.copy, toGtin(199))).toBe(`Lamp 199 @${NOON_MS}`)
    expect(await readBox(fixture.copy, toGtin(200))).toBe('unknown')
    expect(catalog.countCalls(PAGES)).toBe(2)
  })
})
