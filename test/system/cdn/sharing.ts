import { expect, it, vi } from 'vitest'
import { computeOfferId } from '../../../src/widgets/view-parts.ts'
import { CHANNEL_ID } from '../../helpers/fake-catalog.ts'
import { toGtin } from '../../helpers/products.ts'
import { VISITOR_HEADERS, findVisitorHeaders } from '../includes/visitor.ts'
import { type CdnResponse, sendRequest, classifyResponse } from './send-request.ts'
import { type CdnFixture, toBoxPath } from './fixture.ts'
import type { Cdn } from './programs.ts'

/** The CDN under test, and the fixture with the servers behind it. */
export type CdnUnderTest = Readonly<{ fixture(): CdnFixture; cdn(): Cdn }>

/** Number of concurrent visitors. */
const VISITORS = 30

/** A GTIN that no product has. */
const UNSOLD_GTIN = toGtin(9_000)

/** Labels are for the products in their order. */
const LABEL_QUERIES = [
  '',
  '?label=Zest&label=Apple',
  '?label=Apple&label=Zest',
  '?label=&label=Apple',
  '?label=Apple&label=',
  '?label=Apple',
  '?sub=a',
  '?sub=b',
  '?sub=b&label=Zest&utm_source=x&label=Apple',
]

/** Headers of a reader whose embed is counted. */
const READER = {
  'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
  referer: 'https://magazine.example/photo/studio/lamps',
}

/** Headers of visits of embeds, by their sub-id. Only `reader` is counted. */
const COUNTED_VISITS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  reader: READER,
  bot: { 'user-agent': 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)' },
  'no-agent': {},
  prefetch: { ...READER, 'sec-purpose': 'prefetch;prerender' },
  'old-prefetch': { ...READER, purpose: 'prefetch' },
  studio: { ...READER, referer: 'https://widgets.example/studio?tab=picks' },
}

/** Define the tests that every shared cache must pass while all servers work. */
export function testSharedCache(name: string, { fixture, cdn }: CdnUnderTest): void {
  const fetchFromCdn = (path: string, headers?: Readonly<Record<string, string>>): Promise<CdnResponse> =>
    sendRequest(cdn().origin + path, headers && { headers })

  it(`${name} - many concurrent visitors of an uncached box - cause one request`, async () => {
    const path = toBoxPath(fixture().nextGtin())
    const responses = await Promise.all(Array.from({ length: VISITORS }, () => fetchFromCdn(path)))
    expect(new Set(responses.map(classifyResponse))).toEqual(new Set(['shown']))
    expect(fixture().countRequests(path)).toBe(1)
  })

  it(`${name} - unknown parameters, or another order of parameters - use the same cache entry`, async () => {
    const path = toBoxPath(fixture().nextGtin())
    const spellings = [
      '?limit=1&theme=dark',
      '?theme=dark&limit=1',
      '?utm_source=a&theme=dark&limit=1',
      '?limit=1&fbclid=x?y&theme=dark&_=%20',
      '?limit=1&theme=dark&unlimited=2',
    ]
    const bodies = new Set<string>()
    for (const spelling of spellings) bodies.add((await fetchFromCdn(path + spelling)).body)
    expect(bodies.size).toBe(1)
    expect(fixture().countRequests(path)).toBe(1)
  })

  it(`${name} - similar addresses - get the same responses as from the server, in any order`, async () => {
    const path = toBoxPath(fixture().nextGtin())
    const [server] = fixture().servers
    const queries = SIMILAR_QUERIES.flatMap((query) => [query, query])
    for (const query of [...queries, ...queries.toReversed()]) {
      const [direct, cached] = [
        await sendRequest(`http://127.0.0.1:${server?.port}${path}${query}`),
        await fetchFromCdn(path + query),
      ]
      expect({ query, status: cached.status, body: cached.body }).toEqual({
        query,
        status: direct.status,
        body: direct.body,
      })
    }
  })

  it(`${name} - labels and placements of a round-up - get the same responses as from the server, in any order`, async () => {
    const path = `/fragments/${CHANNEL_ID}/picks/${fixture().nextGtin()},${fixture().nextGtin()}`
    const [server] = fixture().servers
    for (const query of [...LABEL_QUERIES, ...LABEL_QUERIES.toReversed()]) {
      const direct = await sendRequest(`http://127.0.0.1:${server?.port}${path}${query}`)
      expect([query, (await fetchFromCdn(path + query)).body]).toEqual([query, direct.body])
    }
    const before = fixture().countRequests(path)
    for (const query of LABEL_QUERIES) await fetchFromCdn(path + query)
    expect(fixture().countRequests(path)).toBe(before)
  })

  testDisguisedOptions(name, { fixture, cdn })

  it(`${name} - a hidden box - is cached, with an empty body`, async () => {
    const path = toBoxPath(UNSOLD_GTIN)
    expect([classifyResponse(await fetchFromCdn(path)), classifyResponse(await fetchFromCdn(path))]).toEqual([
      'hidden',
      'hidden',
    ])
    expect(fixture().countRequests(path)).toBe(1)
  })

  it(`${name} - an unavailable box - is not cached: the first request after the outage gets the box`, async () => {
    const path = toBoxPath(fixture().nextGtin())
    await fixture().setAllModes('unavailable')
    const duringOutage = [
      classifyResponse(await fetchFromCdn(path)),
      classifyResponse(await fetchFromCdn(path)),
    ]
    expect(duringOutage).toEqual(['unavailable', 'unavailable'])
    await fixture().setAllModes('shown')
    expect(classifyResponse(await fetchFromCdn(path))).toBe('shown')
  })

  it(`${name} - an invalid option - is a 400 from the server each time`, async () => {
    const path = toBoxPath(fixture().nextGtin())
    for (const turn of [1, 2]) {
      const { status, body, headers } = await fetchFromCdn(`${path}?limit=none`)
      expect({ status, control: headers['cache-control'] }).toEqual({ status: 400, control: 'no-store' })
      expect(body).toContain('limit')
      expect(fixture().countRequests(path)).toBe(turn)
    }
  })

  it(`${name} - headers of a visitor - do not change the response and do not reach the server`, async () => {
    const path = toBoxPath(fixture().nextGtin())
    const [first, withoutHeaders] = [await fetchFromCdn(path, VISITOR_HEADERS), await fetchFromCdn(path)]
    expect([first.status, first.body]).toEqual([200, withoutHeaders.body])
    expect([withoutHeaders.headers['content-encoding'], withoutHeaders.headers['set-cookie']]).toEqual([
      undefined,
      undefined,
    ])
    const originRequests = fixture().proxies.flatMap(({ requests }) =>
      requests.filter(({ url }) => url === path),
    )
    // Varnish always requests gzip; a fragment is never compressed.
    expect(
      originRequests.flatMap(findVisitorHeaders).filter((header) => header !== 'accept-encoding'),
    ).toEqual([])
  })

  it(`${name} - a visitor with a matching ETag - gets a 304 from the cache`, async () => {
    const path = toBoxPath(fixture().nextGtin())
    const { etag } = (await fetchFromCdn(path)).headers
    const notModified = await fetchFromCdn(path, { 'if-none-match': String(etag) })
    expect([notModified.status, notModified.body]).toEqual([304, ''])
    expect(fixture().countRequests(path)).toBe(1)
  })

  it(`${name} - an expired box - is revalidated with its ETag, and a 304 makes it fresh again`, async () => {
    const path = toBoxPath(fixture().nextGtin())
    fixture().setMaxAge(1)
    const { etag, 'vitrine-state': state } = (await fetchFromCdn(path)).headers
    await vi.waitFor(async () => {
      await fetchFromCdn(path)
      expect(fixture().countRequests(path)).toBeGreaterThan(1)
    })
    fixture().setMaxAge(null)
    const originRequests = fixture().proxies.flatMap(({ requests }) =>
      requests.filter(({ url }) => url === path),
    )
    expect(
      originRequests.at(-1)?.headers['if-none-match'] ?? originRequests.at(0)?.headers['if-none-match'],
    ).toBe(etag)
    const revalidated = await fetchFromCdn(path)
    expect([classifyResponse(revalidated), revalidated.headers.etag, state]).toEqual(['shown', etag, 'shown'])
  })

  it.each(['br', 'gzip', 'identity'])(
    `${name} - an embed, its style sheet and the loader, encoding %s - are cached`,
    async (encoding) => {
      const path = toBoxPath(fixture().nextGtin()).replace('/fragments/', '/embeds/')
      const { body } = await fetchFromCdn(path, { 'accept-encoding': 'identity' })
      const style = /\/assets\/vitrine\.[0-9a-f]+\.css/.exec(body)?.[0] ?? 'no style sheet'
      for (const file of [path, `${style}?v=1`, '/embed.js']) {
        const first = await fetchFromCdn(file, { 'accept-encoding': encoding })
        const countRequests = (): number => fixture().countRequests(file.split('?')[0] ?? '')
        // A cache may store a response shortly after it has sent it.
        await vi.waitFor(async () => {
          const count = countRequests()
          await fetchFromCdn(file, { 'accept-encoding': encoding })
          expect(countRequests()).toBe(count)
        })
        const [before, second] = [countRequests(), await fetchFromCdn(file, { 'accept-encoding': encoding })]
        expect([first.status, second.body]).toEqual([200, first.body])
        expect(countRequests()).toBe(before)
        expect(['identity', encoding, 'gzip']).toContain(second.headers['content-encoding'] ?? 'identity')
      }
    },
  )

  it(`${name} - uncached embeds - are counted for readers, not for bots, prefetches and the studio`, async () => {
    const gtin = fixture().nextGtin()
    const path = toBoxPath(gtin).replace('/fragments/', '/embeds/')
    for (const [sub, headers] of Object.entries(COUNTED_VISITS))
      expect((await fetchFromCdn(`${path}?sub=${sub}`, headers)).status).toBe(200)
    // A server stores its counts in order, so those of the visits are stored before these.
    for (const { port } of fixture().servers)
      await sendRequest(`http://127.0.0.1:${port}${path}?sub=last-${port}`, { headers: READER })
    const lastSubs = fixture().servers.map(({ port }) => `last-${port}`)
    await vi.waitFor(() => expect(fixture().readCountedSubs(gtin)).toEqual(expect.arrayContaining(lastSubs)))
    expect(fixture().readCountedSubs(gtin).toSorted()).toEqual([...lastSubs, 'reader'].toSorted())
  })

  it(`${name} - headers that decide whether an embed is counted - do not split the cache`, async () => {
    const path = toBoxPath(fixture().nextGtin()).replace('/fragments/', '/embeds/')
    const bodies = new Set<string>()
    for (const headers of Object.values(COUNTED_VISITS)) bodies.add((await fetchFromCdn(path, headers)).body)
    expect([bodies.size, fixture().countRequests(path)]).toEqual([1, 1])
  })

  it(`${name} - an embed of a visitor with long headers - is cached for all`, async () => {
    const path = toBoxPath(fixture().nextGtin()).replace('/fragments/', '/embeds/')
    const long = {
      'user-agent': `Mozilla ${'x'.repeat(6_000)}`,
      referer: `https://a.example/${'x'.repeat(6_000)}`,
    }
    const responses = [
      await fetchFromCdn(path, long),
      await fetchFromCdn(path, long),
      await fetchFromCdn(path),
    ]
    expect(responses.map(classifyResponse)).toEqual(['shown', 'shown', 'shown'])
    expect(fixture().countRequests(path)).toBe(1)
  })

  it(`${name} - a shop link - is never cached`, async () => {
    const offer = computeOfferId({ network: 'brightlink', merchant: 'Kopje', currency: 'EUR' })
    const path = `/go/${CHANNEL_ID}/${fixture().nextGtin()}/${offer}`
    for (const turn of [1, 2]) {
      const { status, headers } = await fetchFromCdn(path)
      expect([status, headers.location]).toEqual([302, 'https://links.example/c?shop=kopje'])
      expect(fixture().countRequests(path)).toBe(turn)
    }
  })

  it(`${name} - prefetch of a shop link - is refused, not tried on every server`, async () => {
    const path = `/go/${CHANNEL_ID}/${fixture().nextGtin()}/0123456789abcdef`
    for (const header of ['sec-purpose', 'x-moz']) {
      const { status, headers } = await fetchFromCdn(path, { [header]: 'prefetch' })
      expect([status, headers['cache-control']]).toEqual([503, 'no-store'])
    }
    expect(fixture().countRequests(path)).toBeLessThanOrEqual(2)
  })

  it.each(OPERATOR_PATHS)(`${name} - %s - is served only to operators' addresses`, async (path) => {
    const countBefore = fixture().countRequests(path)
    for (const cdnRequest of [{ from: '127.0.0.2' }, { headers: { 'x-forwarded-for': '192.0.2.7' } }])
      expect((await sendRequest(cdn().origin + path, cdnRequest)).status).toBe(404)
    expect(fixture().countRequests(path)).toBe(countBefore)
    await fetchFromCdn(path)
    expect(fixture().countRequests(path)).toBe(countBefore + 1)
  })

  it.each(['POST', 'DELETE', 'OPTIONS'])(`${name} - method %s - is rejected with 405`, async (method) => {
    const path = toBoxPath(fixture().nextGtin())
    expect((await sendRequest(cdn().origin + path, { method })).status).toBe(405)
    expect(fixture().countRequests(path)).toBe(0)
  })
}

/** Define one test per query: an option that a cache does not see must not change the box that it stores. */
export function testDisguisedOptions(name: string, { fixture, cdn }: CdnUnderTest): void {
  it.each(DISGUISED_QUERIES)(
    `${name} - an option disguised as %s - never reaches the next visitor`,
    async (query) => {
      const path = toBoxPath(fixture().nextGtin())
      const plain = (await sendRequest(`http://127.0.0.1:${fixture().servers[0]?.port}${path}`)).body
      const disguised = await sendRequest(cdn().origin + path + query)
      const isStorable = disguised.status === 200 && disguised.headers['cache-control'] !== 'no-store'
      expect(!isStorable || disguised.body === plain).toBe(true)
      for (const visitor of ['', '?utm=1', '?x=1', '']) {
        const { status, body } = await sendRequest(cdn().origin + path + visitor)
        expect({ status, body }).toEqual({ status: 200, body: plain })
      }
    },
  )
}

/** Paths that visitors must not reach, and spellings that a server treats as the same paths. */
const OPERATOR_PATHS = [
  '/metrics',
  '/healthz?deep=1',
  '/studio/gallery',
  '/METRICS',
  '/%6detrics',
  '/studi%6f/',
]

/** Queries with an option that some parsers see and others do not. */
const DISGUISED_QUERIES = [
  '??merchant=Nobody',
  '???merchant=Nobody&utm=1',
  '?x=1#&merchant=Nobody',
  '?utm=1#&merchant=Nobody',
  '#?merchant=Nobody',
  '?%6derchant=Nobody',
  '?x=1?merchant=Nobody',
  '?x=1;merchant=Nobody',
]

/** Queries that a careless cache key would treat as equal. */
const SIMILAR_QUERIES: readonly string[] = [
  '',
  '?',
  '?limit=1',
  '?Limit=1',
  '?%6cimit=1',
  '?limit=1&limit=2',
  '?limit=2&limit=1',
  '?xlimit=1',
  '?limit=',
  '?limit',
  '?merchant=Kopje',
  '?merchant=Tweede',
  '?merchant=Kopje&merchant=Tweede',
  '?merchant=Tweede&utm_source=a&merchant=Nobody',
  '?exclude=Kopje',
  '?exclude=Kopje&merchant=Tweede',
  '?theme=dark?limit=1',
  '?layout=table&limit=1',
  '?limit=1&theme=dark',
  '?limit=1%26theme=dark',
]
