import type { ServerResponse } from 'node:http'
import { beforeEach, expect, test, vi } from 'vitest'
import { MINUTE_MS, SECOND_MS } from '../../src/clock.ts'
import { Secret } from '../../src/config/secrets.ts'
import { SEND_TIMEOUT_MS } from '../../src/events/send-event.ts'
import { type Webhook, createWebhook } from '../../src/events/webhook.ts'
import { createLogger } from '../../src/observability/logger.ts'
import { createMetrics } from '../../src/observability/metrics.ts'
import { type StoredCopy, openStoredCopy } from '../../src/storage/stored-copy.ts'
import { addCleanup } from '../helpers/cleanup.ts'
import {
  EVENT_SECRET,
  type EventReceiver,
  type ReceivedEvent,
  isSignatureValid,
  startEventReceiver,
} from '../helpers/event-receiver.ts'
import { type FakeClock, createFakeClock } from '../helpers/fake-clock.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { makeParsedOffer, makeProduct } from '../helpers/products.ts'
import { walkAll } from '../storage/conformance/subject.ts'
import { NO_PROXIES } from '../helpers/proxies.ts'

const POLL_MS = 15 * SECOND_MS

let receiver: EventReceiver
let store: StoredCopy
let clock: FakeClock
let metrics: ReturnType<typeof createMetrics>
let lines: string[]
beforeEach(async () => {
  receiver = await startEventReceiver()
  clock = createFakeClock(NOON_MS)
  metrics = createMetrics()
  lines = []
  store = await openStoredCopy({ database: { kind: 'sqlite', path: ':memory:' }, catalog: 'c', clock })
  const copy = store
  addCleanup(() => copy.close())
})

function start(over: Readonly<{ url?: string }> = {}): Webhook {
  const logger = createLogger({ level: 'trace', stream: { write: (line) => void lines.push(line) } })
  const webhook = createWebhook({
    webhook: { url: new Secret(over.url ?? receiver.url), secret: new Secret(EVENT_SECRET) },
    proxies: NO_PROXIES,
    store,
    clock,
    logger,
    metrics,
  })
  addCleanup(() => webhook.stop())
  webhook.start()
  return webhook
}

/** Let shops go, one event each, in this order. */
async function loseShops(...merchants: readonly string[]): Promise<void> {
  const offers = ['Kopje', ...merchants].map((merchant) => makeParsedOffer({ merchant }))
  await walkAll(store, [makeProduct({ offers })], clock.nowMs())
  await walkAll(store, [makeProduct({ offers: offers.slice(0, 1) })], clock.nowMs())
}

/** Wait until the webhook waits for its next poll, then let the time pass. */
async function poll(): Promise<void> {
  await vi.waitFor(() => expect(clock.pendingDelaysMs).toEqual([POLL_MS]))
  clock.advance(POLL_MS)
}

async function pollUntilReceived(count: number): Promise<void> {
  for (let polls = 0; receiver.received.length < count && polls < 1_000; polls += 1) await poll()
  await vi.waitFor(() => expect(clock.pendingDelaysMs).toEqual([POLL_MS]))
  expect(receiver.received).toHaveLength(count)
}

const listShops = (): readonly string[] =>
  receiver.received.map(({ body }) => (JSON.parse(body) as { shop: { name: string } }).shop.name)

const respond =
  (status: number, headers: Record<string, string> = {}) =>
  (response: ServerResponse): void =>
    void response.writeHead(status, headers).end()

const reset = (response: ServerResponse): void => void response.socket?.resetAndDestroy()

const countDeliveries = async (outcome: string): Promise<string | undefined> =>
  (await metrics.render()).text
    .split('\n')
    .find((line) => line.startsWith(`vitrine_event_deliveries_total{outcome="${outcome}"}`))

test('event - is posted once as signed JSON, and the address stays out of the log', async () => {
  await loseShops('Tafelrond')
  start()
  await pollUntilReceived(1)
  await poll()
  await poll()
  expect(receiver.received).toHaveLength(1)
  const received = receiver.received[0] as ReceivedEvent
  const [event] = await store.listEvents(1)
  expect(JSON.parse(received.body ?? '')).toEqual({
    version: 1,
    id: event?.id,
    type: 'shop.gone',
    at: new Date(NOON_MS).toISOString(),
    channel: event?.channel,
    shop: { merchant: 'Tafelrond', name: 'Tafelrond' },
  })
  expect(received.url).toBe('/hook?token=path-secret-1234')
  expect(received.headers).toMatchObject({
    'content-type': 'application/json',
    'vitrine-event-id': event?.id,
    'vitrine-timestamp': String(NOON_MS / SECOND_MS),
  })
  expect(await Promise.all(receiver.received.map((one) => isSignatureValid(one)))).toEqual([true])
  const headers = { ...received.headers, 'vitrine-timestamp': '1' }
  expect(await isSignatureValid({ ...received, headers })).toBe(false)
  expect(await isSignatureValid({ ...received, body: `${received.body} ` })).toBe(false)
  expect(lines.join('')).toContain('event delivered')
  expect(lines.join('')).not.toMatch(/path-secret|test-signing-secret/)
})

test('webhook down - retried in order with longer waits, and delivered once when it answers', async () => {
  receiver.responses.push(respond(500), reset, respond(302, { location: receiver.url }), respond(404))
  await loseShops('A', 'B')
  start()
  await pollUntilReceived(6)
  await poll()
  expect(listShops()).toEqual(['A', 'A', 'A', 'A', 'A', 'B'])
  const seconds = receiver.received.map(({ headers }) => Number(headers['vitrine-timestamp']))
  expect(seconds.map((second, index) => second - (seconds[index - 1] ?? second))).toEqual([
    0, 15, 30, 60, 120, 0,
  ])
  expect(new Set(receiver.received.map(({ headers }) => headers['vitrine-event-id'])).size).toBe(2)
  expect([await countDeliveries('failed'), await countDeliveries('ok')]).toEqual([
    'vitrine_event_deliveries_total{outcome="failed"} 4',
    'vitrine_event_deliveries_total{outcome="ok"} 2',
  ])
  const reasons = lines.flatMap((line) => (JSON.parse(line) as { reason: string | null }).reason ?? [])
  expect(reasons).toEqual([
    'status 500',
    expect.stringMatching(/^the connection was closed before the end \(\w+\)$/),
    'redirect (status 302)',
    'status 404',
  ])
})

test('receiver that does not answer - the attempt fails after its time', async () => {
  receiver.responses.push(() => {})
  await loseShops('A')
  start()
  await vi.waitFor(() => expect(receiver.received).toHaveLength(1))
  expect(clock.pendingDelaysMs).toEqual([SEND_TIMEOUT_MS])
  clock.advance(SEND_TIMEOUT_MS)
  await vi.waitFor(async () =>
    expect(await store.readDeliveryState()).toMatchObject({
      pendingCount: 1,
      failure: 'no response in time',
    }),
  )
})

test('stop during an attempt - ends at once; after the restart, the event is sent again with its id', async () => {
  receiver.responses.push(() => {})
  await loseShops('A')
  const webhook = start()
  await vi.waitFor(() => expect(receiver.received).toHaveLength(1))
  await webhook.stop()
  expect(await store.readDeliveryState()).toMatchObject({ pendingCount: 1, failure: null })
  start()
  // At once: the lease was released.
  await vi.waitFor(async () =>
    expect([clock.pendingDelaysMs, receiver.received.length]).toEqual([[POLL_MS], 2]),
  )
  const [first, second] = receiver.received
  expect(second?.body).toBe(first?.body)
  expect(await store.readDeliveryState()).toMatchObject({ pendingCount: 0 })
})

test('restart after a delivery, and two processes - no event twice', async () => {
  await loseShops('A', 'B', 'C')
  const first = start()
  await pollUntilReceived(3)
  await first.stop()
  start()
  await poll()
  await vi.waitFor(() => expect(clock.pendingDelaysMs).toEqual([POLL_MS]))
  start()
  await loseShops('D')
  await vi.waitFor(() => expect(clock.pendingDelaysMs).toEqual([POLL_MS, POLL_MS]))
  clock.advance(POLL_MS)
  await vi.waitFor(() => expect(clock.pendingDelaysMs).toEqual([POLL_MS, POLL_MS]))
  expect(listShops()).toEqual(['A', 'B', 'C', 'D'])
})

test('notify - looks for events without waiting', async () => {
  const webhook = start()
  await vi.waitFor(() => expect(clock.pendingDelaysMs).toEqual([POLL_MS]))
  await loseShops('A')
  webhook.notify()
  await vi.waitFor(() => expect(listShops()).toEqual(['A']))
  expect(clock.nowMs()).toBe(NOON_MS)
})

test('no receiver at the address - failed, and tried again', async () => {
  await loseShops('A')
  start({ url: 'http://127.0.0.1:1/' })
  await vi.waitFor(async () =>
    expect(await store.readDeliveryState()).toMatchObject({ failure: 'connection refused (ECONNREFUSED)' }),
  )
  clock.advance(MINUTE_MS)
  await vi.waitFor(async () => expect(await countDeliveries('failed')).toMatch(/ 2$/))
})
