import { once } from 'node:events'
import { type IncomingMessage, request as httpRequest } from 'node:http'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createCatalogService } from '../../src/catalog-service/service.ts'
import { SECOND_MS } from '../../src/clock.ts'
import { Secret } from '../../src/config/secrets.ts'
import { toGtin } from '../helpers/products.ts'
import { type StoreUnderTest, addApiKey, importRows, makeProduct, openTestStore } from './harness.ts'

type Seen = Readonly<{
  status: number
  headers: Readonly<Record<string, string | string[] | undefined>>
  body: Buffer
}>
type Asked = Readonly<{ method?: string; headers?: Readonly<Record<string, string>> }>

type Alone = StoreUnderTest & {
  url: string
  key: string
  channelId: string
  lines: Record<string, unknown>[]
  /** As it travels: nothing is decompressed. */
  visit(path: string, asked?: Asked): Promise<Seen>
  /** The same with the API key. */
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Seen>
}

/** A service as `catalog serve` makes it, with enough products for a long page. */
async function startAlone(
  options: Readonly<{ password?: string; isLocal?: boolean; isAlone?: boolean }> = {},
): Promise<Alone> {
  const under = await openTestStore()
  const rows = Array.from({ length: 20 }, (_, index) => makeProduct(toGtin(index + 1)))
  const { channelId } = await importRows(under, rows)
  const { key } = await addApiKey(under.store, 'test')
  const lines: Record<string, unknown>[] = []
  const alone = {
    adminPassword: options.password === undefined ? null : new Secret(options.password),
    isLocal: options.isLocal ?? true,
    logger: { info: (fields: object, words: string) => void lines.push({ ...fields, words }) },
  }
  const service = createCatalogService({
    store: under.store,
    logger: { error: () => undefined },
    ...(options.isAlone !== false && { alone }),
  })
  const { url } = await service.listen('127.0.0.1', 0)
  onTestFinished(() => service.close())
  const visit = (path: string, asked: Asked = {}): Promise<Seen> => send(url + path, asked)
  const get: Alone['get'] = (path, headers = {}) =>
    visit(path, { headers: { Authorization: `Bearer ${key}`, ...headers } })
  return { ...under, url, key, channelId, lines, visit, get }
}

async function send(url: string, { method = 'GET', headers = {} }: Asked): Promise<Seen> {
  const sent = httpRequest(url, { method, headers, agent: false }).end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  return { status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }
}

const readJson = ({ body }: Seen): unknown => JSON.parse(body.toString('utf8'))
const toBasic = (password: string): { headers: Record<string, string> } => ({
  headers: { Authorization: `Basic ${Buffer.from(`admin:${password}`).toString('base64')}` },
})

describe('pages for the operator', () => {
  it('healthz and readyz - no key - 200, not kept, and no request of anybody', async () => {
    const under = await startAlone()
    for (const path of ['/healthz', '/readyz', '/healthz?x=1']) {
      const seen = await under.visit(path)
      expect([seen.status, seen.headers['cache-control']]).toEqual([200, 'no-store'])
    }
    expect(await under.store.usage.selectFrom('usage').selectAll().execute()).toEqual([])
    expect(under.lines).toEqual([])
  })

  it('readyz - the database is gone - 503 with the reason; healthz stays 200', async () => {
    const under = await startAlone()
    await under.store.close()
    const seen = await under.visit('/readyz')
    expect([seen.status, readJson(seen)]).toEqual([
      503,
      { ready: false, error: 'the database cannot be read' },
    ])
    expect((await under.visit('/healthz')).status).toBe(200)
  })

  it('metrics - on loopback without a password - responses by operation and status', async () => {
    const under = await startAlone()
    await under.get('/v0/channels')
    await under.get(`/v0/channels/${under.channelId}/products/99999999999994`)
    await under.visit('/v0/channels')
    await under.visit('/anything/else')
    await vi.waitFor(() => expect(under.lines).toHaveLength(4))
    const seen = await under.visit('/metrics')
    expect(seen.headers['content-type']).toMatch(/^text\/plain/)
    const text = seen.body.toString('utf8')
    expect(text.match(/^vitrine_catalog_service_responses_total\{.*$/gm)?.toSorted()).toEqual([
      'vitrine_catalog_service_responses_total{operation="getProduct",status="404"} 1',
      'vitrine_catalog_service_responses_total{operation="listChannels",status="200"} 1',
      'vitrine_catalog_service_responses_total{operation="listChannels",status="401"} 1',
      'vitrine_catalog_service_responses_total{operation="other",status="401"} 1',
    ])
    expect(text).toContain('vitrine_catalog_service_response_seconds_bucket')
  })

  it.each([
    ['not on loopback', false, {}],
    ['through a proxy', true, { 'X-Forwarded-For': '192.0.2.1' }],
    ['by another name', true, { Host: 'rebound.example' }],
  ])('metrics - no password, %s - do not exist', async (_how, isLocal, headers) => {
    const under = await startAlone({ isLocal })
    const seen = await under.visit('/metrics', { headers })
    expect([seen.status, readJson(seen)]).toEqual([404, { error: 'there is no such address' }])
  })

  it('metrics - with a password - for it alone; ten wrong ones lock the address, requests without one never do', async () => {
    const under = await startAlone({ password: 'correct', isLocal: false })
    for (let tries = 0; tries < 30; tries += 1) expect((await under.visit('/metrics')).status).toBe(401)
    const right = await under.visit('/metrics', toBasic('correct'))
    expect(right.status).toBe(200)
    for (let tries = 0; tries < 10; tries += 1)
      expect((await under.visit('/metrics', toBasic('wrong'))).status).toBe(401)
    const locked = await under.visit('/metrics', toBasic('correct'))
    expect([locked.status, locked.headers['retry-after']]).toEqual([429, '900'])
    expect((await under.visit('/readyz')).status).toBe(200)
  })

  it('any of them - another method - 405 with Allow', async () => {
    const under = await startAlone()
    const seen = await under.visit('/healthz', { method: 'POST' })
    expect([seen.status, seen.headers.allow]).toEqual([405, 'GET, HEAD'])
    expect((await under.visit('/healthz', { method: 'HEAD' })).body).toHaveLength(0)
  })

  it('embedded - has none of them', async () => {
    const under = await startAlone({ isAlone: false })
    for (const path of ['/healthz', '/readyz', '/metrics']) expect((await under.visit(path)).status).toBe(401)
  })
})

describe('request log', () => {
  it('request - one line: method, path without its query, status, time, whose it is - and never the key', async () => {
    const under = await startAlone()
    await under.get(`/v0/channels?secret=${under.key}`)
    await under.visit(`/v0/${under.key}`)
    await vi.waitFor(() => expect(under.lines).toHaveLength(2))
    const { id } = await under.store.reader.selectFrom('organizations').select('id').executeTakeFirstOrThrow()
    expect(under.lines).toEqual([
      {
        method: 'GET',
        path: '/v0/channels',
        status: 200,
        durationMs: expect.any(Number),
        organizationId: id,
        words: 'request answered',
      },
      { method: 'GET', path: '/v0/[redacted]', status: 401, durationMs: 0, words: 'request answered' },
    ])
    expect(JSON.stringify(under.lines)).not.toContain(under.key)
  })

  it('flood - at most fifty lines a second, and the next one says how many were left out', async () => {
    const under = await startAlone()
    for (let count = 0; count < 60; count += 1) await under.visit('/v0/channels')
    under.clock.advance(SECOND_MS)
    await under.visit('/v0/channels')
    await vi.waitFor(() => expect(under.lines).toHaveLength(51))
    expect(under.lines.at(-1)).toMatchObject({ leftOut: 10 })
  })
})

describe('compression', () => {
  const DECODERS = { br: brotliDecompressSync, gzip: gunzipSync }

  it.each([
    ['gzip, br', 'br'],
    ['gzip', 'gzip'],
    ['br;q=0, gzip', 'gzip'],
  ] as const)(
    'long answer - Accept-Encoding: %s - %s, with a validator of its own',
    async (accepted, encoding) => {
      const under = await startAlone()
      const path = `/v0/channels/${under.channelId}/products`
      const plain = await under.get(path)
      const seen = await under.get(path, { 'Accept-Encoding': accepted })
      expect(seen.headers).toMatchObject({
        'content-encoding': encoding,
        'content-length': String(seen.body.length),
        vary: 'Authorization, Accept-Encoding',
        'cache-control': 'private, max-age=300',
      })
      expect(DECODERS[encoding](seen.body)).toEqual(plain.body)
      expect(seen.body.length).toBeLessThan(plain.body.length / 2)
      expect(seen.headers['etag']).not.toBe(plain.headers['etag'])
      const head = await under.visit(path, {
        method: 'HEAD',
        headers: { Authorization: `Bearer ${under.key}`, 'Accept-Encoding': accepted },
      })
      expect([head.headers['content-length'], head.body.length]).toEqual([String(seen.body.length), 0])
    },
  )

  it('validator of one encoding - asked for in it - 304; in another one - the whole answer', async () => {
    const under = await startAlone()
    const path = `/v0/channels/${under.channelId}/products`
    const seen = await under.get(path, { 'Accept-Encoding': 'br' })
    const etag = String(seen.headers['etag'])
    const same = await under.get(path, { 'Accept-Encoding': 'br', 'If-None-Match': etag })
    expect([same.status, same.headers['etag'], same.headers['content-encoding'], same.body.length]).toEqual([
      304,
      etag,
      undefined,
      0,
    ])
    expect((await under.get(path, { 'If-None-Match': etag })).status).toBe(200)
  })

  it('short answer, or none asked for - as it is', async () => {
    const under = await startAlone()
    const short = await under.get('/v0/channels', { 'Accept-Encoding': 'gzip, br' })
    const plain = await under.get(`/v0/channels/${under.channelId}/products`)
    for (const { headers } of [short, plain]) {
      expect(headers['content-encoding']).toBeUndefined()
      expect(headers['vary']).toBe('Authorization, Accept-Encoding')
    }
  })

  it('embedded - is never compressed: it is asked on this machine', async () => {
    const under = await startAlone({ isAlone: false })
    const seen = await under.get(`/v0/channels/${under.channelId}/products`, {
      'Accept-Encoding': 'gzip, br',
    })
    expect(seen.headers['content-encoding']).toBeUndefined()
  })
})
