import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { describeWithProgram, findProgram } from '../includes/program.ts'
import { sendRequest, classifyResponse } from './send-request.ts'
import { lazy } from '../../helpers/lazy.ts'
import { type CdnFixture, createCdnFixture, toBoxPath } from './fixture.ts'
import { type Cdn, startNginx, startVarnish } from './programs.ts'

/** Visitors of each front at a time, each of whom asks for one box after the other. */
const VISITORS = 6
/** Every so many visits a box that the cache does not have yet: the servers have to be asked. */
const UNCACHED_INTERVAL = 4
/** Answers after the server has ended, so that the front meets a closed port as well. */
const MIN_RESPONSES = 300

const STARTERS = { varnishd: startVarnish, nginx: startNginx } as const
type Program = keyof typeof STARTERS
const NAMES = [
  ['varnishd', 'Varnish'],
  ['nginx', 'nginx'],
] as const

/** All that are installed, before the same servers: what happens to those happens to both at once. */
const cdns = new Map<Program, Cdn>()
let fixture: CdnFixture
beforeAll(async () => {
  fixture = await createCdnFixture()
  const ports = fixture.servers.map(({ port }) => port)
  for (const [program] of NAMES)
    if (findProgram(program) !== undefined) cdns.set(program, await STARTERS[program](fixture, ports))
})
afterAll(() => fixture.dispose())

/** What a visitor sees, and whether it is whole; a front that does not answer fails its own tests alone. */
const fetchOutcome = (url: string): Promise<string> =>
  sendRequest(url).then(
    (response) => `${classifyResponse(response)}, whole: ${response.body.endsWith('</section>')}`,
    String,
  )

/** How often visitors of a front saw what. */
type OutcomeCounts = Map<string, number>

/** What visitors of a front see, and how often they have asked. */
type Visitors = Readonly<{ outcomes: OutcomeCounts; count(): number; ended: Promise<unknown> }>

/** The visitors of a front until they are told to end: what they see, and how often it was asked. */
function startVisitors(cdn: Cdn, stopSignal: AbortSignal): Visitors {
  const outcomes: OutcomeCounts = new Map()
  let visits = 0
  const gtins = Array.from({ length: 20 }, () => fixture.nextGtin())
  const visit = async (): Promise<void> => {
    while (!stopSignal.aborted) {
      const requestNumber = visits++
      const path = toBoxPath(gtins[requestNumber % gtins.length] ?? '')
      const cold =
        requestNumber % UNCACHED_INTERVAL === 0
          ? `?max_price=${requestNumber}&limit=${(requestNumber % 50) + 1}`
          : ''
      const outcome = await fetchOutcome(cdn.origin + path + cold)
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    }
  }
  return { outcomes, count: () => visits, ended: Promise.all(Array.from({ length: VISITORS }, visit)) }
}

/** One server is stopped, and then another, under load. */
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

/** Until visitors of a front were answered often enough. A front that is too slow fails by itself, not with the others. */
async function waitForMoreResponses({ outcomes, count }: Visitors): Promise<void> {
  const previousCount = count()
  const waited = vi.waitFor(() => expect(count()).toBeGreaterThan(previousCount + MIN_RESPONSES))
  await waited.catch((error: unknown) => outcomes.set(String(error), 1))
}

/** The last one is stopped as well: what visitors of a front had before of the first box, and have then of it and of another. */
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
  describeWithProgram(program, `${name} in front of three servers`, () => {
    it(`${name} - one server stopped, and then another, under load - no visitor sees it`, async () => {
      const outcomes = (await afterTwoStops()).get(program)
      expect([...(outcomes?.keys() ?? [])]).toEqual(['shown, whole: true'])
    })

    it(`${name} - the last one stopped as well - what it keeps is served on, the rest is nothing`, async () => {
      await afterTwoStops()
      expect((await afterAllStops()).get(program)).toEqual(['shown', 'shown', 'unavailable'])
    })
  })
