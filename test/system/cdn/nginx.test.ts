import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { describeWithProgram } from '../includes/program.ts'
import { type CdnResponse, sendRequest, classifyResponse, waitForHit } from './send-request.ts'
import { testOriginFailures } from './origin-failures.ts'
import { type CdnFixture, createCdnFixture, toBoxPath } from './fixture.ts'
import { type Cdn, startNginx } from './programs.ts'
import { testSharedCache, testDisguisedOptions } from './sharing.ts'

/** The line of the configuration that rejects URLs whose query nginx parses differently from the server. */
const GUARD = 'if ($request_uri ~ "#|^[^?]*[?][?]") { return 400; }'

/** `Accept-Encoding` of a browser. */
const CHROME = 'gzip, deflate, br, zstd'
const REFRESH = { 'x-vitrine-refresh': '1' }

describeWithProgram('nginx', 'nginx', () => {
  let fixture: CdnFixture
  let cdn: Cdn
  beforeAll(async () => {
    fixture = await createCdnFixture()
    cdn = await startNginx(
      fixture,
      fixture.proxies.map(({ port }) => port),
    )
  })
  afterAll(() => fixture.dispose())
  const cdnUnderTest = { fixture: () => fixture, cdn: () => cdn }

  testSharedCache('nginx', cdnUnderTest)

  describe('without this guard, so that only the servers protect the cache', () => {
    let unguarded: Cdn
    beforeAll(async () => {
      unguarded = await startNginx(
        fixture,
        fixture.proxies.map(({ port }) => port),
        [[GUARD, '']],
      )
    })
    testDisguisedOptions('nginx', { fixture: () => fixture, cdn: () => unguarded })
  })

  it.each(['??limit=1', '?x=1#&limit=1', '#'])(
    'nginx - %s - is a 400 without a request to a server',
    async (query) => {
      const path = toBoxPath(fixture.nextGtin())
      expect((await sendRequest(cdn.origin + path + query)).status).toBe(400)
      expect(fixture.countRequests(path)).toBe(0)
    },
  )

  it('nginx - a cached box - is fresh for a minute in browsers', async () => {
    const url = cdn.origin + toBoxPath(fixture.nextGtin())
    const [first, cached] = [await sendRequest(url), await waitForHit(url)]
    expect(first.headers['x-cache']).toBe('MISS')
    for (const { headers } of [first, cached]) expect(headers['cache-control']).toBe('public, max-age=60')
    const style = await sendRequest(`${cdn.origin}/embed.js`)
    expect(style.headers['cache-control']).toContain('stale-if-error=86400')
  })

  it('nginx - a refresh from an allowed address - refreshes only this response', async () => {
    const [path, other] = [toBoxPath(fixture.nextGtin()), toBoxPath(fixture.nextGtin())]
    for (const eachPath of [path, other]) await waitForHit(cdn.origin + eachPath)
    const refreshed = await sendRequest(cdn.origin + path, { headers: REFRESH })
    expect([refreshed.status, refreshed.headers['x-cache']]).toEqual([200, 'BYPASS'])
    for (const eachPath of [path, other]) await waitForHit(cdn.origin + eachPath)
    expect([fixture.countRequests(path), fixture.countRequests(other)]).toEqual([2, 1])
  })

  it('nginx - an embed refreshed with br - is served for every Accept-Encoding that allows br', async () => {
    const path = toBoxPath(fixture.nextGtin()).replace('/fragments/', '/embeds/')
    const get = (encoding: string, more = {}): Promise<CdnResponse> =>
      sendRequest(cdn.origin + path, { headers: { 'accept-encoding': encoding, ...more } })
    expect((await get(CHROME)).headers['vitrine-state']).toBe('shown')
    await fixture.setAllModes('hidden')
    expect((await get('br', REFRESH)).headers['vitrine-state']).toBe('hidden')
    await fixture.setAllModes('shown')
    // As for `waitForHit`, the new response is cached a moment later.
    await expect.poll(async () => (await get(CHROME)).headers['vitrine-state']).toBe('hidden')
    for (const acceptEncoding of [CHROME, 'br', 'gzip;q=0.5, BR;q=1.0', 'gzip, br;q=0.01']) {
      const { headers } = await get(acceptEncoding)
      expect([headers['x-cache'], headers['vitrine-state']]).toEqual(['HIT', 'hidden'])
      expect(headers.vary).toBe('Accept-Encoding')
    }
    expect((await get('br;q=0, gzip')).headers['content-encoding']).toBe('gzip')
    expect((await get('br; q=0.000, gzip;q=0')).headers['content-encoding']).toBeUndefined()
    expect((await get(CHROME)).headers['vitrine-state']).toBe('hidden')
  })

  it.each([
    { from: '127.0.0.2', headers: REFRESH },
    { headers: { ...REFRESH, 'x-forwarded-for': '192.0.2.7' } },
    { headers: { 'x-vitrine-refresh': '1:1:' } },
    { headers: { 'x-vitrine-refresh': 'yes' } },
  ])('nginx - a refresh with %j - is rejected', async (cdnRequest) => {
    const path = toBoxPath(fixture.nextGtin())
    await sendRequest(cdn.origin + path)
    expect((await sendRequest(cdn.origin + path, cdnRequest)).status).toBe(403)
    expect(fixture.countRequests(path)).toBe(1)
  })

  it('nginx - all servers failed a few requests - the next request still reaches a server', async () => {
    await fixture.setAllModes('500')
    for (let turn = 0; turn < 3; turn += 1)
      expect(classifyResponse(await sendRequest(cdn.origin + toBoxPath(fixture.nextGtin())))).toBe(
        'unavailable',
      )
    await fixture.setAllModes('shown')
    for (let turn = 0; turn < 3; turn += 1)
      expect(classifyResponse(await sendRequest(cdn.origin + toBoxPath(fixture.nextGtin())))).toBe('shown')
  })

  testOriginFailures('nginx', cdnUnderTest, ({ headers }) => headers['x-cache'] === 'HIT')
})
