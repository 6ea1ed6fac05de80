import { describe, expect, test, vi } from 'vitest'
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/clock.ts'
import { StoreError } from '../../src/errors.ts'
import { type TestServer, startTestServer } from '../faults/test-server.ts'
import { CHANNEL_ID, makeWireOffer, sendJson } from '../helpers/fake-catalog.ts'
import type { Harness } from '../helpers/harness.ts'
import {
  BOX,
  BOX_EMBED,
  GTIN,
  type TestResponse,
  makeProductOnSale,
  startHarness,
  startStockedHarness,
  stockCatalog,
} from './app-client.ts'

const RESCUED = 'vitrine; fwd=stale; detail=rescued'
const BROTLI = { 'Accept-Encoding': 'br' }

/** Let every use of the database and of the catalog fail, and forget the product: only responses are left in memory. */
function breakAll({ context, catalog }: Harness): void {
  for (const [name, member] of Object.entries(context.store))
    if (typeof member === 'function' && /^(?:find|get|put|update)/.test(name))
      vi.spyOn(context.store, name as 'ping').mockRejectedValue(
        new StoreError('the database could not be reached', { isUnreachable: true }),
      )
  context.caches.products.delete(`${CHANNEL_ID} ${GTIN}`)
  catalog.fault = { pathPattern: /./, respond: (_request, response) => sendJson(response, 500, {}) }
}

type Visited = Readonly<{ harness: Harness; server: TestServer; first: TestResponse }>

/** Visit a box, then let everything fail. */
async function visitAndBreak(path: string, product = makeProductOnSale(), headers = {}): Promise<Visited> {
  const harness = await startStockedHarness([product])
  const server = await startTestServer(harness.app)
  const first = await server.visit(path, headers)
  expect(first.headers['vitrine-state']).toBe('shown')
  harness.clock.advance(10 * MINUTE_MS)
  breakAll(harness)
  return { harness, server, first }
}

describe('box whose data cannot be read', () => {
  test.each([
    [BOX, {}],
    [BOX_EMBED, BROTLI],
    [`${BOX}?sub=a`, {}],
    [`/fragments/${CHANNEL_ID}/picks/${GTIN},96385074`, {}],
  ])('%s - is the last response, rescued', async (path, headers) => {
    const { server, first } = await visitAndBreak(path, undefined, headers)
    const { status, headers: seen, body } = await server.visit(path, headers)
    expect([status, seen['vitrine-state'], seen['cache-status']]).toEqual([200, 'shown', RESCUED])
    expect(body.equals(first.body)).toBe(true)
    expect(seen['cache-control']).toMatch(/^public, max-age=60,/)
  })

  test('another placement, another spelling and a client that has it - get it, too', async () => {
    const { server, first } = await visitAndBreak(BOX)
    const placed = await server.visit(`${BOX}?sub=b&limit=5`)
    expect([placed.headers['vitrine-state'], placed.text.length]).toEqual(['shown', expect.any(Number)])
    const known = await server.visit(BOX, { 'If-None-Match': first.headers['etag'] ?? '' })
    expect(known.status).toBe(304)
  })

  test('a box that nobody has requested - is unavailable', async () => {
    const { server } = await visitAndBreak(BOX)
    const { status, headers, text } = await server.visit(`${BOX}?locale=de`)
    expect([status, headers['vitrine-state'], text]).toEqual([200, 'unavailable', ''])
  })

  test('a proxy that can retry on another server - gets 503', async () => {
    const { server } = await visitAndBreak(BOX)
    expect((await server.visit(BOX, { 'Vitrine-Require': 'database' })).status).toBe(503)
  })

  test('after it was hidden - is unavailable, not the response before', async () => {
    const harness = await startStockedHarness()
    const server = await startTestServer(harness.app)
    await server.visit(BOX)
    harness.clock.advance(HOUR_MS)
    await stockCatalog(harness, [makeProductOnSale({ gtin: '96385074' })])
    harness.clock.advance(SECOND_MS)
    expect((await server.visit(BOX)).headers['vitrine-state']).toBe('hidden')
    harness.clock.advance(10 * MINUTE_MS)
    breakAll(harness)
    expect((await server.visit(BOX)).headers['vitrine-state']).toBe('unavailable')
  })

  test('after another address found that no shop sells it - is unavailable', async () => {
    const harness = await startHarness({ settings: { VITRINE_SYNC_CRON: 'off' } })
    const server = await startTestServer(harness.app)
    harness.catalog.products.set(CHANNEL_ID, [makeProductOnSale()])
    expect((await server.visit(BOX)).headers['vitrine-state']).toBe('shown')
    harness.clock.advance(2 * HOUR_MS)
    harness.catalog.products.set(CHANNEL_ID, [])
    expect((await server.visit(`${BOX}?locale=de`)).headers['vitrine-state']).toBe('hidden')
    harness.clock.advance(HOUR_MS)
    harness.catalog.fault = { pathPattern: /./, respond: (_request, response) => sendJson(response, 500, {}) }
    // The database can be read: it knows more than the last response.
    expect((await server.visit(BOX)).headers['vitrine-state']).toBe('unavailable')
  })

  test('as soon as the database is back - is new', async () => {
    const { harness, server } = await visitAndBreak(BOX)
    await server.visit(BOX)
    vi.restoreAllMocks()
    const { headers } = await server.visit(BOX)
    expect(headers['cache-status']).toBe('vitrine; fwd=stale; detail=stale')
    expect(harness.logs()).not.toContain('bug')
  })
})

describe('last response that must not be shown any longer', () => {
  test.each([
    ['price too old', { VITRINE_PRICE_MAX_AGE_SECONDS: '3600' }, {}, HOUR_MS - 10 * MINUTE_MS],
    ['data too old', { VITRINE_RESCUE_SECONDS: '3600' }, {}, HOUR_MS - 10 * MINUTE_MS],
    ['sale over', {}, { sale_ends_at: '2026-11-21T12:30:00Z' }, 20 * MINUTE_MS - 1],
  ])('%s - is unavailable, to the millisecond', async (...[, settings, offer, waitMs]) => {
    const harness = await startHarness({ settings })
    await stockCatalog(harness, [
      makeProductOnSale({ offers: [makeWireOffer({ old_price: '99.80', ...offer })] }),
    ])
    const server = await startTestServer(harness.app)
    await server.visit(BOX)
    harness.clock.advance(10 * MINUTE_MS)
    breakAll(harness)
    harness.clock.advance(waitMs)
    expect((await server.visit(BOX)).headers['cache-status']).toBe(RESCUED)
    harness.clock.advance(1)
    expect((await server.visit(BOX)).headers['vitrine-state']).toBe('unavailable')
  })
})
