import { expect, it, vi } from 'vitest'
import type { FaultProxy, FaultMode } from '../includes/fault-proxy.ts'
import { type CdnResponse, sendRequest, classifyResponse } from './send-request.ts'
import { toBoxPath } from './fixture.ts'
import type { CdnUnderTest } from './sharing.ts'

/** Failures, and the number of servers that fail. With `500`, a proxy in between responds with an error page. */
const FAILURES: readonly (readonly [mode: FaultMode, failing: number])[] = [
  ['down', 1],
  ['hang', 1],
  ['reset', 1],
  ['500', 1],
  ['reset', 2],
]

/** Failures of all servers. `reset` is omitted: it has the same effect as `down` here. */
const OUTAGES: readonly FaultMode[] = ['down', 'hang', '500']

/** Number of concurrent visitors. */
const VISITORS = 12

const countBoxRequests = (proxy: FaultProxy): number =>
  proxy.requests.filter(({ url }) => url !== '/readyz').length

/** Define the tests that every shared cache must pass while servers fail. `isNew`: is the response newer than the one before? */
export function testOriginFailures(
  name: string,
  { fixture, cdn }: CdnUnderTest,
  isNew: (response: CdnResponse, before: CdnResponse) => boolean,
): void {
  const fetchFromCdn = (path: string): Promise<CdnResponse> => sendRequest(cdn().origin + path)
  /** Restore all servers, and wait until the CDN uses them again. */
  const restoreServers = async (): Promise<void> => {
    await fixture().setAllModes('shown')
    await vi.waitFor(
      async () => expect(classifyResponse(await fetchFromCdn(toBoxPath(fixture().nextGtin())))).toBe('shown'),
      {
        interval: 100,
      },
    )
  }

  /** Wait until the CDN requests a box from the server: it avoids a server for a while after a failure. */
  const waitUntilRequested = async (proxy: FaultProxy): Promise<void> => {
    const before = countBoxRequests(proxy)
    await vi.waitFor(
      async () => {
        await fetchFromCdn(toBoxPath(fixture().nextGtin()))
        expect(countBoxRequests(proxy)).toBeGreaterThan(before)
      },
      { interval: 50 },
    )
  }

  it.each(FAILURES)(
    `${name} - three servers, failure %s of %i - every visitor sees the box`,
    async (mode, failing) => {
      const proxies = fixture().proxies.slice(0, failing)
      for (const proxy of proxies) await waitUntilRequested(proxy)
      for (const proxy of proxies) await proxy.setMode(mode)
      const countsBefore = proxies.map(countBoxRequests)
      const paths = Array.from({ length: VISITORS }, () => toBoxPath(fixture().nextGtin()))
      const responses = await Promise.all(paths.map(fetchFromCdn))
      const requestedProxies = proxies.filter(
        (proxy, index) => mode === 'down' || countBoxRequests(proxy) > (countsBefore[index] ?? 0),
      )
      await fixture().setAllModes('shown')
      expect(new Set(responses.map(classifyResponse))).toEqual(new Set(['shown']))
      // A failing server that received no request proves nothing.
      expect(requestedProxies).toEqual(proxies)
    },
  )

  it.each(OUTAGES)(
    `${name} - failure %s of all servers - the cached box is served, and a new one after recovery`,
    async (mode) => {
      const path = toBoxPath(fixture().nextGtin())
      fixture().setMaxAge(1, 0, 600)
      let before = await fetchFromCdn(path)
      expect(classifyResponse(before)).toBe('shown')
      await fixture().setAllModes(mode)
      fixture().setMaxAge(null)
      // Longer than max-age and stale-while-revalidate, so that only stale-if-error allows the box.
      const since = Date.now()
      const responses: string[] = []
      await vi.waitFor(
        async () => {
          before = await fetchFromCdn(path)
          responses.push(classifyResponse(before))
          expect(Date.now() - since).toBeGreaterThan(2_200)
        },
        { interval: 200 },
      )
      expect(new Set(responses)).toEqual(new Set(['shown']))
      await restoreServers()
      await vi.waitFor(
        async () => {
          const [previous, current] = [before, await fetchFromCdn(path)]
          before = current
          expect(isNew(current, previous)).toBe(true)
        },
        { interval: 50 },
      )
    },
  )

  it(`${name} - many visitors of an uncached box in an outage - do not wait in a queue`, async () => {
    await fixture().setAllModes('unavailable')
    const path = toBoxPath(fixture().nextGtin())
    const responses = await Promise.all(Array.from({ length: VISITORS }, () => fetchFromCdn(path)))
    await fixture().setAllModes('shown')
    expect(new Set(responses.map(classifyResponse))).toEqual(new Set(['unavailable']))
    // In a queue, the last visitors would exceed the timeout of `sendRequest`.
  })

  it.each(['down', '500'] as const)(
    `${name} - failure %s of all servers, no usable cached box - shows nothing, and no error`,
    async (mode) => {
      const [uncached, expired] = [toBoxPath(fixture().nextGtin()), toBoxPath(fixture().nextGtin())]
      // Like a box whose prices are about to reach their maximum age.
      fixture().setMaxAge(1, 0)
      expect(classifyResponse(await fetchFromCdn(expired))).toBe('shown')
      fixture().setMaxAge(null)
      await fixture().setAllModes(mode)
      const first = await fetchFromCdn(uncached)
      expect([classifyResponse(first), first.headers['cache-control']]).toEqual(['unavailable', 'no-store'])
      await vi.waitFor(async () => expect(classifyResponse(await fetchFromCdn(expired))).toBe('unavailable'))
      await restoreServers()
      await vi.waitFor(async () => expect(classifyResponse(await fetchFromCdn(uncached))).toBe('shown'))
    },
  )
}
