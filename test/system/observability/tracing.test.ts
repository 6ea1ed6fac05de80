import { get } from 'node:http'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import type { Environment } from '../../../src/config/config.ts'
import { makeFolder, startBuilt, startRemoteCatalog } from '../../cli/run-cli.ts'
import { CHANNEL_ID, FAKE_KEY, makeWireProduct } from '../../helpers/fake-catalog.ts'
import { startTraceCollector } from '../../helpers/trace-collector.ts'

const GTIN = '09521234567899'
const TRACE_ID = '0af7651916cd43dd8448eb211c80319c'
const TRACEPARENT = `00-${TRACE_ID}-b7ad6b7169203331-01`
const LOG_MODULES = fileURLToPath(new URL('log-modules.mjs', import.meta.url))

/** Start a built server whose catalog has a product that is not copied yet. */
async function startServer(environment: Environment) {
  const { catalog, settings } = await startRemoteCatalog(makeFolder())
  catalog.products.set(CHANNEL_ID, [makeWireProduct()])
  const running = startBuilt(['serve', '--json'], {
    ...settings,
    VITRINE_SYNC_CRON: 'off',
    VITRINE_LOG_LEVEL: 'info',
    ...environment,
  })
  const { publicUrl } = JSON.parse(await running.firstLine) as { publicUrl: string }
  const fetchBox = async (): Promise<unknown> => {
    const address = `${publicUrl}/fragments/${CHANNEL_ID}/where-to-buy/${GTIN}`
    const [response] = await once(
      get(address, { headers: { traceparent: TRACEPARENT }, agent: false }),
      'response',
    )
    response.resume()
    return response.headers['vitrine-state']
  }
  return { running, catalog, fetchBox }
}

const toExport = (url: string): Environment => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: url,
  OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  OTEL_SERVICE_NAME: 'boxes',
})

test.each(['1', '2'])(
  '%s process - exports one trace per request when it stops, without the key',
  async (workers) => {
    const collector = await startTraceCollector()
    const environment = { ...toExport(collector.url), VITRINE_WORKERS: workers }
    const { running, catalog, fetchBox } = await startServer(environment)
    expect(await fetchBox()).toBe('shown')
    expect(await running.stop('SIGINT')).toEqual({ code: 0 })
    const spans = collector.spans()
    const server = spans.find(({ kind }) => kind === 'server')
    expect(server).toMatchObject({ traceId: TRACE_ID, parentSpanId: 'b7ad6b7169203331' })
    expect(server).toMatchObject({
      attributes: { 'vitrine.cache': 'miss' },
      resource: { 'service.name': 'boxes' },
    })
    const calls = spans.filter(({ parentSpanId }) => parentSpanId === server?.spanId)
    expect(calls.map(({ attributes }) => attributes['url.full'])).toContain(
      `${catalog.url}/v0/channels/${CHANNEL_ID}/products/${GTIN}`,
    )
    expect(calls.every(({ kind, traceId }) => kind === 'client' && traceId === TRACE_ID)).toBe(true)
    expect(collector.text()).not.toContain(FAKE_KEY)
    expect(running.output()).not.toContain(FAKE_KEY)
  },
)

test.each(['refuses connections', 'never responds'])(
  'collector %s - boxes are shown, the log has at most one line about it, the server stops in time',
  async (fault) => {
    const collector = await startTraceCollector(() => {})
    if (fault === 'refuses connections') await collector.close()
    const environment = { ...toExport(collector.url), OTEL_BSP_SCHEDULE_DELAY: '10' }
    const { running, fetchBox } = await startServer(environment)
    for (let count = 0; count < 20; count += 1) expect(await fetchBox()).toBe('shown')
    expect(await running.stop('SIGTERM')).toEqual({ code: 0 })
    const lines = running.output().split('\n')
    expect(lines.filter((line) => line.includes('traces')).length).toBeLessThanOrEqual(1)
  },
)

test('without OTEL_ settings - the OpenTelemetry code is not loaded', async () => {
  const options = { NODE_OPTIONS: `--import ${LOG_MODULES}` }
  const off = await startServer(options)
  expect(await off.fetchBox()).toBe('shown')
  await off.running.stop('SIGINT')
  expect(off.running.output()).toContain('/observability/tracing.js')
  expect(off.running.output()).not.toContain('opentelemetry')

  const collector = await startTraceCollector()
  const on = await startServer({ ...options, ...toExport(collector.url) })
  await on.running.stop('SIGINT')
  expect(on.running.output()).toContain('/observability/opentelemetry.js')
})
