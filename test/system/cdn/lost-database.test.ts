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

/** Concurrent visitors of each CDN, their pause between visits, and the minimum responses in each part of a test. */
const VISITORS = 2
const REST_MS = 50
const MIN_RESPONSES = 60

const STARTERS = { nginx: startNginx, haproxy: startHaproxy, varnishd: startVarnish } as const
type Program = keyof typeof STARTERS
const PROGRAMS = Object.keys(STARTERS) as Program[]

/** The installed CDNs. They share the servers, so each failure affects all of them at once. */
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
/** Return the path of a box or a grid that no CDN and no server has cached. */
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

/** Return what a visitor sees. An error is an outcome too, so that it fails only the tests of this CDN. */
const fetchOutcome = (url: string): Promise<string> => sendRequest(url).then(classifyResponse, String)

/** Number of visits by outcome. */
type OutcomeCounts = Record<string, number>

/** Count the outcomes of each CDN's visitors during `action` and for some responses after it. */
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

/** Wait for enough responses. A timeout counts as an outcome, so that it fails only the tests of this CDN. */
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

/** Wait until each server has this status of readiness with its database. */
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

/** Cut off every server from the database. Return the state of an uncached grid per CDN. */
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

/** Each runs once for all CDNs, when the first test needs its result. */
const afterRestarts = lazy(restartEachReplica)
const afterOneCutOff = lazy(cutOffOneReplica)
const afterAllCutOff = lazy(cutOffAllReplicas)

for (const program of PROGRAMS)
  describeWithProgram(program, `${program}, three servers with one database`, () => {
    it('servers restarted one after the other - every visitor sees the box', async () => {
      const outcomes = (await afterRestarts()).get(program) ?? {}
      expect(Object.keys(outcomes)).toEqual(['shown'])
    })

    it('one server cut off from the database - the others respond instead', async () => {
      await afterRestarts()
      const outcomes = (await afterOneCutOff()).get(program) ?? {}
      expect(Object.keys(outcomes)).toEqual(['shown'])
    })

    it('all servers cut off - boxes in memory are shown, a grid is unavailable, and all recover', async () => {
      await afterRestarts()
      await afterOneCutOff()
      expect((await afterAllCutOff()).get(program)).toBe('unavailable')
      const { origin } = cdns.get(program) ?? { origin: 'none' }
      await waitUntilShown(() => origin + createUncachedPath())
    })
  })
