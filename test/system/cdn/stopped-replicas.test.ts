import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { describeWithProgram, findProgram } from '../includes/program.ts'
import { sendRequest, classifyResponse } from './send-request.ts'
import { lazy } from '../../helpers/lazy.ts'
import { type CdnFixture, createCdnFixture, toBoxPath } from './fixture.ts'
import { type Cdn, startNginx, startVarnish } from './programs.ts'

/** Number of concurrent visitors of each CDN; each requests one box after the other. */
const VISITORS = 6
/** Every nth visit requests an uncached box, so that the CDN must call a server. */
const UNCACHED_INTERVAL = 4
/** Minimum responses after a server has stopped, so that the CDN also meets a closed port. */
const MIN_RESPONSES = 300

const STARTERS = { varnishd: startVarnish, nginx: startNginx } as const
type Program = keyof typeof STARTERS
const NAMES = [
  ['varnishd', 'Varnish'],
  ['nginx', 'nginx'],
] as const

/** The installed CDNs. They share the servers, so a stopped server affects both at once. */
const cdns = new Map<Program, Cdn>()
let fixture: CdnFixture
beforeAll(async () => {
  fixture = await createCdnFixture()
  const ports = fixture.servers.map(({ port }) => port)
  for (const [program] of NAMES)
    if (findProgram(program) !== undefined) cdns.set(program, await STARTERS[program](fixture, ports))
})
afterAll(() => fixture.dispose())

/** Return what a visitor sees. An error is an outcome too, so that it fails only the tests of this CDN. */
const fetchOutcome = (url: string): Promise<string> =>
  sendRequest(url).then(
    (response) => `${classifyResponse(response)}, whole: ${response.body.endsWith('</section>')}`,
    String,
  )

/** Number of visits by outcome. */
type OutcomeCounts = Map<string, number>

/** The visitors of one CDN: their outcomes and the number of their requests. */
type Visitors = Readonly<{ outcomes: OutcomeCounts; count(): number; ended: Promise<unknown> }>

/** Start the visitors of a CDN; they visit until the signal aborts. */
function startVisitors(cdn: Cdn, stopSignal: AbortSignal): Visitors {
  const outcomes: OutcomeCounts = new Map()
  let visits = 0
  const gtins = Array.from({ length: 20 }, () => fixture.nextGtin())
  const visit = async (): Promise<void> => {
    while (!stopSignal.aborted) {
      const requestNumber = visits++
      const path = toBoxPath(gtins[requestNumber % gtins.length] ?? '')
      const query =
        requestNumber % UNCACHED_INTERVAL === 0
          ? `?max_price=${requestNumber}&limit=${(requestNumber % 50) + 1}`
          : ''
      const outcome = await fetchOutcome(cdn.origin + path + query)
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    }
  }
  return { outcomes, count: () => visits, ended: Promise.all(Array.from({ length: VISITORS }, visit)) }
}

/** Stop one server and then another, under load. */
const afterTwoStops = lazy(async (): Promise<ReadonlyMap<Program, OutcomeCounts>> => {
  const stopController = new AbortController()
  const visitors = new Map(
    [...cdns].map(([program, cdn]) => [program, startVisitors(cdn, stopController.signal)]),
  )
  try {
    for (const server of fixture.servers.slice(1)) {
      await server.stop()
      await Promise.all([...visitors.values()].map(waitForMoreResponses))
    }
  } finally {
    stopController.abort()
    await Promise.all([...visitors.values()].map(({ ended }) => ended))
  }
  return new Map([...visitors].map(([program, { outcomes }]) => [program, outcomes]))
})

/** Wait for enough responses. A timeout counts as an outcome, so that it fails only the tests of this CDN. */
async function waitForMoreResponses({ outcomes, count }: Visitors): Promise<void> {
  const previousCount = count()
  const waited = vi.waitFor(() => expect(count()).toBeGreaterThan(previousCount + MIN_RESPONSES))
  await waited.catch((error: unknown) => outcomes.set(String(error), 1))
}

/** Stop the last server. Return per CDN: the state of a box before and after, and of an uncached box after. */
const afterAllStops = lazy(async (): Promise<ReadonlyMap<Program, readonly string[]>> => {
  const [cachedPath, uncachedPath] = [toBoxPath(fixture.nextGtin()), toBoxPath(fixture.nextGtin())]
  const statesByProgram = new Map<Program, string[]>()
  for (const [program, { origin }] of cdns)
    statesByProgram.set(program, [await sendRequest(origin + cachedPath).then(classifyResponse, String)])
  await fixture.servers[0]?.stop()
  for (const [program, { origin }] of cdns)
    for (const path of [cachedPath, uncachedPath])
      statesByProgram.get(program)?.push(await sendRequest(origin + path).then(classifyResponse, String))
  return statesByProgram
})

for (const [program, name] of NAMES)
  describeWithProgram(program, `${name}, three servers`, () => {
    it(`${name} - one server stopped, then another, under load - every visitor sees the whole box`, async () => {
      const outcomes = (await afterTwoStops()).get(program)
      expect([...(outcomes?.keys() ?? [])]).toEqual(['shown, whole: true'])
    })

    it(`${name} - the last server stopped - a cached box is still served, an uncached one is unavailable`, async () => {
      await afterTwoStops()
      expect((await afterAllStops()).get(program)).toEqual(['shown', 'shown', 'unavailable'])
    })
  })
