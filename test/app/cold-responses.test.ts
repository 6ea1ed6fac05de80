import { once } from 'node:events'
import { type ClientRequest, get } from 'node:http'
import { brotliDecompressSync } from 'node:zlib'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createApp } from '../../src/app.ts'
import type { RenderQueue } from '../../src/http/render-queue.ts'
import type { ResponseCache } from '../../src/http/response-cache.ts'
import { WidgetBodies } from '../../src/http/widget-bodies.ts'
import { defer } from '../helpers/defer.ts'
import { CHANNEL_ID } from '../helpers/fake-catalog.ts'
import { type TestServer, startTestServer } from '../faults/test-server.ts'
import {
  BOX,
  BOX_DATA,
  BOX_EMBED,
  GRID,
  GRID_EMBED,
  GTIN,
  type TestResponse,
  makeProductOnSale,
  startStockedHarness,
} from './app-client.ts'

const VISITORS = 40
const BROTLI = { 'Accept-Encoding': 'gzip, br' }

/** `run`: the keys of tasks in the order in which they run. `hold`: tasks wait until its result is called. */
type ObservedQueue = RenderQueue & Readonly<{ run: RenderQueue['run']; order: string[]; hold(): () => void }>

function observe(queue: RenderQueue): ObservedQueue {
  const order: string[] = []
  let gate = Promise.resolve()
  return {
    order,
    run: (place, task) =>
      queue.run(place, async () => {
        await gate
        order.push(place.key ?? '')
        return task()
      }),
    hold() {
      const { promise, resolve } = defer<void>()
      gate = promise
      return resolve
    },
  }
}

async function startObserved(): Promise<
  Readonly<{
    server: TestServer
    queue: ObservedQueue
    responses: ResponseCache
    countCompressed(): number
  }>
> {
  const harness = await startStockedHarness([makeProductOnSale()], {
    settings: { VITRINE_JSON: 'on', VITRINE_MAIL_NETWORKS: 'brightlink', VITRINE_TRUST_PROXY: '1' },
  })
  const { context } = harness
  const queue = observe(context.renderQueue)
  const server = await startTestServer(createApp({ ...context, renderQueue: queue }))
  const { responses } = context.caches
  const compressing = vi.spyOn(WidgetBodies.prototype, 'make')
  onTestFinished(() => compressing.mockRestore())
  return { server, queue, responses, countCompressed: () => compressing.mock.calls.length }
}

const visitAs =
  (server: TestServer) =>
  (
    address: string,
    path: string,
    headers: Readonly<Record<string, string>> = BROTLI,
  ): Promise<TestResponse> =>
    server.visit(path, { ...headers, 'X-Forwarded-For': address })

const PATHS = [
  BOX,
  BOX_EMBED,
  BOX_DATA,
  GRID,
  GRID_EMBED,
  `/data/${CHANNEL_ID}/deals`,
  `/feeds/${CHANNEL_ID}/deals.atom`,
  `/mail/${CHANNEL_ID}/deals`,
  `/fragments/${CHANNEL_ID}/picks/${GTIN},96385074`,
  `/oembed?url=${encodeURIComponent(`https://widgets.example${GRID_EMBED}`)}`,
]

describe('response that is not cached', () => {
  test.each(PATHS)('%s at once for many visitors - rendered and compressed once', async (path) => {
    const { server, queue } = await startObserved()
    const visit = visitAs(server)
    const release = queue.hold()
    const visits = Array.from({ length: VISITORS }, (_, index) => visit(`192.0.2.${index}`, path))
    await vi.waitFor(() => expect(server.countWaiting()).toBe(VISITORS))
    release()
    const responses = await Promise.all(visits)
    expect(new Set(responses.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
    expect(queue.order).toHaveLength(new Set(queue.order).size)
    expect(queue.order.length).toBeLessThan(3)
  })

  test('encodings at once - rendered once', async () => {
    const { server, queue, countCompressed } = await startObserved()
    const release = queue.hold()
    const visits = ['gzip', 'br', 'identity', 'gzip', 'br'].map((accepted) =>
      server.visit(GRID_EMBED, { 'Accept-Encoding': accepted }),
    )
    await vi.waitFor(() => expect(server.countWaiting()).toBe(visits.length))
    release()
    const responses = await Promise.all(visits)
    expect(new Set(responses.map(({ headers }) => headers['etag'])).size).toBe(1)
    expect(countCompressed()).toBe(2)
    // The first task renders, and each other one compresses.
    expect(queue.order).toHaveLength(3)
  })

  test('many placements of an embed at once - rendered once, each compressed in its turn', async () => {
    const { server, queue } = await startObserved()
    const release = queue.hold()
    const visits = Array.from({ length: VISITORS }, (_, index) =>
      server.visit(`${GRID_EMBED}?sub=placement-${index}`, BROTLI),
    )
    await vi.waitFor(() => expect(server.countWaiting()).toBe(VISITORS))
    release()
    const responses = await Promise.all(visits)
    expect(new Set(responses.map(({ headers }) => headers['etag'])).size).toBe(VISITORS)
    expect(queue.order.filter((key) => !key.includes(' '))).toHaveLength(1)
    expect(queue.order).toHaveLength(VISITORS + 1)
  })

  test('encodings - only those that a client accepts are made, each once', async () => {
    const { server, queue, responses, countCompressed } = await startObserved()
    await server.visit(BOX_EMBED, { 'Accept-Encoding': 'identity' })
    expect(countCompressed()).toBe(0)
    const plainBytes = responses.byteCount()
    const encodings = ['br', 'gzip', 'br', 'gzip', 'identity', 'gzip, br']
    const received: unknown[] = []
    for (const accepted of encodings)
      received.push(
        (await server.visit(BOX_EMBED, { 'Accept-Encoding': accepted })).headers['content-encoding'],
      )
    expect(received).toEqual(['br', 'gzip', 'br', 'gzip', undefined, 'br'])
    expect(countCompressed()).toBe(2)
    // The compressed bodies take the place of the text.
    expect(responses.byteCount()).toBeLessThan(plainBytes)
    expect(queue.order).toHaveLength(3)
  })

  test('newer data while a client waits for a compressed body - the ETag is that of the body', async () => {
    const { server, queue, responses } = await startObserved()
    const first = await server.visit(BOX_EMBED, { 'Accept-Encoding': 'identity' })
    const release = queue.hold()
    const waiting = server.visit(BOX_EMBED, BROTLI)
    await vi.waitFor(() => expect(server.countWaiting()).toBe(1))
    const cached = responses.findCurrent(BOX_EMBED)
    if (cached === undefined) throw new Error('not cached')
    responses.set(BOX_EMBED, { ...cached, digest: 'newer', etag: 'W/"newer"' })
    release()
    const { headers, body } = await waiting
    expect(brotliDecompressSync(body).toString()).toBe(first.text)
    expect(headers['etag']).toBe(first.headers['etag'])
  })

  test('client that has the body - is 304 without waiting for a turn', async () => {
    const { server, queue } = await startObserved()
    const { headers } = await server.visit(GRID)
    const release = queue.hold()
    const waiting = server.visit(`${GRID}?heading=Sale`)
    const { status } = await server.visit(GRID, { 'If-None-Match': headers['etag'] ?? '' })
    expect([status, server.countWaiting()]).toEqual([304, 1])
    release()
    expect((await waiting).headers['vitrine-state']).toBe('shown')
  })
})

/** Request as many addresses as the queue holds and more, all by one visitor. */
async function flood() {
  const observed = await startObserved()
  const visit = visitAs(observed.server)
  const release = observed.queue.hold()
  const visitor = '192.0.2.1'
  // Two run, and 192 of 384 wait.
  for (let count = 0; count < 194; count += 1) void observed.queue.run({ visitor }, () => {})
  const visits = Array.from({ length: 250 }, (_, index) => visit(visitor, `${BOX_EMBED}?heading=h${index}`))
  let refusedCount = 0
  for (const one of visits) one.then(() => (refusedCount += 1)).catch(() => {})
  // 192 more wait.
  await vi.waitFor(() => expect(refusedCount).toBe(58))
  expect(observed.server.countWaiting()).toBe(192)
  return { ...observed, visit, visits, release }
}

describe('many different responses that are not cached', () => {
  test('one visitor - those over the limit are unavailable at once, the others are shown', async () => {
    const { visits, release } = await flood()
    release()
    const states = (await Promise.all(visits)).map(({ headers }) => headers['vitrine-state'])
    expect(states.filter((state) => state === 'unavailable')).toHaveLength(58)
    expect(states.filter((state) => state === 'shown')).toHaveLength(192)
  })

  test('unavailable - 200 that is not cached, and empty where it is included', async () => {
    const { server, visit, visits, release } = await flood()
    const refused = await visit('192.0.2.1', `${BOX}?heading=more`)
    expect([
      refused.status,
      refused.headers['cache-control'],
      refused.headers['vitrine-state'],
      refused.text,
    ]).toEqual([200, 'no-store', 'unavailable', ''])
    release()
    await Promise.all(visits)
    expect((await server.visit(`${BOX}?heading=more`)).headers['vitrine-state']).toBe('shown')
  })

  test('another visitor - is next, also for an address that the first one asked for last', async () => {
    const { server, queue, visit, visits, release } = await flood()
    const others = [
      visit('192.0.2.2', `${GRID_EMBED}?heading=h`),
      visit('192.0.2.3', `${BOX_EMBED}?heading=h190`),
    ]
    await vi.waitFor(() => expect(server.countWaiting()).toBe(194))
    release()
    await Promise.all([...others, ...visits])
    const keys = (await Promise.all(others)).map(
      ({ headers }) => /"(.*)"/.exec(headers['etag'] ?? '')?.[1] ?? '?',
    )
    // Two of the first visitor were running, and visitors take turns.
    const first = queue.order.slice(0, 12).join(' ')
    for (const key of keys) expect(first).toContain(key)
  })
})

test('clients that leave while they wait - nothing is rendered for them', async () => {
  const { server, queue } = await startObserved()
  const release = queue.hold()
  const open = (path: string): ClientRequest =>
    get({ host: '127.0.0.1', port: server.port, path, agent: false }).on('error', () => {})
  const running = [open(`${GRID}?heading=a`), open(`${GRID}?heading=b`)]
  const requests = Array.from({ length: 20 }, (_, index) => open(`${GRID}?heading=h${index}`))
  await vi.waitFor(() => expect(server.countWaiting()).toBe(22))
  for (const one of requests) one.destroy()
  await vi.waitFor(() => expect(server.countWaiting()).toBe(2))
  release()
  await Promise.all(running.map((one) => once(one, 'response')))
  expect((await server.visit(GRID)).headers['vitrine-state']).toBe('shown')
  expect(queue.order).toHaveLength(3)
})
