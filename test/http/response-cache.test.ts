import { once } from 'node:events'
import { type IncomingMessage, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type ResponseCache, createResponseCache } from '../../src/http/response-cache.ts'
import { createFakeClock, type FakeClock } from '../helpers/fake-clock.ts'
import { makeBodies, makeResponse, putResponse } from '../helpers/responses.ts'

const BOUNDS = { maxEntries: 10, maxBytes: 1_000_000 }
/** Long enough to become shorter. */
const LONG_TEXT = 'body '.repeat(100)

type CacheFixture = Readonly<{ cache: ResponseCache; clock: FakeClock }>

function createCacheFixture(bounds = BOUNDS): CacheFixture {
  const clock = createFakeClock(0)
  return { cache: createResponseCache(bounds, clock), clock }
}

type ReceivedResponse = IncomingMessage & { text: string }

/** Serve cached responses over HTTP. An uncached target is looked up by its key (the target without its first letter); else 299. */
async function listen(
  cache: ResponseCache,
): Promise<(path: string, options?: object) => Promise<ReceivedResponse>> {
  const port = await listenRaw(cache)
  return async (path, options = {}) => {
    const sent = request({ host: '127.0.0.1', port, path, ...options }).end()
    const [received] = (await once(sent, 'response')) as [IncomingMessage]
    return Object.assign(received, { text: Buffer.concat((await received.toArray()) as Buffer[]).toString() })
  }
}

async function listenRaw(cache: ResponseCache): Promise<number> {
  const server = createServer((incoming, response) => {
    const { url: target = '' } = incoming
    if (cache.sendByTarget(incoming, response)) return
    const key = { key: target.slice(1, 2), sub: null }
    if (cache.sendByKey(key, { request: incoming, response })) cache.addTarget(key, target)
    else response.writeHead(299).end()
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

describe('cached response', () => {
  test('is sent for its target and for another spelling of it', async () => {
    const { cache } = createCacheFixture()
    putResponse(cache, { key: 'a', sub: null }, makeResponse(), '/a')
    const get = await listen(cache)
    expect(await get('/a')).toMatchObject({ statusCode: 200, text: 'body' })
    expect(await get('/a?x')).toMatchObject({ statusCode: 200, text: 'body' })
  })

  test('another spelling is normalized once', async () => {
    const { cache } = createCacheFixture()
    putResponse(cache, { key: 'a', sub: null }, makeResponse(), '/a')
    const byKey = vi.spyOn(cache, 'sendByKey')
    const get = await listen(cache)
    for (let visits = 0; visits < 3; visits += 1) await get('/a?x')
    expect(byKey).toHaveBeenCalledTimes(1)
  })

  test('an unknown target is left to the routes', async () => {
    const { cache } = createCacheFixture()
    putResponse(cache, { key: 'a', sub: null }, makeResponse(), '/a')
    expect((await (await listen(cache))('/b')).statusCode).toBe(299)
  })

  test.each(['POST', 'DELETE', 'OPTIONS'])('%s is left to the routes', async (method) => {
    const { cache } = createCacheFixture()
    putResponse(cache, { key: 'other', sub: null }, makeResponse(), '/a')
    expect((await (await listen(cache))('/a', { method })).statusCode).toBe(299)
  })

  test('HEAD gets the same headers without the body', async () => {
    const { cache } = createCacheFixture()
    putResponse(cache, { key: 'a', sub: null }, makeResponse(), '/a')
    const received = await (await listen(cache))('/a', { method: 'HEAD' })
    expect([received.statusCode, received.headers['content-length'], received.text]).toEqual([200, '4', ''])
  })

  test.each([
    [undefined, undefined],
    ['identity', undefined],
    ['gzip', 'gzip'],
    ['gzip, br', 'br'],
  ] as const)('Accept-Encoding %s gets the encoding %s', async (accepted, encoding) => {
    const { cache } = createCacheFixture()
    const bodies = makeBodies(LONG_TEXT)
    const form = { sub: null, encoding: encoding ?? null }
    const body = await bodies.make(form)
    putResponse(cache, { key: 'a', sub: null }, makeResponse({ isCompressed: true }), '/a', bodies)
    const headers = accepted === undefined ? {} : { 'accept-encoding': accepted }
    const received = await (await listen(cache))('/a', { headers })
    expect([received.headers['content-encoding'], received.headers['content-length']]).toEqual([
      encoding,
      String(body.length),
    ])
  })

  test('an encoding that is not made yet is left to the routes', async () => {
    const { cache } = createCacheFixture()
    putResponse(cache, { key: 'a', sub: null }, makeResponse({ isCompressed: true }), '/a')
    const received = await (await listen(cache))('/a', { headers: { 'accept-encoding': 'br' } })
    expect(received.statusCode).toBe(299)
  })

  test('a body without encodings is sent as it is', async () => {
    const { cache } = createCacheFixture()
    putResponse(cache, { key: 'a', sub: null }, makeResponse(), '/a')
    const received = await (await listen(cache))('/a', { headers: { 'accept-encoding': 'gzip, br' } })
    expect([received.text, received.headers['content-encoding']]).toEqual(['body', undefined])
  })

  test('non-ASCII bytes arrive unchanged', async () => {
    const { cache } = createCacheFixture()
    const identity = Buffer.from('€ ä').toString('latin1')
    putResponse(cache, { key: 'a', sub: null }, makeResponse(), '/a', makeBodies(identity))
    expect((await (await listen(cache))('/a')).text).toBe('€ ä')
  })

  test.each(['"tag"', 'W/"tag"', '"x", "tag"', '*'])('If-None-Match %s is 304', async (tag) => {
    const { cache } = createCacheFixture()
    putResponse(cache, { key: 'a', sub: null }, makeResponse({ isCompressed: true }), '/a')
    const headers = { 'if-none-match': tag, 'accept-encoding': 'gzip' }
    const received = await (await listen(cache))('/a', { headers })
    expect([received.statusCode, received.headers['etag'], received.text]).toEqual([304, '"tag"', ''])
    for (const name of ['content-length', 'content-type', 'content-encoding'])
      expect(received.headers[name]).toBeUndefined()
  })

  test('a response without a tag is never 304', async () => {
    const { cache } = createCacheFixture()
    putResponse(cache, { key: 'a', sub: null }, makeResponse({ etag: null }), '/a')
    const received = await (await listen(cache))('/a', { headers: { 'if-none-match': '*' } })
    expect(received.statusCode).toBe(200)
  })

  test('each response is counted', async () => {
    const { cache } = createCacheFixture()
    const count = vi.fn<() => void>()
    putResponse(cache, { key: 'a', sub: null }, makeResponse({ countResponse: count }), '/a')
    const get = await listen(cache)
    await get('/a')
    await get('/a', { method: 'HEAD' })
    await get('/a', { headers: { 'if-none-match': '"tag"' } })
    await get('/b')
    expect(count).toHaveBeenCalledTimes(3)
  })

  test('HTTP/1.0 gets its length, no chunks, and the end of its connection', async () => {
    const { cache } = createCacheFixture()
    putResponse(cache, { key: 'a', sub: null }, makeResponse(), '/a')
    const socket = connect(await listenRaw(cache), '127.0.0.1').setEncoding('latin1')
    socket.write('GET /a HTTP/1.0\r\n\r\n')
    const seen = await text(socket)
    expect(seen).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    expect(seen).toContain('\r\nContent-Length: 4\r\n')
    expect(seen.toLowerCase()).not.toContain('transfer-encoding')
    expect(seen.endsWith('\r\n\r\nbody')).toBe(true)
  })
})

describe('age', () => {
  test('max-age counts down, and the response expires to the millisecond', async () => {
    const { cache, clock } = createCacheFixture()
    putResponse(cache, { key: 'a', sub: null }, makeResponse(), '/a')
    const get = await listen(cache)
    for (const [nowMs, age] of [
      [0, 'max-age=300,'],
      [999, 'max-age=300,'],
      [1_000, 'max-age=299,'],
      [299_999, 'max-age=60,'],
    ] as const) {
      clock.advance(nowMs - clock.nowMs())
      expect((await get('/a')).headers['cache-control']).toContain(age)
    }
    clock.advance(1)
    expect((await get('/a')).statusCode).toBe(299)
    expect(cache.findBodies('1')).toBeDefined()
  })

  test('a clock that was set back by more than a minute makes the age unknown', async () => {
    const { cache } = createCacheFixture()
    const { lifetime: ages } = makeResponse()
    putResponse(cache, { key: 'a', sub: null }, makeResponse({ lifetime: { ...ages, asOfMs: 60_001 } }), '/a')
    expect((await (await listen(cache))('/a')).statusCode).toBe(299)
  })
})

describe('limits', () => {
  test('a long target finds its response only by its key', async () => {
    const { cache } = createCacheFixture()
    putResponse(cache, { key: 'a', sub: null }, makeResponse(), '/a')
    const byKey = vi.spyOn(cache, 'sendByKey')
    const get = await listen(cache)
    const long = `/a?${'x'.repeat(300)}`
    expect((await get(long)).text).toBe('body')
    expect((await get(long)).text).toBe('body')
    expect(byKey).toHaveBeenCalledTimes(2)
  })

  test('many spellings of one response evict no other response', async () => {
    const { cache } = createCacheFixture({ maxEntries: 2, maxBytes: 1_000_000 })
    putResponse(cache, { key: 'a', sub: null }, makeResponse(), '/a')
    putResponse(cache, { key: 'b', sub: null }, makeResponse(), '/b')
    const get = await listen(cache)
    for (let index = 0; index < 50; index += 1) expect((await get(`/a?${index}`)).text).toBe('body')
    expect((await get('/b')).text).toBe('body')
    expect(cache.entryCount()).toBe(2)
  })

  test('a new response replaces the previous one, and an evicted one is not sent', async () => {
    const { cache } = createCacheFixture({ maxEntries: 1, maxBytes: 1_000_000 })
    putResponse(cache, { key: 'a', sub: null }, makeResponse(), '/a')
    const get = await listen(cache)
    putResponse(cache, { key: 'a', sub: null }, makeResponse({ digest: '2' }), '/a', makeBodies('newer'))
    expect((await get('/a')).text).toBe('newer')
    putResponse(cache, { key: 'b', sub: null }, makeResponse(), '/b')
    expect((await get('/a')).statusCode).toBe(299)
    expect(cache.findCurrent('a')).toBeUndefined()
  })

  test('the least recently used response is evicted first', async () => {
    const { cache } = createCacheFixture({ maxEntries: 2, maxBytes: 1_000_000 })
    putResponse(cache, { key: 'a', sub: null }, makeResponse(), '/a')
    putResponse(cache, { key: 'b', sub: null }, makeResponse(), '/b')
    await (
      await listen(cache)
    )('/a')
    putResponse(cache, { key: 'c', sub: null }, makeResponse(), '/c')
    expect(['a', 'b', 'c'].map((key) => cache.findCurrent(key) !== undefined)).toEqual([true, false, true])
  })

  test('bodies larger than the cache are not stored, and their response is sent only as 304', async () => {
    const { cache } = createCacheFixture({ maxEntries: 10, maxBytes: 6_000 })
    putResponse(cache, { key: 'a', sub: null }, makeResponse(), '/a', makeBodies('x'.repeat(6_000)))
    const get = await listen(cache)
    expect((await get('/a')).statusCode).toBe(299)
    expect((await get('/a', { headers: { 'if-none-match': '"tag"' } })).statusCode).toBe(304)
    expect(cache.findBodies('1')).toBeUndefined()
  })

  test('bodies stay for equal data when their response is evicted', () => {
    const { cache } = createCacheFixture({ maxEntries: 1, maxBytes: 1_000_000 })
    putResponse(cache, { key: 'a', sub: null }, makeResponse(), '/a')
    putResponse(cache, { key: 'b', sub: null }, makeResponse({ digest: '2' }), '/b')
    expect([cache.findCurrent('a'), cache.findBodies('1')?.find({ sub: null, encoding: null })]).toEqual([
      undefined,
      'body',
    ])
  })

  test('any responses and bodies - are within the bounds', () => {
    const bounds = { maxEntries: 20, maxBytes: 50_000 }
    const { cache } = createCacheFixture(bounds)
    for (let index = 0; index < 100; index += 1) {
      const response = makeResponse({ digest: String(index), ownHeaders: ['xkey', 'x'.repeat(index * 10)] })
      putResponse(
        cache,
        { key: String(index), sub: null },
        response,
        `/${index}`,
        makeBodies('x'.repeat(index * 100)),
      )
      expect(cache.entryCount()).toBeLessThanOrEqual(bounds.maxEntries)
      expect(cache.byteCount()).toBeLessThanOrEqual(bounds.maxBytes)
    }
    expect(cache.byteCount()).toBeGreaterThan(bounds.maxBytes / 2)
  })

  test('headers of a response and each of its bodies count', async () => {
    const { cache } = createCacheFixture()
    putResponse(cache, { key: 'a', sub: null }, makeResponse(), '/a', makeBodies(''))
    const before = cache.byteCount()
    const bodies = makeBodies('x'.repeat(100))
    putResponse(cache, { key: 'a', sub: null }, makeResponse({ ownHeaders: ['xkey', 'a b'] }), '/a', bodies)
    expect(cache.byteCount() - before).toBe(107)
    const length = (await bodies.make({ sub: null, encoding: 'br' })).length
    cache.setBodies('1', bodies)
    // The text can be made from the compressed body.
    expect(cache.byteCount() - before).toBe(7 + length)
  })
})
