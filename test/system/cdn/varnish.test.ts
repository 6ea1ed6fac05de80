import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { describeWithProgram } from '../includes/program.ts'
import { sendRequest, classifyResponse } from './send-request.ts'
import { testOriginFailures } from './origin-failures.ts'
import { type CdnFixture, createCdnFixture, toBoxPath } from './fixture.ts'
import { type Cdn, startVarnish } from './programs.ts'
import { testPurgeByTag } from './purging.ts'
import { testSharedCache } from './sharing.ts'

describeWithProgram('varnishd', 'Varnish', () => {
  let fixture: CdnFixture
  let cdn: Cdn
  beforeAll(async () => {
    fixture = await createCdnFixture()
    cdn = await startVarnish(fixture, toPorts(fixture))
  })
  afterAll(() => fixture.dispose())
  const cdnUnderTest = { fixture: () => fixture, cdn: () => cdn }
  const ban = async (tag: string): Promise<void> => {
    const { status } = await sendRequest(cdn.origin, { method: 'BAN', headers: { 'x-vitrine-tag': tag } })
    expect(status).toBe(200)
  }

  testSharedCache('Varnish', cdnUnderTest)
  testPurgeByTag('Varnish, servers without cache tags', { ...cdnUnderTest, purge: ban, isTagged: false })

  it('Varnish - a cached box - has headers with its age and its origin', async () => {
    const url = cdn.origin + toBoxPath(fixture.nextGtin())
    const first = await sendRequest(url)
    expect(first.headers['cache-status']).toMatch(/^vitrine; .*, varnish; fwd=miss$/)
    const second = await sendRequest(url)
    expect(second.headers['cache-status']).toMatch(/^vitrine; .*, varnish; hit$/)
    expect(Number(second.headers.age)).toBeLessThan(60)
    expect(second.headers['cache-control']).toMatch(/^public, max-age=\d+, stale-if-error=\d+$/)
    expect(Object.keys(second.headers).filter((name) => name.startsWith('x-vitrine'))).toEqual([])
  })

  it.each([
    ['PURGE', { from: '127.0.0.2' }, 403],
    ['BAN', { from: '127.0.0.2' }, 403],
    // A request of a visitor that a proxy on the same machine forwards.
    ['PURGE', { headers: { 'x-forwarded-for': '192.0.2.7' } }, 403],
    ['BAN', { headers: { 'x-forwarded-for': '192.0.2.7', 'x-vitrine-tag': 'vitrine' } }, 403],
    ['BAN', {}, 400],
    ['BAN', { headers: { 'x-vitrine-tag': 'product-1' } }, 400],
    ['BAN', { headers: { 'x-vitrine-tag': 'vitrine || obj.status != 0' } }, 400],
    ['PURGE', {}, 200],
  ])('Varnish - %s with %j - is %i', async (method, cdnRequest, status) => {
    const url = cdn.origin + toBoxPath(fixture.nextGtin())
    await sendRequest(url)
    expect((await sendRequest(url, { ...cdnRequest, method })).status).toBe(status)
    const { headers } = await sendRequest(url)
    expect(headers['cache-status']?.includes('varnish; hit')).toBe(status !== 200)
  })

  it('Varnish - healthy servers without data - the cached box is served longer than it is fresh, then replaced', async () => {
    // Shorten the grace time with healthy servers, so that the test does not need ten minutes.
    const shortGrace = await startVarnish(fixture, toPorts(fixture), [['600s', '1s']])
    const url = shortGrace.origin + toBoxPath(fixture.nextGtin())
    fixture.setMaxAge(1, 1, 600)
    expect(classifyResponse(await sendRequest(url))).toBe('shown')
    fixture.setMaxAge(null)
    await fixture.setAllModes('unavailable')
    let ageSeconds = 0
    const measureAgeChange = async (): Promise<number> => {
      const before = ageSeconds
      ageSeconds = Number((await sendRequest(url)).headers.age)
      return ageSeconds - before
    }
    await vi.waitFor(
      async () => {
        await measureAgeChange()
        expect(ageSeconds).toBeGreaterThan(2)
      },
      { interval: 100 },
    )
    expect(classifyResponse(await sendRequest(url))).toBe('shown')
    await fixture.setAllModes('shown')
    await vi.waitFor(async () => expect(await measureAgeChange()).toBeLessThan(0))
  })

  testOriginFailures(
    'Varnish',
    cdnUnderTest,
    ({ headers }, before) => Number(headers.age) < Number(before.headers.age),
  )
})

function toPorts({ proxies }: CdnFixture): number[] {
  return proxies.map(({ port }) => port)
}
