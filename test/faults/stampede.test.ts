import { randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { describe, expect, it, vi } from 'vitest'
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/clock.ts'
import {
  BOX,
  BOX_EMBED,
  GTIN,
  type TestResponse,
  makeProductOnSale,
  readVisibleText,
  startHarness,
  stockCatalog,
} from '../app/app-client.ts'
import { CHANNEL_ID, type FaultHandler, sendJson } from '../helpers/fake-catalog.ts'
import type { Harness } from '../helpers/harness.ts'
import { toGtin } from '../helpers/products.ts'
import { IS_FULL } from '../helpers/property-runs.ts'
import { type TestServer, startTestServer } from './test-server.ts'
import { startAppProcess } from './app-process.ts'
import { collectUnhandled } from './scenario.ts'

const LOOK_UP = /\/products\//
const VISITOR_TIMEOUT_MS = 800
const DEADLINE_MS: number = 5 * SECOND_MS
const TITLE = 'Lumen Arc desk lamp'

/** Visit all paths at once, before any response arrives. */
function visitAll(server: TestServer, paths: readonly string[]): Promise<readonly TestResponse[]> {
  return Promise.all(paths.map((path) => server.visit(path)))
}

/** Different boxes of one product, as fragments and as embeds. */
const ADDRESSES = [BOX, BOX_EMBED].flatMap((box) =>
  Array.from({ length: 5 }, (_, index) => `${box}?limit=${index + 1}`),
)

function repeat(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => ADDRESSES[index % ADDRESSES.length] ?? '')
}

function countStates(responses: readonly TestResponse[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { status, headers } of responses) {
    const state = `${status} ${headers['vitrine-state']}`
    counts[state] = (counts[state] ?? 0) + 1
  }
  return counts
}

describe('200 simultaneous visitors', () => {
  it.each([
    ['cold', null, 'vitrine; fwd=miss; stored'],
    ['rescued', 2 * HOUR_MS, 'vitrine; fwd=miss; stored'],
    ['stale', 10 * MINUTE_MS, 'vitrine; fwd=stale; detail=stale'],
  ] as const)(
    '%s product - one catalog call, and all visitors see the product',
    async (...[, ageMs, cacheStatus]) => {
      const harness = await startHarness()
      const server = await startTestServer(harness.app)
      const { catalog, clock } = harness
      if (ageMs !== null) {
        await stockCatalog(harness)
        clock.advance(ageMs)
      }
      const before = catalog.calls.length
      const pendingResponses: ServerResponse[] = []
      catalog.fault = {
        pathPattern: LOOK_UP,
        respond: (_request, response) => void pendingResponses.push(response),
      }
      const responses = visitAll(server, repeat(200))
      // One timer for the deadline of the call, and one for the waiting visitors of each address.
      const [waits, waiting] = ageMs === 10 * MINUTE_MS ? [1, 0] : [1 + ADDRESSES.length, 200]
      await vi.waitFor(() =>
        expect([clock.pendingWaits, server.countWaiting(), pendingResponses.length]).toEqual([
          waits,
          waiting,
          1,
        ]),
      )
      // Visitors who see a stale copy do not wait: the catalog responds only after all of them.
      if (cacheStatus.includes('stale')) await responses
      for (const response of pendingResponses) sendJson(response, 200, makeProductOnSale())
      const seen = await responses
      expect(countStates(seen)).toEqual({ '200 shown': 200 })
      expect(new Set(seen.map(({ headers }) => headers['cache-status']))).toEqual(new Set([cacheStatus]))
      expect(seen.every(({ text }) => readVisibleText(text).includes(TITLE))).toBe(true)
      expect(catalog.countCalls(LOOK_UP)).toBe(1)
      expect(catalog.calls.length - before).toBe(ageMs === null ? 2 : 1)
    },
  )
})

type AppUnderTest = Readonly<{ harness: Harness; server: TestServer }>

/** A way to fail. With fewer than `minCalls` calls, the windows would not be tested. */
type FaultyCatalog = Readonly<{
  name: string
  respond: FaultHandler
  minCalls: number
  visit(app: AppUnderTest): Promise<readonly TestResponse[]>
}>

describe('product whose look-ups fail', () => {
  const WINDOWS = 10
  const VISITORS = 20
  const WINDOW_MS: number = 6 * SECOND_MS

  /** Visit simultaneously, and wait for every response. */
  const visitWindow = ({ server }: AppUnderTest): Promise<readonly TestResponse[]> =>
    visitAll(server, repeat(VISITORS))

  /** The same for a catalog that hangs; also wait until the call, if there is one, has ended. */
  const visitUntilTimeout = async ({ harness, server }: AppUnderTest): Promise<readonly TestResponse[]> => {
    const { catalog, clock, context } = harness
    const callsBefore = catalog.countCalls(LOOK_UP)
    let isDone = false
    const responses = visitAll(server, repeat(VISITORS)).finally(() => {
      isDone = true
    })
    await vi.waitFor(() => {
      const haveAllArrived = clock.pendingWaits === ADDRESSES.length + 1 && server.countWaiting() === VISITORS
      const isWaiting = haveAllArrived && catalog.countCalls(LOOK_UP) > callsBefore
      expect(isDone || isWaiting).toBe(true)
    })
    if (isDone) return responses
    clock.advance(VISITOR_TIMEOUT_MS)
    await responses
    clock.advance(DEADLINE_MS - VISITOR_TIMEOUT_MS)
    // Once the failure is counted, the caches and the circuit breaker have recorded it.
    const counted = `outcome="VITRINE_CATALOG_DEADLINE"} ${callsBefore + 1}`
    await vi.waitFor(async () => {
      const { text } = await context.metrics.render()
      if (!text.includes(counted)) throw new Error(`not yet ${counted}`)
    })
    return responses
  }

  // Five failures in a row open the circuit breaker: then even fewer calls are made.
  const faults: readonly FaultyCatalog[] = [
    {
      name: '500',
      respond: (_request, response) => sendJson(response, 500, {}),
      minCalls: 5,
      visit: visitWindow,
    },
    {
      name: 'reset',
      respond: ({ socket }) => void socket.resetAndDestroy(),
      minCalls: 5,
      visit: visitWindow,
    },
    { name: 'hang', respond: () => {}, minCalls: 5, visit: visitUntilTimeout },
  ]
  const cases = faults.flatMap((fault) =>
    (['cold', 'rescued'] as const).map((initialState) => [fault.name, initialState, fault] as const),
  )

  it.each(cases)(
    '%s, %s - one call for all visitors, then at most one per window',
    async (...[, initialState, { respond, minCalls, visit }]) => {
      const unhandled = collectUnhandled()
      const harness = await startHarness()
      const server = await startTestServer(harness.app)
      const { catalog, clock } = harness
      if (initialState === 'rescued') {
        await stockCatalog(harness)
        clock.advance(2 * HOUR_MS)
      }
      catalog.fault = { pathPattern: LOOK_UP, respond }
      const expected = initialState === 'cold' ? { '200 unavailable': VISITORS } : { '200 shown': VISITORS }
      expect(countStates(await visit({ harness, server }))).toEqual(expected)
      await vi.waitFor(() => expect(catalog.countCalls(LOOK_UP)).toBe(1))
      for (let window = 0; window < WINDOWS; window++) {
        const before = catalog.countCalls(LOOK_UP)
        clock.advance(WINDOW_MS)
        expect(countStates(await visit({ harness, server }))).toEqual(expected)
        expect(catalog.countCalls(LOOK_UP) - before).toBeLessThanOrEqual(1)
      }
      expect(catalog.countCalls(LOOK_UP)).toBeGreaterThanOrEqual(minCalls)

      catalog.fault = null
      catalog.products.set(CHANNEL_ID, [makeProductOnSale()])
      clock.advance(2 * MINUTE_MS)
      expect(countStates(await visitAll(server, repeat(VISITORS)))).toEqual({ '200 shown': VISITORS })
      expect(unhandled).toEqual([])
    },
  )
})

describe('many products of a catalog that fails', () => {
  const PRODUCTS = 40

  it.each([
    ['500', (response: ServerResponse): void => sendJson(response, 500, {})],
    ['503', (response: ServerResponse): void => sendJson(response, 503, {})],
    ['302', (response: ServerResponse): void => void response.writeHead(302, { Location: '/sorry' }).end()],
    ['a page', (response: ServerResponse): void => void response.writeHead(200).end('<p>Back soon</p>')],
  ] as const)(
    '%s - five calls, then single ones; when it works, every product is shown',
    async (...[, fail]) => {
      const harness = await startHarness()
      const server = await startTestServer(harness.app)
      const { catalog, clock } = harness
      const gtins = Array.from({ length: PRODUCTS }, (_, index) => toGtin(index))
      catalog.products.set(
        CHANNEL_ID,
        gtins.map((gtin) => makeProductOnSale({ gtin })),
      )
      catalog.fault = { pathPattern: LOOK_UP, respond: (_request, response) => fail(response) }
      const visitEach = async (): Promise<Readonly<Record<string, number>>> => {
        const responses: TestResponse[] = []
        for (const gtin of gtins)
          responses.push(await server.visit(`/fragments/${CHANNEL_ID}/where-to-buy/${gtin}`))
        return countStates(responses)
      }
      expect(await visitEach()).toEqual({ '200 unavailable': PRODUCTS })
      expect(catalog.countCalls(LOOK_UP)).toBe(5)
      for (let trial = 1; trial <= 3; trial += 1) {
        clock.advance(2 * MINUTE_MS)
        await visitEach()
        expect(catalog.countCalls(LOOK_UP)).toBe(5 + trial)
      }
      catalog.fault = null
      clock.advance(2 * MINUTE_MS)
      expect(await visitEach()).toEqual({ '200 shown': PRODUCTS })
    },
  )
})

const toPath = (index: number): string => `/fragments/${CHANNEL_ID}/where-to-buy/${toGtin(index)}`

describe('thousands of unknown GTINs', () => {
  const COUNT = IS_FULL ? 10_000 : 1_000
  const BATCH = 500
  const BUDGET = 600
  const isKnown = /\/products\/09521234567899$/

  it('channel walked long ago, after a restart - at most 600 calls an hour, and known boxes stay shown', async () => {
    // Connections have real timeouts, which a busy machine could reach with hundreds of calls at once.
    const settings = { VITRINE_SYNC_CRON: 'off', VITRINE_CATALOG_TIMEOUT_MS: '600000' }
    const harness = await startHarness({ settings })
    await stockCatalog(harness)
    const { catalog, clock } = harness
    const { context, server } = await startAppProcess(harness)
    await context.walks.start()
    clock.advance(3 * DAY_MS)
    const countUnknown = (): number => catalog.countCalls(LOOK_UP) - catalog.countCalls(isKnown)
    const visitKnown = async (): Promise<string> => {
      const { headers, text } = await server.visit(BOX)
      return `${headers['vitrine-state']}, ${headers['cache-status']}, ${readVisibleText(text).includes(TITLE)}`
    }
    expect(await visitKnown()).toBe('shown, vitrine; fwd=miss; stored, true')

    const totals: Record<string, number> = {}
    for (let first = 0; first < COUNT; first += BATCH) {
      const paths = Array.from({ length: BATCH }, (_, index) => toPath(first + index))
      const responses = await visitAll(server, paths)
      expect(responses.every(({ body }) => body.length === 0)).toBe(true)
      for (const [state, count] of Object.entries(countStates(responses)))
        totals[state] = (totals[state] ?? 0) + count
      expect(countUnknown()).toBe(Math.min(first + BATCH, BUDGET))
      expect(await visitKnown()).toBe('shown, vitrine; hit, true')
    }
    expect(totals).toEqual({ '200 hidden': BUDGET, '200 unavailable': COUNT - BUDGET })
    expect(catalog.countCalls(isKnown)).toBe(1)
    // One further list of channels, to confirm the first 404.
    expect(catalog.countCalls(/channels$/)).toBe(2)

    // Refreshes of known products have a separate quota.
    clock.advance(10 * MINUTE_MS)
    expect(await visitKnown()).toBe('shown, vitrine; fwd=stale; detail=stale, true')
    await vi.waitFor(async () => expect(await visitKnown()).toBe('shown, vitrine; hit, true'))
    expect(catalog.countCalls(isKnown)).toBe(2)
    expect(countUnknown()).toBe(BUDGET)

    clock.advance(HOUR_MS)
    await visitAll(
      server,
      Array.from({ length: 2 * BATCH }, (_, index) => toPath(20_000 + index)),
    )
    expect(countUnknown()).toBeGreaterThan(BUDGET)
    expect(countUnknown()).toBeLessThanOrEqual(2 * BUDGET)
  })
})

const createQuery = (): string => `x${randomBytes(6).toString('hex')}=${randomBytes(6).toString('hex')}`

describe('200 random query strings', () => {
  it.each([BOX, BOX_EMBED])('%s - no further call, and no further cache entry', async (path) => {
    const harness = await startHarness()
    const server = await startTestServer(harness.app)
    const { catalog, context } = harness
    catalog.products.set(CHANNEL_ID, [makeProductOnSale()])
    const plain = await server.visit(path)
    const measure = (): readonly number[] => [
      catalog.calls.length,
      context.caches.responses.entryCount(),
      context.caches.responses.byteCount(),
      context.caches.products.entryCount(),
    ]
    const before = measure()
    expect(before).toEqual([2, 1, expect.any(Number), 1])
    const responses = await visitAll(
      server,
      Array.from({ length: 200 }, () => `${path}?${createQuery()}&${createQuery()}`),
    )
    expect(countStates(responses)).toEqual({ '200 shown': 200 })
    expect(responses.every(({ body }) => body.equals(plain.body))).toBe(true)
    expect(measure()).toEqual(before)
  })

  it('unknown product - one call', async () => {
    const harness = await startHarness()
    const server = await startTestServer(harness.app)
    const path = `/fragments/${CHANNEL_ID}/where-to-buy/${GTIN}`
    const responses = await visitAll(
      server,
      Array.from({ length: 200 }, () => `${path}?${createQuery()}`),
    )
    expect(countStates(responses)).toEqual({ '200 hidden': 200 })
    expect(harness.catalog.countCalls(LOOK_UP)).toBe(1)
    expect(harness.context.caches.responses.entryCount()).toBe(1)
  })
})
