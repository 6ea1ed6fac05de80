import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import { inspect } from 'node:util'
import request from 'supertest'
import { describe, expect, it, vi } from 'vitest'
import { DAY_MS, SECOND_MS } from '../src/clock.ts'
import { OPERATIONS, TIMEOUT_MS, createClient, startCatalog } from './catalog/client-harness.ts'
import { CHANNEL_ID, FAKE_KEY, makeWireOffer, makeWireProduct } from './helpers/fake-catalog.ts'
import { startHarness } from './app/app-client.ts'
import { type FakeClock, createFakeClock } from './helpers/fake-clock.ts'
import { createLogger } from '../src/observability/logger.ts'
import type { Harness } from './helpers/harness.ts'
import { startTestTracing, startTraceCollector } from './helpers/trace-collector.ts'
import { selectCases } from './helpers/property-runs.ts'

const GTIN = '09521234567899'
const PASSWORD = 'studio-password'
const MAX_BYTES = 4_096
const ECHO_BODY = JSON.stringify({ error: `key ${FAKE_KEY} is refused`, authorization: `Bearer ${FAKE_KEY}` })
const ECHO_HEADERS = { 'x-key': FAKE_KEY, 'www-authenticate': `Bearer realm="${FAKE_KEY}"`, server: FAKE_KEY }

type FaultHandler = (request: IncomingMessage, response: ServerResponse) => void

const echo =
  (status: number, headers: Record<string, string> = {}, body = ECHO_BODY): FaultHandler =>
  (_request, response) =>
    void response.writeHead(status, FAKE_KEY, { ...ECHO_HEADERS, ...headers }).end(body)

/** All failures of the catalog, each with the key in its response. */
const FAULTS: Readonly<Record<string, readonly [code: string, fault: FaultHandler]>> = {
  'key rejected, 401': ['VITRINE_CATALOG_KEY_REFUSED', echo(401)],
  'key rejected, 403': ['VITRINE_CATALOG_KEY_REFUSED', echo(403)],
  'rate limited': ['VITRINE_CATALOG_RATE_LIMITED', echo(429, { 'retry-after': FAKE_KEY })],
  redirect: ['VITRINE_CATALOG_REDIRECT', echo(302, { location: `https://evil.example/?key=${FAKE_KEY}` })],
  'status 400': ['VITRINE_CATALOG_STATUS', echo(400)],
  'status 500': ['VITRINE_CATALOG_STATUS', echo(500)],
  'invalid JSON': ['VITRINE_CATALOG_INVALID', echo(200, {}, `<p>${FAKE_KEY}</p>`)],
  'JSON of another shape': ['VITRINE_CATALOG_INVALID', echo(200)],
  'encoding that was not requested': ['VITRINE_CATALOG_INVALID', echo(200, { 'content-encoding': FAKE_KEY })],
  'invalid gzip': ['VITRINE_CATALOG_INVALID', echo(200, { 'content-encoding': 'gzip' })],
  'too large': ['VITRINE_CATALOG_TOO_LARGE', echo(200, {}, FAKE_KEY.repeat(MAX_BYTES))],
  reset: ['VITRINE_CATALOG_UNREACHABLE', (call) => void call.socket.resetAndDestroy()],
  'broken HTTP': [
    'VITRINE_CATALOG_UNREACHABLE',
    (call) => void call.socket.end(`HTTP/1.1 ${FAKE_KEY}\r\n${FAKE_KEY}\r\n\r\n${FAKE_KEY}`),
  ],
  'broken chunk': [
    'VITRINE_CATALOG_UNREACHABLE',
    (call) => void call.socket.end(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${FAKE_KEY}\r\n`),
  ],
  hang: [
    'VITRINE_CATALOG_DEADLINE',
    (_call, response) => void response.writeHead(200, ECHO_HEADERS).write('{"x":"'),
  ],
}

const PATHS = [
  `/fragments/${CHANNEL_ID}/where-to-buy/${GTIN}`,
  `/fragments/${CHANNEL_ID}/where-to-buy/${GTIN}?layout=nonsense`,
  `/fragments/${CHANNEL_ID}/where-to-buy/no-gtin`,
  `/fragments/${CHANNEL_ID}/deals`,
  '/fragments/11111111-2222-4333-8444-555555555555/deals',
  `/embeds/${CHANNEL_ID}/where-to-buy/${GTIN}`,
  `/embeds/${CHANNEL_ID}/deals`,
  `/embeds/${CHANNEL_ID}/deals?limit=0`,
  '/embeds/11111111-2222-4333-8444-555555555555/deals',
  '/embeds/nonsense',
  `/data/${CHANNEL_ID}/where-to-buy/${GTIN}`,
  `/data/${CHANNEL_ID}/deals?limit=0`,
  `/mail/${CHANNEL_ID}/where-to-buy/${GTIN}`,
  `/feeds/${CHANNEL_ID}/deals.atom`,
  '/nonsense',
  '/%zz',
  '/healthz',
  '/readyz',
  '/metrics',
  '/studio',
  '/embed.js',
]

function start(): Promise<Harness> {
  const settings = {
    VITRINE_ADMIN_PASSWORD: PASSWORD,
    VITRINE_CATALOG_MAX_BYTES: String(MAX_BYTES),
    VITRINE_JSON: 'on',
    VITRINE_MAIL_NETWORKS: 'awin',
  }
  return startHarness({ settings })
}

/** Advance the clock until the promise settles. */
async function advanceUntilSettledWithResult<T>(clock: FakeClock, promise: Promise<T>): Promise<T> {
  let isSettled = false
  const settled = promise.finally(() => {
    isSettled = true
  })
  settled.catch(() => {})
  await vi.waitFor(
    () => {
      clock.advance(SECOND_MS)
      expect(isSettled).toBe(true)
    },
    { timeout: 10_000, interval: 5 },
  )
  return settled
}

/** Return all output of the server as one text. The clock only advances if the catalog does not respond. */
async function collectResponses(
  { app, clock }: Harness,
  {
    isTimeMoving = true,
    paths = PATHS,
  }: Readonly<{ isTimeMoving?: boolean; paths?: readonly string[] }> = {},
): Promise<string> {
  const fetchText = async (path: string, isAdmin: boolean): Promise<string> => {
    const call = request(server).get(path)
    if (isAdmin) call.auth('admin', PASSWORD)
    const { status, headers, text } = await call
    return `${path} ${status} ${JSON.stringify(headers)} ${text}`
  }
  const server = createServer(app).listen(0, '127.0.0.1')
  try {
    const calls = paths.flatMap((path) => [fetchText(path, true), fetchText(path, false)])
    const responses = Promise.all(calls)
    return (await (isTimeMoving ? advanceUntilSettledWithResult(clock, responses) : responses)).join('\n')
  } finally {
    server.close()
  }
}

function expectNoKey(text: string): void {
  for (const variant of [FAKE_KEY, Buffer.from(FAKE_KEY).toString('base64').slice(0, -2), 'Bearer ']) {
    expect(text.includes(variant), text.slice(Math.max(0, text.indexOf(variant) - 200)).slice(0, 400)).toBe(
      false,
    )
  }
}

/** Print an error in every supported way. */
function printError(error: unknown): string {
  const parts: string[] = []
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    parts.push(cause.message, cause.stack ?? '', String(cause), JSON.stringify(cause))
    parts.push(JSON.stringify(Object.getOwnPropertyDescriptors(cause)))
  }
  parts.push(inspect(error, { depth: null, showHidden: true, getters: true }))
  return parts.join('\n')
}

describe('the key', () => {
  it.each(Object.entries(FAULTS))(
    '%s - errors of every operation - do not contain the key',
    async (_name, [code, respond]) => {
      const catalog = await startCatalog()
      const fixture = createClient(catalog.url, { maxBytes: MAX_BYTES })
      catalog.fault = { pathPattern: /./, respond }
      for (const call of Object.values(OPERATIONS)) {
        fixture.clock.advance(2 * DAY_MS)
        const before = catalog.calls.length
        const failing = call(fixture.client).catch((thrown: unknown) => thrown)
        await vi.waitFor(() => expect(catalog.calls.length).toBe(before + 1))
        if (code === 'VITRINE_CATALOG_DEADLINE') fixture.clock.advance(TIMEOUT_MS)
        const error = await failing
        expect(error).toMatchObject({ code })
        expectNoKey(printError(error))
      }
      expectNoKey(inspect(fixture, { depth: null, showHidden: true }))
    },
  )

  it.each([...selectCases(Object.entries(FAULTS))])(
    '%s - without a copy - key in no response, log, metric or walk',
    async (_name, [, respond]) => {
      const harness = await start()
      harness.catalog.fault = { pathPattern: /./, respond }
      const report = await advanceUntilSettledWithResult(harness.clock, harness.context.walks.runNow())
      expect(report.failure).toMatch(/^VITRINE_CATALOG_/)
      const responses = await collectResponses(harness)
      expect(responses).toContain('vitrine_catalog_calls_total{operation="channels"')
      expect(harness.logs()).toContain('VITRINE_')
      expectNoKey([responses, harness.logs(), JSON.stringify(report)].join('\n'))
    },
  )

  it.each([...selectCases(Object.entries(FAULTS))])(
    '%s - for products, with a copy - key in no response, log, metric or walk',
    async (_name, [, respond]) => {
      const harness = await start()
      harness.catalog.products.set(CHANNEL_ID, [
        makeWireProduct({ offers: [makeWireOffer({ old_price: '60' })] }),
      ])
      expect((await harness.context.walks.runNow()).failure).toBeNull()
      harness.catalog.fault = { pathPattern: /products/, respond }
      harness.clock.advance(2 * DAY_MS)
      const responses = await collectResponses(harness)
      expect(responses).toContain('"vitrine-state":"shown"')
      const report = await advanceUntilSettledWithResult(harness.clock, harness.context.walks.runNow())
      expect(report.walks.every(({ outcome }) => outcome === 'failed')).toBe(true)
      expect(report.walks.length + Number(report.failure !== null)).toBe(1)
      expectNoKey(
        [responses, harness.logs(), JSON.stringify(report), await collectResponses(harness)].join('\n'),
      )
    },
  )

  it('404 responses that echo the key - key in no response or log', async () => {
    const harness = await start()
    harness.catalog.fault = { pathPattern: /products/, respond: echo(404) }
    const responses = await collectResponses(harness, { isTimeMoving: false })
    expect(responses).toContain('"vitrine-state":"hidden"')
    expectNoKey(responses + harness.logs())
  })

  it('failing store - key in no response, log or error', async () => {
    const harness = await start()
    await harness.context.walks.runNow()
    await harness.context.store.close()
    harness.clock.advance(2 * DAY_MS)
    const responses = await collectResponses(harness)
    const error: unknown = await harness.context.store.ping().catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'VITRINE_STORE_FAILED' })
    expect(harness.logs()).toContain('stored copy failed')
    expectNoKey([responses, harness.logs(), printError(error)].join('\n'))
  })

  it('no failure - key in no response, log or part of the context', async () => {
    const harness = await start()
    harness.catalog.products.set(CHANNEL_ID, [
      makeWireProduct({ offers: [makeWireOffer({ old_price: '60' })] }),
    ])
    await harness.context.walks.runNow()
    const responses = await collectResponses(harness, {
      isTimeMoving: false,
      // The gallery makes no catalog call.
      paths: [...PATHS, '/studio/gallery'],
    })
    expect(responses).toContain('"vitrine-state":"shown"')
    expectNoKey([responses, harness.logs()].join('\n'))
    expectNoKey(JSON.stringify([harness.context.config, harness.context.secrets]))
    expectNoKey(inspect(harness.context, { depth: 6, showHidden: true }))
  })

  it('catalog calls - send the key in one header only', async () => {
    const harness = await start()
    harness.catalog.products.set(CHANNEL_ID, [makeWireProduct()])
    await harness.context.walks.runNow()
    expect(harness.catalog.calls.length).toBeGreaterThan(1)
    for (const { path, headers } of harness.catalog.calls) {
      const { authorization, ...others } = headers
      expect(authorization).toBe(`Bearer ${FAKE_KEY}`)
      expectNoKey(JSON.stringify([path, others]))
    }
  })

  it.each(['http/json', 'http/protobuf'])('traces by %s - key in no byte', async (protocol) => {
    const collector = await startTraceCollector()
    const parts = { clock: createFakeClock(0), logger: createLogger({ level: 'silent' }) }
    const tracing = await startTestTracing(parts, {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
    })
    const harness = await startHarness({ over: { tracing } })
    const app = tracing?.traceRequests(harness.app, 'https://widgets.example') ?? harness.app
    const paths = [...PATHS, `/${FAKE_KEY}`, `/${FAKE_KEY}?${FAKE_KEY}`]
    for (const [, respond] of selectCases(Object.values(FAULTS))) {
      harness.catalog.fault = { pathPattern: /./, respond }
      await collectResponses({ ...harness, app }, { paths })
      harness.clock.advance(2 * DAY_MS)
    }
    expect(await tracing?.stop()).toBe(true)
    expect(collector.text()).toContain('error.type')
    expectNoKey(collector.text())
  })

  it('leaked key - the check of these tests fails', () => {
    expect(() => expectNoKey(`x ${FAKE_KEY} x`)).toThrow(/expected/)
    expect(() => expectNoKey(printError(new Error('a', { cause: new Error(FAKE_KEY) })))).toThrow(/expected/)
    const error = Object.assign(new Error('a'), { response: { headers: [FAKE_KEY] } })
    expect(() => expectNoKey(printError(error))).toThrow(/expected/)
  })
})
