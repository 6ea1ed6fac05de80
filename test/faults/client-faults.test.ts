import { once } from 'node:events'
import { type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { describe, expect, it, onTestFinished } from 'vitest'
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../../src/clock.ts'
import { CHANNEL_ID, FAKE_KEY, makeWireProduct } from '../helpers/fake-catalog.ts'
import {
  GTIN,
  MAX_BYTES,
  OPERATIONS,
  START_MS,
  isNextCallSuccessful,
  createClient,
  startCatalog,
} from '../catalog/client-harness.ts'

const REFUSED = 'VITRINE_CATALOG_KEY_REFUSED'
const STATUS = 'VITRINE_CATALOG_STATUS'
const INVALID = 'VITRINE_CATALOG_INVALID'
const TOO_LARGE = 'VITRINE_CATALOG_TOO_LARGE'

const LIST = { items: [{ id: CHANNEL_ID, name: 'Packed', kind: 'website', url: null }] }

describe('statuses', () => {
  it.each([
    [204, STATUS],
    [206, STATUS],
    [400, STATUS],
    [401, REFUSED],
    [403, REFUSED],
    [404, STATUS],
    [405, STATUS],
    [410, STATUS],
    [429, 'VITRINE_CATALOG_RATE_LIMITED'],
    [500, STATUS],
    [502, STATUS],
    [503, STATUS],
    [504, STATUS],
  ])(
    'list call - %i - fails with the matching error after one call; the next call works',
    async (status, code) => {
      const catalog = await startCatalog()
      const fixture = createClient(catalog.url)
      catalog.fault = {
        pathPattern: /./,
        respond: (_request, response) => response.writeHead(status).end(status === 204 ? undefined : '{}'),
      }
      for (const operation of ['channels', 'products']) {
        fixture.clock.advance(DAY_MS)
        const call = OPERATIONS[operation]?.(fixture.client)
        await expect(call).rejects.toMatchObject({ code, ...(code === STATUS && { upstreamStatus: status }) })
      }
      expect(catalog.calls).toHaveLength(2)
      catalog.fault = null
      expect(await isNextCallSuccessful(fixture)).toBe(true)
    },
  )

  it.each([400, 410, 500])('look-up - %i - is not treated as a 404', async (status) => {
    const catalog = await startCatalog()
    const { client } = createClient(catalog.url)
    catalog.fault = { pathPattern: /./, respond: (_request, response) => response.writeHead(status).end() }
    const code = STATUS
    await expect(OPERATIONS['product']?.(client)).rejects.toMatchObject({ code, upstreamStatus: status })
  })

  it('look-up - 404 with an endless body - is accepted at once', async () => {
    const catalog = await startCatalog()
    const fixture = createClient(catalog.url)
    catalog.fault = {
      pathPattern: /./,
      respond: (_request, response) => void response.writeHead(404).write('x'.repeat(MAX_BYTES)),
    }
    expect(await OPERATIONS['product']?.(fixture.client)).toMatchObject({ value: undefined })
    catalog.fault = null
    expect(await isNextCallSuccessful(fixture)).toBe(true)
  })
})

describe('redirects', () => {
  it.each([300, 301, 302, 303, 304, 307, 308])(
    '%i to another host - is an error; the host receives no request, so no key',
    async (status) => {
      const receivedHeaders: unknown[] = []
      const server = createServer((request, response) => {
        receivedHeaders.push(request.headers)
        response.end(JSON.stringify(LIST))
      })
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      onTestFinished(() => void server.close())
      const location = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v0/channels`
      const catalog = await startCatalog()
      const fixture = createClient(catalog.url)
      catalog.fault = {
        pathPattern: /./,
        respond: (_request, response) => response.writeHead(status, { location }).end(),
      }
      for (const call of Object.values(OPERATIONS)) {
        await expect(call(fixture.client)).rejects.toMatchObject({ code: 'VITRINE_CATALOG_REDIRECT' })
      }
      expect(catalog.calls).toHaveLength(3)
      catalog.fault = null
      expect(await isNextCallSuccessful(fixture)).toBe(true)
      expect(receivedHeaders).toEqual([])
    },
  )
})

describe('429', () => {
  const date = new Date(START_MS + DAY_MS).toUTCString()
  const inAMinute = new Date(START_MS + DAY_MS + MINUTE_MS).toUTCString()
  it.each([
    ['seconds', { 'retry-after': '120' }, 120 * SECOND_MS],
    ['nine digits', { 'retry-after': '999999999' }, 999_999_999 * SECOND_MS],
    ["a date, relative to the response's Date header", { 'retry-after': inAMinute, date }, MINUTE_MS],
    [
      'a date without a Date header, relative to our clock',
      { 'retry-after': inAMinute, date: '' },
      DAY_MS + MINUTE_MS,
    ],
    ['a past date', { 'retry-after': date, date: inAMinute }, null],
    ['absent', {}, null],
    ['-5', { 'retry-after': '-5' }, null],
    ['1.5', { 'retry-after': '1.5' }, null],
    ['1e9', { 'retry-after': '1e9' }, null],
    ['20 digits', { 'retry-after': '1'.repeat(20) }, null],
    ['tomorrow', { 'retry-after': 'tomorrow' }, null],
  ])('Retry-After - %s - is parsed as expected', async (_name, headers, retryAfterMs) => {
    const catalog = await startCatalog()
    const fixture = createClient(catalog.url)
    catalog.fault = {
      pathPattern: /./,
      respond(_request, response) {
        response.sendDate = false
        response.writeHead(429, headers).end('{}')
      },
    }
    await expect(fixture.client.fetchChannels()).rejects.toMatchObject({
      code: 'VITRINE_CATALOG_RATE_LIMITED',
      retryAfterMs,
    })
    expect(fixture.callPolicy.canCall('refresh')).toBe(false)
    catalog.fault = null
    expect(await isNextCallSuccessful(fixture)).toBe(true)
  })
})

const NESTED = `${'['.repeat(200_000)}${']'.repeat(200_000)}`

describe('200 with an invalid body', () => {
  it.each([
    ['HTML', '<!doctype html><title>Down</title>'],
    ['truncated JSON', '{"items":[{"id":"3f2'],
    ['empty', ''],
    ['null', 'null'],
    ['a list', '[]'],
    ['an empty object', '{}'],
    ['a number', '7'],
    ['an error body', '{"error":"down for maintenance"}'],
    ['invalid UTF-8', Buffer.from([...Buffer.from('{"items":["'), 0xff, 0xfe, ...Buffer.from('"]}')])],
    ['UTF-16', Buffer.from('{"items":[]}', 'utf16le')],
    ['200,000 nested arrays', NESTED],
    ['items that are not a list', `{"items":${JSON.stringify('x')}}`],
  ])('%s - every operation - fails as invalid; the next call works', async (_name, body) => {
    const catalog = await startCatalog()
    const fixture = createClient(catalog.url, { maxBytes: 1024 ** 2 })
    catalog.fault = { pathPattern: /./, respond: (_request, response) => response.end(body) }
    for (const call of Object.values(OPERATIONS)) {
      await expect(call(fixture.client)).rejects.toMatchObject({ code: INVALID })
    }
    catalog.fault = null
    expect(await isNextCallSuccessful(fixture)).toBe(true)
  })

  it('product of another GTIN - is invalid', async () => {
    const catalog = await startCatalog()
    const { client } = createClient(catalog.url)
    const other = JSON.stringify(makeWireProduct({ gtin: '00000000000017' }))
    catalog.fault = { pathPattern: /./, respond: (_request, response) => response.end(other) }
    await expect(OPERATIONS['product']?.(client)).rejects.toMatchObject({ code: INVALID })
  })

  it('deeply nested arrays - as an offer and an unknown field - only that offer is dropped', async () => {
    const catalog = await startCatalog()
    const { client } = createClient(catalog.url, { maxBytes: 1024 ** 2 })
    const body = `{"gtin":"${GTIN}","title":"T","offers":[${NESTED}],"more":${NESTED.slice(100_000, 300_000)}}`
    catalog.fault = { pathPattern: /./, respond: (_request, response) => response.end(body) }
    const { value } = await client.fetchProduct({ channelId: CHANNEL_ID, gtin: GTIN, purpose: 'refresh' })
    expect(value).toMatchObject({ offers: [], drops: { shape: 1 } })
  })

  it('keys __proto__ and constructor - no prototype is changed', async () => {
    const catalog = await startCatalog()
    const { client } = createClient(catalog.url)
    const dangerousKeys = '"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}'
    const body = `{${dangerousKeys},"gtin":"${GTIN}","title":"T","offers":[{${dangerousKeys},"merchant":{${dangerousKeys},"name":"M"},"network":"n","price":"1","currency":"EUR","availability":"in_stock","affiliate_url":"https://a.example/"}]}`
    catalog.fault = { pathPattern: /./, respond: (_request, response) => response.end(body) }
    const { value } = await client.fetchProduct({ channelId: CHANNEL_ID, gtin: GTIN, purpose: 'refresh' })
    expect(value?.offers).toHaveLength(1)
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
    expect(JSON.stringify(value)).not.toContain('polluted')
  })

  it('byte order mark before the JSON - is ignored', async () => {
    const catalog = await startCatalog()
    const { client } = createClient(catalog.url)
    catalog.fault = {
      pathPattern: /./,
      respond: (_request, response) => response.end(`\ufeff${JSON.stringify(LIST)}`),
    }
    expect((await client.fetchChannels()).value).toHaveLength(1)
  })
})

const respond =
  (encoding: string | null, body: Buffer | string) =>
  (_request: unknown, response: ServerResponse): void => {
    if (encoding !== null) response.setHeader('content-encoding', encoding)
    response.end(body)
  }

describe('encodings and sizes', () => {
  const text = JSON.stringify(LIST)
  it.each([
    ['gzip', 'gzip', gzipSync(text)],
    ['GZIP', ' GZIP ', gzipSync(text)],
    ['brotli', 'br', brotliCompressSync(text)],
    ['identity', 'identity', Buffer.from(text)],
    ['no Content-Encoding', null, Buffer.from(text)],
  ])('%s - valid body - is read', async (_name, encoding, body) => {
    const catalog = await startCatalog()
    const { client } = createClient(catalog.url)
    catalog.fault = { pathPattern: /./, respond: respond(encoding, body) }
    expect((await client.fetchChannels()).value).toMatchObject([{ name: 'Packed' }])
  })

  it('gzip - size limit of a terabyte - is read', async () => {
    const catalog = await startCatalog()
    const { client } = createClient(catalog.url, { maxBytes: 1024 ** 4 })
    catalog.fault = { pathPattern: /./, respond: respond('gzip', gzipSync(text)) }
    expect((await client.fetchChannels()).value).toHaveLength(1)
  })

  const bomb = Buffer.alloc(64 * 1024 ** 2, 0x20)
  it.each([
    ['gzip bomb', 'gzip', gzipSync(bomb), TOO_LARGE],
    ['brotli bomb', 'br', brotliCompressSync(bomb), TOO_LARGE],
    ['truncated gzip', 'gzip', gzipSync(text).subarray(0, -12), INVALID],
    ['gzip header on plain text', 'gzip', Buffer.from(text), INVALID],
    ['brotli header on plain text', 'br', Buffer.from(text), INVALID],
    ['empty gzip', 'gzip', Buffer.alloc(0), INVALID],
    ['unknown encoding', 'zstd', Buffer.from(text), INVALID],
    ['gzip twice', 'gzip, gzip', gzipSync(gzipSync(text)), INVALID],
    ['one byte over the limit', null, Buffer.alloc(MAX_BYTES + 1, 0x20), TOO_LARGE],
    ['far over the limit', null, bomb, TOO_LARGE],
  ])('%s - fails with the matching error; the next call works', async (...[, encoding, body, code]) => {
    const catalog = await startCatalog()
    const fixture = createClient(catalog.url)
    catalog.fault = { pathPattern: /./, respond: respond(encoding, body) }
    for (const call of Object.values(OPERATIONS)) {
      await expect(call(fixture.client)).rejects.toMatchObject({ code })
    }
    catalog.fault = null
    expect(await isNextCallSuccessful(fixture)).toBe(true)
  })

  it('body of exactly the maximum size - is read', async () => {
    const catalog = await startCatalog()
    const { client } = createClient(catalog.url)
    catalog.fault = { pathPattern: /./, respond: respond(null, text.padEnd(MAX_BYTES, ' ')) }
    expect((await client.fetchChannels()).value).toHaveLength(1)
  })

  it('endless body - fails as too large, and the connection is closed', async () => {
    const catalog = await startCatalog()
    const fixture = createClient(catalog.url)
    const ended: Promise<unknown>[] = []
    catalog.fault = {
      pathPattern: /./,
      respond(_request, response) {
        ended.push(once(response, 'close'))
        const more = (): void => {
          while (!response.destroyed && response.write('x'.repeat(16_384)));
        }
        response.on('drain', more)
        more()
      },
    }
    await expect(fixture.client.fetchChannels()).rejects.toMatchObject({ code: TOO_LARGE })
    await Promise.all(ended)
    catalog.fault = null
    expect(await isNextCallSuccessful(fixture)).toBe(true)
  })
})

describe('errors', () => {
  it('response with the key in its body and headers - the error does not contain the key', async () => {
    const catalog = await startCatalog()
    const { client } = createClient(catalog.url)
    catalog.fault = {
      pathPattern: /./,
      respond: (_request, response) =>
        response.writeHead(500, `Bad ${FAKE_KEY}`, { 'x-key': FAKE_KEY }).end(`{"error":"${FAKE_KEY}"}`),
    }
    const error: unknown = await client.fetchChannels().catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(Error)
    expect(String((error as Error).stack) + JSON.stringify(error)).not.toContain(FAKE_KEY)
    expect((error as Error).cause).toBeUndefined()
  })
})
