import { once } from 'node:events'
import { type IncomingMessage, request as httpRequest } from 'node:http'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createCatalogService } from '../../src/catalog-service/service.ts'
import { DAY_MS, SECOND_MS } from '../../src/clock.ts'
import { Secret } from '../../src/config/secrets.ts'
import { toGtin } from '../helpers/products.ts'
import { type StoreUnderTest, addApiKey, importRows, createProduct, openTestStore } from './harness.ts'
import { getReader, getUsage } from './store-handles.ts'

type ReceivedResponse = Readonly<{
  status: number
  headers: Readonly<Record<string, string | string[] | undefined>>
  body: Buffer
}>
type RequestOptions = Readonly<{ method?: string; headers?: Readonly<Record<string, string>> }>

type StandaloneService = StoreUnderTest & {
  url: string
  key: string
  channelId: string
  lines: Record<string, unknown>[]
  /** Send a request without decompressing the response. */
  visit(path: string, options?: RequestOptions): Promise<ReceivedResponse>
  /** Like `visit`, with the API key. */
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<ReceivedResponse>
}

/** Start a service as `catalog serve` does, with enough products for a long page. */
async function startStandalone(
  options: Readonly<{ password?: string; isLocal?: boolean; isStandalone?: boolean }> = {},
): Promise<StandaloneService> {
  const fixture = await openTestStore()
  const rows = Array.from({ length: 20 }, (_, index) => createProduct(toGtin(index + 1)))
  const { channelId } = await importRows(fixture, rows)
  const { key } = await addApiKey(fixture.store, 'test')
  const lines: Record<string, unknown>[] = []
  const standalone = {
    adminPassword: options.password === undefined ? null : new Secret(options.password),
    isLocal: options.isLocal ?? true,
    priceMaxAgeSeconds: 86_400,
    logger: { info: (fields: object, message: string) => void lines.push({ ...fields, message }) },
  }
  const service = createCatalogService({
    store: fixture.store,
    logger: { error: () => undefined },
    ...(options.isStandalone !== false && { standalone }),
  })
  const { url } = await service.listen('127.0.0.1', 0)
  onTestFinished(() => service.close())
  const visit = (path: string, options: RequestOptions = {}): Promise<ReceivedResponse> =>
    send(url + path, options)
  const get: StandaloneService['get'] = (path, headers = {}) =>
    visit(path, { headers: { Authorization: `Bearer ${key}`, ...headers } })
  return { ...fixture, url, key, channelId, lines, visit, get }
}

async function send(
  url: string,
  { method = 'GET', headers = {} }: RequestOptions,
): Promise<ReceivedResponse> {
  const sent = httpRequest(url, { method, headers, agent: false }).end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  return { status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }
}

const readJson = ({ body }: ReceivedResponse): unknown => JSON.parse(body.toString('utf8'))
const toBasicAuth = (password: string): { headers: Record<string, string> } => ({
  headers: { Authorization: `Basic ${Buffer.from(`admin:${password}`).toString('base64')}` },
})

describe('health and metrics endpoints', () => {
  it('healthz and readyz - no key - 200, not cached and not counted', async () => {
    const fixture = await startStandalone()
    for (const path of ['/healthz', '/readyz', '/healthz?x=1']) {
      const response = await fixture.visit(path)
      expect([response.status, response.headers['cache-control']]).toEqual([200, 'no-store'])
    }
    expect(await (await getUsage(fixture.store)).selectFrom('usage').selectAll().execute()).toEqual([])
    expect(fixture.lines).toEqual([])
  })

  it('readyz - database closed - 503 with the reason; healthz stays 200', async () => {
    const fixture = await startStandalone()
    await fixture.store.close()
    const response = await fixture.visit('/readyz')
    expect([response.status, readJson(response)]).toEqual([
      503,
      { ready: false, error: 'the database cannot be read' },
    ])
    expect((await fixture.visit('/healthz')).status).toBe(200)
  })

  it('metrics - on loopback without a password - responses by operation and status', async () => {
    const fixture = await startStandalone()
    await fixture.get('/v0/channels')
    await fixture.get(`/v0/channels/${fixture.channelId}/products/99999999999994`)
    await fixture.visit('/v0/channels')
    await fixture.visit('/anything/else')
    await vi.waitFor(() => expect(fixture.lines).toHaveLength(4))
    const response = await fixture.visit('/metrics')
    expect(response.headers['content-type']).toMatch(/^text\/plain/)
    const text = response.body.toString('utf8')
    expect(text.match(/^vitrine_catalog_service_responses_total\{.*$/gm)?.toSorted()).toEqual([
      'vitrine_catalog_service_responses_total{operation="getProduct",status="404"} 1',
      'vitrine_catalog_service_responses_total{operation="listChannels",status="200"} 1',
      'vitrine_catalog_service_responses_total{operation="listChannels",status="401"} 1',
      'vitrine_catalog_service_responses_total{operation="other",status="401"} 1',
    ])
    expect(text.match(/(?<=^# TYPE )vitrine_.*$/gm)).toEqual([
      'vitrine_catalog_service_responses_total counter',
      'vitrine_catalog_service_response_seconds histogram',
      'vitrine_feed_age_seconds gauge',
      'vitrine_feed_failing gauge',
      'vitrine_feed_offers gauge',
    ])
  })

  it('feeds - their age, failures and offers in the metrics, 40 days after an import too', async () => {
    const fixture = await startStandalone()
    const readGauges = async (): Promise<readonly string[]> => {
      const { body } = await fixture.visit('/metrics')
      return [...body.toString('utf8').matchAll(/^vitrine_feed_.*$/gm)].map(String)
    }
    const expected = ['vitrine_feed_failing{feed="feed"} 0', 'vitrine_feed_offers{feed="feed"} 20']
    expect(await readGauges()).toEqual(['vitrine_feed_age_seconds{feed="feed"} 0', ...expected])
    fixture.clock.advance(40 * DAY_MS)
    expect(await readGauges()).toEqual(['vitrine_feed_age_seconds{feed="feed"} 3456000', ...expected])
  })

  it('feeds, while the database cannot be read - keep their values, so that alerts on them do not end', async () => {
    const fixture = await startStandalone()
    const readGauges = async (): Promise<readonly string[]> =>
      (await fixture.visit('/metrics')).body.toString('utf8').match(/^vitrine_feed_.*$/gm) ?? []
    const before = await readGauges()
    expect(before).toHaveLength(3)
    await fixture.store.close()
    expect(await readGauges()).toEqual(before)
  })

  it('readyz, with the admin password - the state of the feeds', async () => {
    const fixture = await startStandalone({ password: 'correct' })
    expect(readJson(await fixture.visit('/readyz'))).not.toHaveProperty('detail')
    expect(readJson(await fixture.visit('/readyz', toBasicAuth('correct')))).toMatchObject({
      ready: true,
      detail: { feeds: [{ name: 'feed', status: 'ok', offers: 20 }] },
    })
  })

  it.each([
    ['not on loopback', false, {}],
    ['through a proxy', true, { 'X-Forwarded-For': '192.0.2.1' }],
    ['by another host name', true, { Host: 'rebound.example' }],
  ])('metrics - no password, %s - 404', async (_how, isLocal, headers) => {
    const fixture = await startStandalone({ isLocal })
    const response = await fixture.visit('/metrics', { headers })
    expect([response.status, readJson(response)]).toEqual([404, { error: 'there is no such address' }])
  })

  it('metrics - with a password - required; ten wrong ones lock the client address, requests without one never do', async () => {
    const fixture = await startStandalone({ password: 'correct', isLocal: false })
    for (let tries = 0; tries < 30; tries += 1) expect((await fixture.visit('/metrics')).status).toBe(401)
    const right = await fixture.visit('/metrics', toBasicAuth('correct'))
    expect(right.status).toBe(200)
    for (let tries = 0; tries < 10; tries += 1)
      expect((await fixture.visit('/metrics', toBasicAuth('wrong'))).status).toBe(401)
    const locked = await fixture.visit('/metrics', toBasicAuth('correct'))
    expect([locked.status, locked.headers['retry-after']]).toEqual([429, '900'])
    expect((await fixture.visit('/readyz')).status).toBe(200)
  })

  it('any endpoint - another method - 405 with Allow', async () => {
    const fixture = await startStandalone()
    const response = await fixture.visit('/healthz', { method: 'POST' })
    expect([response.status, response.headers.allow]).toEqual([405, 'GET, HEAD'])
    expect((await fixture.visit('/healthz', { method: 'HEAD' })).body).toHaveLength(0)
  })

  it('embedded - has no such endpoints', async () => {
    const fixture = await startStandalone({ isStandalone: false })
    for (const path of ['/healthz', '/readyz', '/metrics'])
      expect((await fixture.visit(path)).status).toBe(401)
  })
})

describe('request log', () => {
  it('request - one line with method, path without query, status, time and organization, never the key', async () => {
    const fixture = await startStandalone()
    await fixture.get(`/v0/channels?secret=${fixture.key}`)
    await fixture.visit(`/v0/${fixture.key}`)
    await vi.waitFor(() => expect(fixture.lines).toHaveLength(2))
    const { id } = await (
      await getReader(fixture.store)
    )
      .selectFrom('organizations')
      .select('id')
      .executeTakeFirstOrThrow()
    expect(fixture.lines).toEqual([
      {
        method: 'GET',
        path: '/v0/channels',
        status: 200,
        durationMs: expect.any(Number),
        organizationId: id,
        message: 'request completed',
      },
      { method: 'GET', path: '/v0/[redacted]', status: 401, durationMs: 0, message: 'request completed' },
    ])
    expect(JSON.stringify(fixture.lines)).not.toContain(fixture.key)
  })

  it('many requests - at most fifty lines a second, and the next one has the number of suppressed lines', async () => {
    const fixture = await startStandalone()
    for (let count = 0; count < 60; count += 1) await fixture.visit('/v0/channels')
    fixture.clock.advance(SECOND_MS)
    await fixture.visit('/v0/channels')
    await vi.waitFor(() => expect(fixture.lines).toHaveLength(51))
    expect(fixture.lines.at(-1)).toMatchObject({ leftOut: 10 })
  })
})

describe('compression', () => {
  const DECODERS = { br: brotliDecompressSync, gzip: gunzipSync }

  it.each([
    ['gzip, br', 'br'],
    ['gzip', 'gzip'],
    ['br;q=0, gzip', 'gzip'],
  ] as const)('long response - Accept-Encoding: %s - %s, with its own ETag', async (accepted, encoding) => {
    const fixture = await startStandalone()
    const path = `/v0/channels/${fixture.channelId}/products`
    const plain = await fixture.get(path)
    const response = await fixture.get(path, { 'Accept-Encoding': accepted })
    expect(response.headers).toMatchObject({
      'content-encoding': encoding,
      'content-length': String(response.body.length),
      vary: 'Authorization, Accept-Encoding',
      'cache-control': 'private, max-age=300',
    })
    expect(DECODERS[encoding](response.body)).toEqual(plain.body)
    expect(response.body.length).toBeLessThan(plain.body.length / 2)
    expect(response.headers['etag']).not.toBe(plain.headers['etag'])
    const head = await fixture.visit(path, {
      method: 'HEAD',
      headers: { Authorization: `Bearer ${fixture.key}`, 'Accept-Encoding': accepted },
    })
    expect([head.headers['content-length'], head.body.length]).toEqual([String(response.body.length), 0])
  })

  it('ETag of one encoding - same encoding - 304; another one - the whole response', async () => {
    const fixture = await startStandalone()
    const path = `/v0/channels/${fixture.channelId}/products`
    const response = await fixture.get(path, { 'Accept-Encoding': 'br' })
    const etag = String(response.headers['etag'])
    const same = await fixture.get(path, { 'Accept-Encoding': 'br', 'If-None-Match': etag })
    expect([same.status, same.headers['etag'], same.headers['content-encoding'], same.body.length]).toEqual([
      304,
      etag,
      undefined,
      0,
    ])
    expect((await fixture.get(path, { 'If-None-Match': etag })).status).toBe(200)
  })

  it('short response, or no Accept-Encoding - not compressed', async () => {
    const fixture = await startStandalone()
    const short = await fixture.get('/v0/channels', { 'Accept-Encoding': 'gzip, br' })
    const plain = await fixture.get(`/v0/channels/${fixture.channelId}/products`)
    for (const { headers } of [short, plain]) {
      expect(headers['content-encoding']).toBeUndefined()
      expect(headers['vary']).toBe('Authorization, Accept-Encoding')
    }
  })

  it('embedded - never compressed: its clients are on the same machine', async () => {
    const fixture = await startStandalone({ isStandalone: false })
    const response = await fixture.get(`/v0/channels/${fixture.channelId}/products`, {
      'Accept-Encoding': 'gzip, br',
    })
    expect(response.headers['content-encoding']).toBeUndefined()
  })
})
