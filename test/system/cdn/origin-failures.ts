import { expect, it, vi } from 'vitest'
import type { FaultProxy, FaultMode } from '../includes/fault-proxy.ts'
import { type CdnResponse, sendRequest, classifyResponse } from './send-request.ts'
import { toBoxPath } from './fixture.ts'
import type { CdnUnderTest } from './sharing.ts'

/** How servers behind can fail, and how many: refuse, never answer, break the connection, or have somebody between who says 500. */
const FAILURES: readonly (readonly [mode: FaultMode, failing: number])[] = [
  ['down', 1],
  ['hang', 1],
  ['reset', 1],
  ['500', 1],
  ['reset', 2],
]

/** The same of a whole fleet; broken connections are like refused ones then. */
const OUTAGES: readonly FaultMode[] = ['down', 'hang', '500']

/** Visitors of a fleet of which one server fails. */
const VISITORS = 12

const countBoxRequests = (gate: FaultProxy): number =>
  gate.requests.filter(({ url }) => url !== '/readyz').length

/** What every shared cache in front has to do while servers behind it fail. `isNew`: an answer in the place of the one before. */
export function testOriginFailures(
  name: string,
  { fixture, cdn }: CdnUnderTest,
  isNew: (response: CdnResponse, before: CdnResponse) => boolean,
): void {
  const fetchFromCdn = (path: string): Promise<CdnResponse> => sendRequest(cdn().origin + path)
  /** Until the front has seen that they are back. */
  const restoreServers = async (): Promise<void> => {
    await fixture().setAllModes('shown')
    await vi.waitFor(
      async () => expect(classifyResponse(await fetchFromCdn(toBoxPath(fixture().nextGtin())))).toBe('shown'),
      {
        interval: 100,
      },
    )
  }

  /** Until the front asks a server for boxes; what it has seen failing it leaves alone for a while. */
  const waitUntilRequested = async (gate: FaultProxy): Promise<void> => {
    const before = countBoxRequests(gate)
    await vi.waitFor(
      async () => {
        await fetchFromCdn(toBoxPath(fixture().nextGtin()))
        expect(countBoxRequests(gate)).toBeGreaterThan(before)
      },
      { interval: 50 },
    )
  }

  it.each(FAILURES)(
    `${name} - servers of three that fail: %s %i - are felt by nobody`,
    async (mode, failing) => {
      const gates = fixture().gates.slice(0, failing)
      for (const gate of gates) await waitUntilRequested(gate)
      for (const gate of gates) await gate.setMode(mode)
      const countsBefore = gates.map(countBoxRequests)
      const paths = Array.from({ length: VISITORS }, () => toBoxPath(fixture().nextGtin()))
      const responses = await Promise.all(paths.map(fetchFromCdn))
      const requestedGates = gates.filter(
        (gate, index) => mode === 'down' || countBoxRequests(gate) > (countsBefore[index] ?? 0),
      )
      await fixture().setAllModes('shown')
      expect(new Set(responses.map(classifyResponse))).toEqual(new Set(['shown']))
      // Nothing is proved by servers that were not asked.
      expect(requestedGates).toEqual(gates)
    },
  )

  it.each(OUTAGES)(
    `${name} - all servers: %s - the old box is served, and a new one when they are back`,
    async (mode) => {
      const path = toBoxPath(fixture().nextGtin())
      fixture().setMaxAge(1, 0, 600)
      let before = await fetchFromCdn(path)
      expect(classifyResponse(before)).toBe('shown')
      await fixture().setAllModes(mode)
      fixture().setMaxAge(null)
      // Longer than its freshness and the time while it may be renewed: only stale-if-error allows it.
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

  it(`${name} - many visitors of a cold box that nobody has - wait for no queue`, async () => {
    await fixture().setAllModes('unavailable')
    const path = toBoxPath(fixture().nextGtin())
    const responses = await Promise.all(Array.from({ length: VISITORS }, () => fetchFromCdn(path)))
    await fixture().setAllModes('shown')
    expect(new Set(responses.map(classifyResponse))).toEqual(new Set(['unavailable']))
    // Had they waited one after the other in a queue, the last ones would have met `ask`'s limit of 20 s.
  })

  it.each(['down', '500'] as const)(
    `${name} - all servers: %s, and nothing old enough is kept - nothing is shown, and no error`,
    async (mode) => {
      const [cold, expired] = [toBoxPath(fixture().nextGtin()), toBoxPath(fixture().nextGtin())]
      // As at the end of a price's age.
      fixture().setMaxAge(1, 0)
      expect(classifyResponse(await fetchFromCdn(expired))).toBe('shown')
      fixture().setMaxAge(null)
      await fixture().setAllModes(mode)
      const first = await fetchFromCdn(cold)
      expect([classifyResponse(first), first.headers['cache-control']]).toEqual(['unavailable', 'no-store'])
      await vi.waitFor(async () => expect(classifyResponse(await fetchFromCdn(expired))).toBe('unavailable'))
      await restoreServers()
      await vi.waitFor(async () => expect(classifyResponse(await fetchFromCdn(cold))).toBe('shown'))
    },
  )
}
