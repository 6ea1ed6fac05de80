import { once } from 'node:events'
import { type IncomingMessage, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { SECOND_MS } from '../../src/clock.ts'
import { parseConfig } from '../../src/config/config.ts'
import type { Hold } from '../../src/freshness/cached.ts'
import type { Ages } from '../../src/http/cache-headers.ts'
import { createForm } from '../../src/http/forms.ts'
import { type HotCache, type Warmth, createHotCache } from '../../src/http/hot-cache.ts'
import { createFakeClock, type FakeClock } from '../helpers/fake-clock.ts'

const BODY = { identity: Buffer.from('body'), gzip: Buffer.from('zipped'), brotli: Buffer.from('br') }
const ANSWER = { stamp: '1', state: 'shown', etag: '"tag"', body: BODY } as const
const BOUNDS = { maxEntries: 10, maxBytes: 1_000_000 }

type Made = Readonly<{
  cache: HotCache
  clock: FakeClock
  identify: ReturnType<typeof vi.fn<(a: string) => string | undefined>>
}>

/** A cache in which `/a?…` is identity `a`. */
function makeCache(bounds = BOUNDS): Made {
  const clock = createFakeClock(0)
  const identify = vi.fn<(address: string) => string | undefined>((address) => /^\/(\w+)/.exec(address)?.[1])
  return { cache: createHotCache({ bounds, clock, identify }), clock, identify }
}

const toForm = (bytes: Buffer): Warmth['forms']['identity'] =>
  createForm({ 'X-Form': bytes.toString() }, bytes)

/** Five minutes fresh from time 0 on, and shown for a day. */
const AGES: Ages = {
  asOfMs: 0,
  oldestPriceMs: 0,
  config: parseConfig({}).config.freshness,
  priceMaxAgeSeconds: 86_400,
  isGrid: false,
}

const makeHold = (over: Partial<Hold> = {}): Hold => ({
  untilMs: 300 * SECOND_MS,
  watch: null,
  isSame: () => true,
  isServed: () => true,
  ...over,
})

function makeWarmth(over: Partial<Warmth> = {}): Warmth {
  return {
    hold: makeHold(),
    forms: { identity: toForm(BODY.identity), gzip: toForm(BODY.gzip), br: toForm(BODY.brotli) },
    ages: AGES,
    count: () => {},
    ...over,
  }
}

/** Warm answers over real HTTP; whatever is not warm is 299. */
async function listen(
  cache: HotCache,
): Promise<(path: string, options?: object) => Promise<IncomingMessage & { text: string }>> {
  const server = createServer((incoming, response) => {
    if (!cache.answer(incoming, response)) response.writeHead(299).end()
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return async (path, options = {}) => {
    const sent = request({ host: '127.0.0.1', port, path, ...options }).end()
    const [answer] = (await once(sent, 'response')) as [IncomingMessage]
    const text = Buffer.concat((await answer.toArray()) as Buffer[]).toString('latin1')
    return Object.assign(answer, { text })
  }
}

function warmUp({ cache }: Made, address = '/a', warmth = makeWarmth()): void {
  cache.set('a', ANSWER)
  cache.warm('a', address, warmth)
}

describe('warm answer', () => {
  test('address that warmed it - is found without being worked out', async () => {
    const made = makeCache()
    warmUp(made)
    const ask = await listen(made.cache)
    expect(await ask('/a')).toMatchObject({ statusCode: 200, text: 'body' })
    expect(made.identify).not.toHaveBeenCalled()
  })

  test('other spelling - is worked out once', async () => {
    const made = makeCache()
    warmUp(made)
    const ask = await listen(made.cache)
    for (let count = 0; count < 3; count += 1) expect((await ask('/a?x')).text).toBe('body')
    expect(made.identify.mock.calls).toEqual([['/a?x']])
  })

  test('ready, but never warmed; unknown; of no identity - somebody else answers', async () => {
    const made = makeCache()
    made.cache.set('a', ANSWER)
    const ask = await listen(made.cache)
    for (const path of ['/a', '/b', '/?']) expect((await ask(path)).statusCode).toBe(299)
  })

  test.each(['POST', 'DELETE', 'OPTIONS'])('%s - somebody else answers', async (method) => {
    const made = makeCache()
    warmUp(made)
    expect((await (await listen(made.cache))('/a', { method })).statusCode).toBe(299)
  })

  test('HEAD - the same headers without the body', async () => {
    const made = makeCache()
    warmUp(made)
    const answer = await (await listen(made.cache))('/a', { method: 'HEAD' })
    expect([answer.statusCode, answer.headers['content-length'], answer.text]).toEqual([200, '4', ''])
  })

  test.each([
    [undefined, 'body'],
    ['identity', 'body'],
    ['gzip', 'zipped'],
    ['gzip, br', 'br'],
  ])('Accept-Encoding %s - %s with its own headers', async (accepted, text) => {
    const made = makeCache()
    warmUp(made)
    const headers = accepted === undefined ? {} : { 'accept-encoding': accepted }
    const answer = await (await listen(made.cache))('/a', { headers })
    expect([answer.text, answer.headers['x-form'], answer.headers['content-length']]).toEqual([
      text,
      text,
      String(text.length),
    ])
  })

  test.each(['"tag"', 'W/"tag"', '"x", "tag"', '*'])('If-None-Match %s - 304', async (tag) => {
    const made = makeCache()
    warmUp(made)
    const answer = await (await listen(made.cache))('/a', { headers: { 'if-none-match': tag } })
    expect([answer.statusCode, answer.headers['content-length'], answer.text]).toEqual([304, undefined, ''])
  })

  test('answer without a tag - is never 304', async () => {
    const made = makeCache()
    made.cache.set('a', { ...ANSWER, etag: null })
    made.cache.warm('a', '/a', makeWarmth())
    expect((await (await listen(made.cache))('/a', { headers: { 'if-none-match': '*' } })).statusCode).toBe(
      200,
    )
  })

  test('time - counts down, and ends with the hold to the millisecond', async () => {
    const made = makeCache()
    warmUp(made)
    const ask = await listen(made.cache)
    for (const [nowMs, age] of [
      [0, 'max-age=300,'],
      [999, 'max-age=300,'],
      [1_000, 'max-age=299,'],
      [299_999, 'max-age=60,'],
    ] as const) {
      made.clock.advance(nowMs - made.clock.nowMs())
      expect((await ask('/a')).headers['cache-control']).toContain(age)
    }
    made.clock.advance(1)
    expect((await ask('/a')).statusCode).toBe(299)
  })

  test('what it was made of is no longer current - somebody else answers', async () => {
    const made = makeCache()
    let isSame = true
    warmUp(made, '/a', makeWarmth({ hold: makeHold({ isSame: () => isSame }) }))
    const ask = await listen(made.cache)
    expect((await ask('/a')).statusCode).toBe(200)
    isSame = false
    expect((await ask('/a')).statusCode).toBe(299)
  })

  test('each that is sent - is counted', async () => {
    const made = makeCache()
    const count = vi.fn<() => void>()
    warmUp(made, '/a', makeWarmth({ count }))
    const ask = await listen(made.cache)
    await ask('/a')
    await ask('/a', { method: 'HEAD' })
    await ask('/a', { headers: { 'if-none-match': '"tag"' } })
    await ask('/b')
    expect(count).toHaveBeenCalledTimes(3)
  })
})

describe('room', () => {
  test('any number of spellings - the two newest are found at once', async () => {
    const made = makeCache()
    warmUp(made)
    const ask = await listen(made.cache)
    for (let index = 0; index < 50; index += 1) expect((await ask(`/a?${index}`)).text).toBe('body')
    made.identify.mockClear()
    await ask('/a?49')
    await ask('/a?48')
    expect(made.identify).not.toHaveBeenCalled()
    await ask('/a?47')
    expect(made.identify).toHaveBeenCalledTimes(1)
  })

  test('long address - is worked out each time', async () => {
    const made = makeCache()
    warmUp(made)
    const ask = await listen(made.cache)
    const long = `/a?${'x'.repeat(300)}`
    await ask(long)
    await ask(long)
    expect(made.identify).toHaveBeenCalledTimes(2)
  })

  test('answer that is dropped or replaced - its addresses lead nowhere until it is warm again', async () => {
    const made = makeCache({ maxEntries: 1, maxBytes: 1_000_000 })
    warmUp(made)
    const ask = await listen(made.cache)
    made.cache.set('a', { ...ANSWER, stamp: '2', body: { ...BODY, identity: Buffer.from('newer') } })
    expect((await ask('/a')).statusCode).toBe(299)
    made.cache.warm('a', '/a', makeWarmth())
    expect((await ask('/a')).statusCode).toBe(200)
    made.cache.set('b', ANSWER)
    expect((await ask('/a')).statusCode).toBe(299)
    expect(made.cache.get('a')).toBeUndefined()
  })

  test('what is asked for by its address - is not the one that is dropped', async () => {
    const made = makeCache({ maxEntries: 2, maxBytes: 1_000_000 })
    warmUp(made)
    made.cache.set('b', ANSWER)
    const ask = await listen(made.cache)
    await ask('/a')
    made.cache.set('c', ANSWER)
    expect([made.cache.get('a')?.stamp, made.cache.get('b')]).toEqual(['1', undefined])
  })

  test('more than all of the memory - is not kept, and nothing breaks', async () => {
    const made = makeCache({ maxEntries: 10, maxBytes: 3_000 })
    made.cache.set('a', { ...ANSWER, body: { ...BODY, identity: Buffer.alloc(3_000) } })
    made.cache.warm('a', '/a', makeWarmth())
    expect((await (await listen(made.cache))('/a')).statusCode).toBe(299)
    expect([made.cache.entryCount(), made.cache.byteCount()]).toEqual([0, 0])
  })

  test('tags - take their room of the bytes', () => {
    const details = { bounds: BOUNDS, clock: createFakeClock(0), identify: () => undefined }
    const [plain, tagged] = [createHotCache(details), createHotCache({ ...details, tagBytes: 512 })]
    for (const cache of [plain, tagged]) cache.set('a', ANSWER)
    expect(tagged.byteCount() - plain.byteCount()).toBe(512)
  })

  test('bytes of all three bodies - count', () => {
    const { cache } = makeCache()
    cache.set('a', {
      ...ANSWER,
      body: { identity: Buffer.alloc(100), gzip: Buffer.alloc(20), brotli: Buffer.alloc(3) },
    })
    const more = cache.byteCount()
    cache.set('a', {
      ...ANSWER,
      body: { identity: Buffer.alloc(0), gzip: Buffer.alloc(0), brotli: Buffer.alloc(0) },
    })
    expect(more - cache.byteCount()).toBe(123)
  })
})
