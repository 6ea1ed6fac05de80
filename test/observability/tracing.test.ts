import { describe, expect, it } from 'vitest'
import { MINUTE_MS } from '../../src/clock.ts'
import { createLogger } from '../../src/observability/logger.ts'
import type { Tracing } from '../../src/observability/opentelemetry.ts'
import { BOX, GRID, fetchPath, makeProductOnSale, startHarness } from '../app/app-client.ts'
import { addCleanup } from '../helpers/cleanup.ts'
import { CHANNEL_ID, FAKE_KEY } from '../helpers/fake-catalog.ts'
import { createFakeClock } from '../helpers/fake-clock.ts'
import type { Harness } from '../helpers/harness.ts'
import {
  type ReceivedSpan,
  type TraceCollector,
  startTestTracing,
  startTraceCollector,
} from '../helpers/trace-collector.ts'

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c'
const TRACEPARENT = `00-${TRACE_ID}-b7ad6b7169203331-01`

function createParts() {
  const lines: string[] = []
  const logger = createLogger({ level: 'trace', stream: { write: (line) => void lines.push(line) } })
  return { clock: createFakeClock(Date.UTC(2026, 10, 26)), logger, logs: () => lines.join('') }
}

/** A traced server with a fake catalog, and the collector of its spans. */
async function startTraced(
  settings: Readonly<Record<string, string>> = {},
  publicUrl = 'https://widgets.example',
) {
  const collector = await startTraceCollector()
  const parts = createParts()
  const environment = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    ...settings,
  }
  const tracing = (await startTestTracing(parts, environment)) as Tracing
  const harness = await startHarness({ over: { tracing, publicUrl } })
  const app = tracing.traceRequests(harness.app, publicUrl)
  return { ...harness, app, collector, tracing }
}

/** Return the spans of a server that is stopped. */
async function collectSpans(tracing: Tracing, collector: TraceCollector): Promise<readonly ReceivedSpan[]> {
  expect(await tracing.stop()).toBe(true)
  return collector.spans()
}

const stock = ({ catalog }: Pick<Harness, 'catalog'>): void =>
  void catalog.products.set(CHANNEL_ID, [makeProductOnSale()])

describe('settings', () => {
  it.each<[string, Record<string, string>]>([
    ['none', {}],
    ['only a name', { OTEL_SERVICE_NAME: 'boxes' }],
    ['empty endpoint', { OTEL_EXPORTER_OTLP_ENDPOINT: '' }],
    ['disabled', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_SDK_DISABLED: 'TRUE' }],
    ['no exporter', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_TRACES_EXPORTER: 'none' }],
  ])('%s - tracing is off, and nothing is logged', async (_name, environment) => {
    const parts = createParts()
    expect(await startTestTracing(parts, environment)).toBeNull()
    expect(parts.logs()).toBe('')
  })

  it.each<[string, Record<string, string>]>([
    ['OTEL_TRACES_EXPORTER', { OTEL_TRACES_EXPORTER: 'secret-value' }],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', { OTEL_EXPORTER_OTLP_ENDPOINT: 'secret-value:4317' }],
    ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'secret-value' }],
    [
      'OTEL_EXPORTER_OTLP_PROTOCOL',
      { OTEL_TRACES_EXPORTER: 'otlp', OTEL_EXPORTER_OTLP_PROTOCOL: 'secret-value' },
    ],
  ])(
    'unusable %s - tracing is off, and one warning names it without its value',
    async (name, environment) => {
      const parts = createParts()
      expect(await startTestTracing(parts, environment)).toBeNull()
      expect(parts.logs().trim().split('\n')).toHaveLength(1)
      expect(parts.logs()).toContain(name)
      expect(parts.logs()).not.toContain('secret-value')
    },
  )

  it('unknown sampler - traces are on, and a warning names it', async () => {
    const parts = createParts()
    const environment = { OTEL_TRACES_EXPORTER: 'otlp', OTEL_TRACES_SAMPLER: 'sometimes' }
    const tracing = await startTestTracing(parts, environment)
    addCleanup(() => tracing?.stop())
    expect(tracing).not.toBeNull()
    expect(parts.logs()).toContain('OTEL_TRACES_SAMPLER')
  })

  it('names, attributes and headers of the standard variables - are used, and the key of the collector is redacted', async () => {
    const { app, collector, tracing, ...harness } = await startTraced({
      OTEL_SERVICE_NAME: 'boxes',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
      OTEL_EXPORTER_OTLP_HEADERS: 'x-api-key=collector-secret',
    })
    await fetchPath({ app }, GRID)
    harness.context.logger.info({ text: 'collector-secret' })
    const [span] = await collectSpans(tracing, collector)
    expect(span?.resource).toMatchObject({
      'service.name': 'boxes',
      'service.version': expect.stringMatching(/^\d/) as string,
      'deployment.environment.name': 'test',
    })
    expect(harness.logs()).not.toContain('collector-secret')
  })

  it('encoded credentials and other headers - only the credentials are redacted', async () => {
    const parts = createParts()
    const tracing = await startTestTracing(parts, {
      OTEL_TRACES_EXPORTER: 'otlp',
      OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=boutique,Authorization=Bearer%20s3cret-of-it',
    })
    addCleanup(() => tracing?.stop())
    parts.logger.info({ text: 'boutique: Bearer s3cret-of-it, then s3cret-of-it' })
    expect(parts.logs()).toContain('boutique')
    expect(parts.logs()).not.toContain('s3cret')
  })

  it('sampler that never samples - no span is exported', async () => {
    const { app, collector, tracing } = await startTraced({ OTEL_TRACES_SAMPLER: 'always_off' })
    expect((await fetchPath({ app }, BOX, { traceparent: TRACEPARENT })).status).toBe(200)
    expect(await collectSpans(tracing, collector)).toEqual([])
  })

  it('default protocol - exports protobuf', async () => {
    const { app, collector, tracing } = await startTraced({ OTEL_EXPORTER_OTLP_PROTOCOL: '' })
    await fetchPath({ app }, BOX)
    expect(await tracing.stop()).toBe(true)
    expect(collector.exports).toEqual(['/v1/traces application/x-protobuf'])
    expect(collector.text()).toContain('GET /fragments/:channel/where-to-buy')
  })
})

describe('a request', () => {
  it('first request of a product - one trace: the server span continues that of the proxy, with the catalog calls as children', async () => {
    const { app, collector, tracing, catalog, ...harness } = await startTraced()
    stock({ catalog })
    await fetchPath({ app }, `${BOX}?limit=2`, { traceparent: TRACEPARENT })
    await harness.context.waitForWrites()
    const spans = await collectSpans(tracing, collector)
    const server = spans.find(({ kind }) => kind === 'server')
    expect(server).toMatchObject({ name: 'GET /fragments/:channel/where-to-buy', isError: false })
    expect(server).toMatchObject({ traceId: TRACE_ID, parentSpanId: 'b7ad6b7169203331' })
    expect(server?.attributes).toEqual({
      'http.request.method': 'GET',
      'http.response.status_code': 200,
      'http.route': '/fragments/:channel/where-to-buy',
      'server.address': 'widgets.example',
      'url.path': BOX,
      'url.scheme': 'https',
      'vitrine.cache': 'miss',
    })
    const call = spans.find(({ name }) => name === 'GET /v0/channels/{channelId}/products/{gtin}')
    expect(call).toMatchObject({ kind: 'client', traceId: TRACE_ID, parentSpanId: server?.spanId })
    expect(call?.attributes).toEqual({
      'http.request.method': 'GET',
      'http.response.status_code': 200,
      'server.address': '127.0.0.1',
      'server.port': Number(new URL(catalog.url).port),
      'url.full': `${catalog.url}/v0/channels/${CHANNEL_ID}/products/09521234567899`,
      'url.template': '/v0/channels/{channelId}/products/{gtin}',
    })
    expect(catalog.calls.flatMap(({ headers }) => Object.keys(headers))).not.toContain('traceparent')
  })

  it('second request - is a hit without a call', async () => {
    const { app, collector, tracing, catalog } = await startTraced()
    stock({ catalog })
    await fetchPath({ app }, BOX)
    await fetchPath({ app }, BOX, { traceparent: TRACEPARENT })
    const spans = (await collectSpans(tracing, collector)).filter(({ traceId }) => traceId === TRACE_ID)
    expect(spans).toMatchObject([{ kind: 'server', attributes: { 'vitrine.cache': 'hit' } }])
  })

  it('failing catalog - the call is an error with its code, the response is not', async () => {
    const { app, collector, tracing, catalog } = await startTraced()
    catalog.fault = { pathPattern: /./, respond: (_call, response) => void response.writeHead(401).end() }
    await fetchPath({ app }, BOX, { traceparent: TRACEPARENT })
    const spans = await collectSpans(tracing, collector)
    expect(spans.filter(({ kind }) => kind === 'client')).toMatchObject([
      {
        isError: true,
        attributes: { 'error.type': 'VITRINE_CATALOG_KEY_REFUSED', 'http.response.status_code': 401 },
      },
    ])
    expect(spans.filter(({ kind }) => kind === 'server')).toMatchObject([{ isError: false }])
  })

  it('data of the visitor, baggage, secrets in the address - are not in the trace', async () => {
    const { app, collector, tracing } = await startTraced()
    const marked = { 'User-Agent': 'marked-agent', Referer: 'https://marked.example/', Cookie: 'marked=1' }
    const context = { traceparent: TRACEPARENT, tracestate: 'marked=1', baggage: 'marked=1' }
    await fetchPath({ app }, `${BOX}?marked=1`, { ...marked, ...context, 'X-Forwarded-For': '192.0.2.77' })
    await fetchPath({ app }, `/nonsense/${FAKE_KEY}`)
    const names = (await collectSpans(tracing, collector)).map(({ attributes }) => attributes['url.path'])
    expect(names).toEqual(expect.arrayContaining([BOX, '/nonsense/[redacted]']))
    expect(collector.text()).not.toMatch(/marked|192\.0\.2\.77/)
  })

  it('long address of a visitor - is cut in the trace', async () => {
    const { app, collector, tracing } = await startTraced()
    await fetchPath({ app }, `/nonsense/${'x'.repeat(4_000)}`)
    const [span] = await collectSpans(tracing, collector)
    expect(span?.attributes['url.path']).toBe(`/nonsense/${'x'.repeat(4_000)}`.slice(0, 256))
    expect(collector.text()).not.toContain('x'.repeat(257))
  })

  it('health checks - are not traced', async () => {
    const { app, collector, tracing } = await startTraced()
    for (const path of ['/healthz', '/readyz?x', '/metrics']) await fetchPath({ app }, path)
    const spans = await collectSpans(tracing, collector)
    expect(spans.filter(({ kind }) => kind === 'server')).toEqual([])
  })

  it.each(['', '/shop'])(
    'public address with a path, requests with the prefix "%s" - the route is known',
    async (prefix) => {
      const { app, collector, tracing, catalog } = await startTraced({}, 'https://widgets.example/shop')
      stock({ catalog })
      for (const path of [BOX, BOX, BOX.replace('/fragments', '/Fragments'), '/healthz', '/HEALTHZ'])
        await fetchPath({ app }, `${prefix}${path}`)
      const spans = await collectSpans(tracing, collector)
      expect(spans.filter(({ kind }) => kind === 'server').map(({ name }) => name)).toEqual(
        Array.from({ length: 3 }, () => 'GET /fragments/:channel/where-to-buy'),
      )
    },
  )

  it('malformed traceparent - a new trace begins', async () => {
    const { app, collector, tracing } = await startTraced()
    await fetchPath({ app }, BOX, { traceparent: `00-${'0'.repeat(32)}-b7ad6b7169203331-01` })
    const server = (await collectSpans(tracing, collector)).find(({ kind }) => kind === 'server')
    expect(server?.traceId).toMatch(/[1-9a-f]/)
    expect(server?.parentSpanId ?? '').toBe('')
  })
})

describe('the collector', () => {
  it('refuses exports - one warning in ten minutes, without its response', async () => {
    const collector = await startTraceCollector(
      (response) => void response.writeHead(400, 'secret-reply').end('secret-reply'),
    )
    const parts = createParts()
    const tracing = (await startTestTracing(parts, {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_BSP_SCHEDULE_DELAY: '1',
    })) as Tracing
    const call = { url: 'http://127.0.0.1/v0/channels', template: '/v0/channels' }
    const exportOnce = async (count: number): Promise<void> => {
      await tracing.traceCall(call, () => Promise.resolve())
      await expect.poll(() => collector.exports.length).toBe(count)
    }
    await exportOnce(1)
    await exportOnce(2)
    await expect.poll(() => parts.logs()).toContain('"reason":"400"')
    parts.clock.advance(11 * MINUTE_MS)
    await exportOnce(3)
    await expect.poll(() => parts.logs().trim().split('\n')).toHaveLength(2)
    expect(parts.logs()).not.toContain('secret-reply')
    await tracing.stop()
  })

  it('does not respond - the stop gives up after a second', async () => {
    const collector = await startTraceCollector(() => {})
    const parts = createParts()
    const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }
    const tracing = (await startTestTracing(parts, environment)) as Tracing
    await tracing.traceCall({ url: collector.url, template: '/v0/channels' }, () => Promise.resolve())
    const stopped = tracing.stop()
    await expect.poll(() => collector.exports.length).toBe(1)
    parts.clock.advance(1_000)
    expect(await stopped).toBe(false)
  })
})
