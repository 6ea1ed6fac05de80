import { beforeEach, describe, expect, test, vi } from 'vitest'
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/clock.ts'
import { CHANNEL_ID, makeWireOffer, makeWireProduct, sendJson } from '../helpers/fake-catalog.ts'
import { createLogger } from '../../src/observability/logger.ts'
import { type Harness, NOON_MS } from '../helpers/harness.ts'
import { toGtin } from '../helpers/products.ts'
import {
  BOX,
  GRID,
  GTIN,
  type TestResponse,
  fetchPath,
  makeProductOnSale,
  readVisibleText,
  startStockedHarness,
} from './app-client.ts'

const UNKNOWN_CHANNEL_ID = '00000000-0000-4000-8000-000000000009'
const OTHER_GTIN = toGtin(8)
const PICKS = `/fragments/${CHANNEL_ID}/picks/${GTIN},${OTHER_GTIN}`
const STAND_IN = `/fragments/${CHANNEL_ID}/where-to-buy/${toGtin(9)}?else=${OTHER_GTIN}`
const BOX_PATHS = [BOX, PICKS, STAND_IN]

const WALKED_AT = 'Nov 21, 2026, 12:00 PM UTC'
const STALE_MS = 10 * MINUTE_MS
/** Less than two walk periods, so that the copy counts as complete. */
const RESCUE_MS = 90 * MINUTE_MS

/** Settings with a small daily limit: 10 calls for refreshes. */
const SETTINGS = { VITRINE_CATALOG_DAILY_LIMIT: '25' }

/** With the level debug, each request for stale data is logged, so none is answered from memory. */
const over = { logger: createLogger({ level: 'info', stream: { write: () => {} } }) }

let harness: Harness
beforeEach(async () => {
  const products = [makeProductOnSale(), makeProductOnSale({ gtin: OTHER_GTIN })]
  harness = await startStockedHarness(products, { settings: SETTINGS, over })
})

/** Whether a request read the store. */
async function visit(path: string): Promise<TestResponse & Readonly<{ isFromMemory: boolean }>> {
  const { store } = harness.context
  const reads = [vi.spyOn(store, 'findProduct'), vi.spyOn(store, 'getCopyState')]
  const response = await fetchPath(harness, path)
  const isFromMemory = reads.every(({ mock }) => mock.calls.length === 0)
  for (const read of reads) read.mockRestore()
  return { ...response, isFromMemory }
}

/** Request an address twice. The first request of a channel for a while is only prepared, because another walk may be current. */
async function fetchTwice(path: string): Promise<TestResponse> {
  await fetchPath(harness, path)
  return fetchPath(harness, path)
}

test.each([BOX, PICKS, GRID])(
  '%s of an unknown channel - reads no copy, and nothing is remembered',
  async (path) => {
    const { status, isFromMemory } = await visit(path.replace(CHANNEL_ID, UNKNOWN_CHANNEL_ID))
    expect([status, isFromMemory]).toEqual([404, true])
  },
)

function setPrice(price: string): void {
  const offers = [makeWireOffer({ price, old_price: '99.80' })]
  const products = [GTIN, OTHER_GTIN].map((gtin) => makeWireProduct({ gtin, offers }))
  harness.catalog.products.set(CHANNEL_ID, products)
}

/** Let all calls fail, and wait until the failure of each box is remembered. Those of stale boxes fail in the background. */
async function failCalls(): Promise<void> {
  const { catalog } = harness
  catalog.fault = {
    pathPattern: /\/products\//,
    respond: (_request, response) => sendJson(response, 500, {}),
  }
  for (const path of BOX_PATHS)
    await vi.waitFor(async () => {
      await fetchPath(harness, path)
      expect((await visit(path)).isFromMemory).toBe(true)
    })
}

/** Why calls are not made, and the longest time for which a response is reused. */
const BLOCKS = {
  'refresh share used up': {
    longestMs: 30 * SECOND_MS,
    async start() {
      const { callPolicy } = harness.context
      for (let calls = 0; calls < 10; calls += 1) await callPolicy.execute('refresh', () => Promise.resolve())
    },
  },
  'pause after a 429': {
    longestMs: 30 * SECOND_MS,
    start: () => harness.context.callPolicy.pauseUntil(harness.clock.nowMs() + HOUR_MS),
  },
  'remembered failure': {
    longestMs: 6 * SECOND_MS,
    start: failCalls,
  },
} as const

const describeCaching = ({ headers, text }: TestResponse): object => ({
  status: headers['cache-status'],
  age: readVisibleText(text).includes(WALKED_AT),
  maxAge: /max-age=(\d+)/.exec(headers['cache-control'] ?? '')?.[1],
})

describe.each(BOX_PATHS)('%s', (path) => {
  test('fresh - is answered from memory', async () => {
    await fetchPath(harness, path)
    expect(await visit(path)).toMatchObject({
      isFromMemory: true,
      headers: { 'cache-status': 'vitrine; hit' },
    })
  })

  const cases = (Object.keys(BLOCKS) as (keyof typeof BLOCKS)[]).flatMap((block) => [
    [block, 'stale', STALE_MS] as const,
    [block, 'rescued', RESCUE_MS] as const,
  ])
  test.each(cases)(
    '%s, %s - is answered from memory with its age, for a while',
    async (block, status, ageMs) => {
      harness.clock.advance(ageMs)
      const { start, longestMs } = BLOCKS[block]
      await start()
      const expected = { status: `vitrine; fwd=stale; detail=${status}`, age: true, maxAge: '60' }
      const first = await fetchTwice(path)
      expect(describeCaching(first)).toEqual(expected)
      const second = await visit(path)
      expect([second.isFromMemory, second.text === first.text]).toEqual([true, true])
      expect(describeCaching(second)).toEqual(expected)
      harness.clock.advance(longestMs)
      expect((await visit(path)).isFromMemory).toBe(false)
    },
  )

  test.each([
    ['stale', STALE_MS],
    ['rescued', RESCUE_MS],
  ])('pause that ends, %s - calls the catalog at once', async (_status, ageMs) => {
    harness.clock.advance(ageMs)
    await harness.context.callPolicy.pauseUntil(harness.clock.nowMs() + SECOND_MS)
    setPrice('12.34')
    expect((await fetchPath(harness, path)).text).not.toContain('12.34')
    harness.clock.advance(SECOND_MS)
    await vi.waitFor(async () => expect((await fetchPath(harness, path)).text).toContain('12.34'))
  })

  test.each([
    ['stale', STALE_MS],
    ['rescued', RESCUE_MS],
  ])('walk that ends meanwhile, %s - is shown a second later', async (_status, ageMs) => {
    harness.clock.advance(ageMs)
    await BLOCKS['refresh share used up'].start()
    await fetchTwice(path)
    expect((await visit(path)).isFromMemory).toBe(true)
    setPrice('12.34')
    await harness.context.walks.runNow()
    harness.clock.advance(SECOND_MS)
    expect((await fetchPath(harness, path)).text).toContain('12.34')
  })

  test('walk that ends while nobody asks - is shown, also after another box of the channel was', async () => {
    harness.clock.advance(STALE_MS)
    await BLOCKS['refresh share used up'].start()
    await fetchTwice(path)
    const other = `${path}${path.includes('?') ? '&' : '?'}theme=dark`
    await fetchPath(harness, other)
    harness.clock.advance(5 * SECOND_MS)
    setPrice('12.34')
    await harness.context.walks.runNow()
    harness.clock.advance(5 * SECOND_MS)
    expect((await fetchPath(harness, path)).text).toContain('12.34')
    expect((await fetchPath(harness, other)).text).toContain('12.34')
  })

  test('stale, calls are allowed - is not reused while it is refreshed', async () => {
    harness.clock.advance(STALE_MS)
    setPrice('12.34')
    expect((await fetchPath(harness, path)).headers['cache-status']).toContain('detail=stale')
    await vi.waitFor(async () => expect((await fetchPath(harness, path)).text).toContain('12.34'))
  })
})

describe('grid', () => {
  test.each([
    ['vitrine; hit', 0],
    ['vitrine; fwd=stale; detail=stale', STALE_MS],
    ['vitrine; fwd=stale; detail=rescued', RESCUE_MS],
  ])('%s - is answered from memory for a second', async (status, ageMs) => {
    harness.clock.advance(ageMs)
    await fetchPath(harness, GRID)
    expect(describeCaching(await visit(GRID))).toEqual({ status, age: true, maxAge: '300' })
    expect((await visit(GRID)).isFromMemory).toBe(true)
    harness.clock.advance(SECOND_MS)
    expect((await visit(GRID)).isFromMemory).toBe(false)
  })
})

/** Let a box of one offer become stale, and pause calls. */
async function stockAndPause(offer: object, settings = {}): Promise<void> {
  const products = [makeWireProduct({ offers: [makeWireOffer(offer)] })]
  harness = await startStockedHarness(products, { settings, over })
  harness.clock.advance(STALE_MS)
  await harness.context.callPolicy.pauseUntil(NOON_MS + HOUR_MS)
}

describe('stale box while calls are paused', () => {
  test.each([
    ['its price becomes too old', {}, { VITRINE_PRICE_MAX_AGE_SECONDS: '605' }],
    ['its sale ends', { old_price: '99.80', sale_ends_at: new Date(NOON_MS + 605_001).toISOString() }, {}],
  ])('%s - shows no price from then on', async (_name, offer, settings) => {
    await stockAndPause(offer, settings)
    harness.clock.advance(5 * SECOND_MS)
    expect((await fetchTwice(BOX)).text).toContain('49.90')
    expect((await visit(BOX)).isFromMemory).toBe(true)
    harness.clock.advance(1)
    expect((await fetchPath(harness, BOX)).text).not.toContain('49.90')
  })

  test('clock set back - is not reused until the former time', async () => {
    await stockAndPause({})
    await fetchPath(harness, BOX)
    harness.clock.step(-9 * MINUTE_MS)
    expect((await fetchPath(harness, BOX)).headers['cache-status']).toBe('vitrine; hit')
  })
})
