import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { CHANNEL_ID } from '../../helpers/fake-catalog.ts'
import { toGtin } from '../../helpers/products.ts'
import { describeWithProgram, findProgram } from '../includes/program.ts'
import { sendRequest, classifyResponse } from './send-request.ts'
import { lazy } from '../../helpers/lazy.ts'
import { toBoxPath } from './fixture.ts'
import { type Cdn, startHaproxy, startNginx, startVarnish } from './programs.ts'
import { PRODUCTS, type ReplicaFixture, createReplicaFixture } from './replica-fixture.ts'

/** Visitors of each front at a time, how long each rests between two visits, and how many answers each part of a test needs at least. */
const VISITORS = 4
const REST_MS = 10
const MIN_RESPONSES = 120

const STARTERS = { nginx: startNginx, haproxy: startHaproxy, varnishd: startVarnish } as const
type Program = keyof typeof STARTERS
const PROGRAMS = Object.keys(STARTERS) as Program[]

/** All that are installed, before the same servers: what happens to those happens to all at once. */
const cdns = new Map<Program, Cdn>()
let replicas: ReplicaFixture
beforeAll(async () => {
  replicas = await createReplicaFixture()
  const installed = PROGRAMS.filter((program) => findProgram(program) !== undefined)
  for (const program of installed) cdns.set(program, await STARTERS[program](replicas, replicas.ports))
  for (const cdn of cdns.values()) await waitUntilShown(() => cdn.origin + createUncachedPath())
})
afterAll(() => replicas.dispose())

let requestNumber = 0
/** A box or a grid that no cache and no server has yet. */
function createUncachedPath(): string {
  requestNumber += 1
  const options = `max_price=${1_000 + requestNumber}`
  return requestNumber % 10 === 0
    ? `/fragments/${CHANNEL_ID}/deals?${options}`
    : `${toBoxPath(toGtin(requestNumber % PRODUCTS))}?${options}`
}

function waitUntilShown(toUrl: () => string): Promise<void> {
  return vi.waitFor(async () => expect(classifyResponse(await sendRequest(toUrl()))).toBe('shown'))
}

/** What a visitor sees; a front that does not answer fails its own tests alone. */
const fetchOutcome = (url: string): Promise<string> => sendRequest(url).then(classifyResponse, String)

/** How often visitors of a front saw what. */
type OutcomeCounts = Record<string, number>

/** What visitors of each front see while `action` goes on, and for some answers more. */
async function countOutcomesDuring(
  action: () => Promise<void>,
): Promise<ReadonlyMap<Program, OutcomeCounts>> {
  const outcomesByProgram = new Map<Program, OutcomeCounts>()
  const stopController = new AbortController()
  const visit = async (cdn: Cdn, outcomes: OutcomeCounts): Promise<void> => {
    while (!stopController.signal.aborted) {
      const outcome = await fetchOutcome(cdn.origin + createUncachedPath())
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
      await systemClock.wait(REST_MS)
    }
  }
  const visitors = [...cdns].flatMap(([program, cdn]) => {
    const outcomes: OutcomeCounts = {}
    outcomesByProgram.set(program, outcomes)
    return Array.from({ length: VISITORS }, () => visit(cdn, outcomes))
  })
  try {
    await action()
    await Promise.all([...outcomesByProgram.values()].map(waitForMoreResponses))
  } finally {
    stopController.abort()
    await Promise.all(visitors)
  }
  return outcomesByProgram
}

/** Until visitors of a front have seen enough more. A front that is too slow fails by itself, not with the others. */
async function waitForMoreResponses(outcomes: OutcomeCounts): Promise<void> {
  const previousCount = countResponses(outcomes)
  const waited = vi.waitFor(() =>
    expect(countResponses(outcomes)).toBeGreaterThan(previousCount + MIN_RESPONSES),
  )
  await waited.catch((error: unknown) => (outcomes[String(error)] = 1))
}

function countResponses(outcomes: OutcomeCounts): number {
  return Object.values(outcomes).reduce((sum, count) => sum + count, 0)
}

const readReadinessStatus = async (index: number, query = ''): Promise<number> =>
  (await sendRequest(`http://127.0.0.1:${replicas.ports[index]}/readyz${query}`)).status

/** Until every server says so. */
const waitForReadiness = (statuses: readonly number[]): Promise<void> =>
  vi.waitFor(
    async () => {
      for (const [index, status] of statuses.entries())
        expect(await readReadinessStatus(index, '?require=database')).toBe(status)
    },
    { interval: 100 },
  )

function restartEachReplica(): Promise<ReadonlyMap<Program, OutcomeCounts>> {
  return countOutcomesDuring(async () => {
    for (const index of replicas.ports.keys()) await replicas.restart(index)
  })
}

async function cutOffOneReplica(): Promise<ReadonlyMap<Program, OutcomeCounts>> {
  await waitForReadiness([200, 200, 200])
  try {
    return await countOutcomesDuring(async () => {
      replicas.databaseProxies[1]?.setCut(true)
      await waitForReadiness([200, 503, 200])
    })
  } finally {
    replicas.databaseProxies[1]?.setCut(false)
    await waitForReadiness([200, 200, 200])
  }
}

/** What a grid that no server knows is meanwhile, for visitors of each front. */
async function cutOffAllReplicas(): Promise<ReadonlyMap<Program, string>> {
  const path = toBoxPath(toGtin(1))
  for (const port of replicas.ports)
    expect(classifyResponse(await sendRequest(`http://127.0.0.1:${port}${path}`))).toBe('shown')
  try {
    for (const proxy of replicas.databaseProxies) proxy.setCut(true)
    await waitForReadiness([503, 503, 503])
    expect(await Promise.all([0, 1, 2].map((index) => readReadinessStatus(index)))).toEqual([200, 200, 200])
    const grids = new Map<Program, string>()
    for (const [program, { origin }] of cdns) {
      const shown = waitUntilShown(() => `${origin}${path}?max_price=${(requestNumber += 1) + 1_000}`)
      const grid = shown.then(() => fetchOutcome(`${origin}/fragments/${CHANNEL_ID}/deals?max_price=7`))
      grids.set(program, await grid.catch(String))
    }
    return grids
  } finally {
    for (const proxy of replicas.databaseProxies) proxy.setCut(false)
    await waitForReadiness([200, 200, 200])
  }
}

/** What happens to the servers happens once, when the first program asks what its visitors saw. */
const afterRestarts = lazy(restartEachReplica)
const afterOneCutOff = lazy(cutOffOneReplica)
const afterAllCutOff = lazy(cutOffAllReplicas)

for (const program of PROGRAMS)
  describeWithProgram(program, `${program} before three servers of one database`, () => {
    it('restarted one after the other - no visitor sees it', async () => {
      const outcomes = (await afterRestarts()).get(program) ?? {}
      expect(Object.keys(outcomes)).toEqual(['shown'])
    })

    it('one cut off from the database - the others answer in its place', async () => {
      await afterRestarts()
      const outcomes = (await afterOneCutOff()).get(program) ?? {}
      expect(Object.keys(outcomes)).toEqual(['shown'])
    })

    it('all cut off - what a server knows is shown, the rest is nothing, and all stay', async () => {
      await afterRestarts()
      await afterOneCutOff()
      expect((await afterAllCutOff()).get(program)).toBe('unavailable')
      const { origin } = cdns.get(program) ?? { origin: 'none' }
      await waitUntilShown(() => origin + createUncachedPath())
    })
  })
