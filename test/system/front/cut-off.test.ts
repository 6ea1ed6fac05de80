import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { CHANNEL_ID } from '../../helpers/fake-catalog.ts'
import { toGtin } from '../../helpers/products.ts'
import { describeWithProgram, findProgram } from '../includes/program.ts'
import { ask, judge } from './ask.ts'
import { lazily } from '../../helpers/lazily.ts'
import { toBox } from './place.ts'
import { type Front, startHaproxy, startNginx, startVarnish } from './programs.ts'
import { PRODUCTS, type Replicas, openReplicas } from './replicas.ts'

/** Visitors of each front at a time, how long each rests between two visits, and how many answers each part of a test needs at least. */
const VISITORS = 4
const REST_MS = 10
const ENOUGH = 120

const STARTS = { nginx: startNginx, haproxy: startHaproxy, varnishd: startVarnish } as const
type Program = keyof typeof STARTS
const PROGRAMS = Object.keys(STARTS) as Program[]

/** All that are installed, before the same servers: what happens to those happens to all at once. */
const fronts = new Map<Program, Front>()
let replicas: Replicas
beforeAll(async () => {
  replicas = await openReplicas()
  const installed = PROGRAMS.filter((program) => findProgram(program) !== undefined)
  for (const program of installed) fronts.set(program, await STARTS[program](replicas, replicas.ports))
  for (const front of fronts.values()) await waitUntilShown(() => front.origin + nextCold())
})
afterAll(() => replicas.dispose())

let turn = 0
/** A box or a grid that no cache and no server has yet. */
function nextCold(): string {
  turn += 1
  const options = `max_price=${1_000 + turn}`
  return turn % 10 === 0
    ? `/fragments/${CHANNEL_ID}/deals?${options}`
    : `${toBox(toGtin(turn % PRODUCTS))}?${options}`
}

function waitUntilShown(toUrl: () => string): Promise<void> {
  return vi.waitFor(async () => expect(judge(await ask(toUrl()))).toBe('shown'))
}

/** What a visitor sees; a front that does not answer fails its own tests alone. */
const see = (url: string): Promise<string> => ask(url).then(judge, String)

/** How often visitors of a front saw what. */
type Seen = Record<string, number>

/** What visitors of each front see while `action` goes on, and for some answers more. */
async function watch(action: () => Promise<void>): Promise<ReadonlyMap<Program, Seen>> {
  const sights = new Map<Program, Seen>()
  const over = new AbortController()
  const visit = async (front: Front, seen: Seen): Promise<void> => {
    while (!over.signal.aborted) {
      const sight = await see(front.origin + nextCold())
      seen[sight] = (seen[sight] ?? 0) + 1
      await systemClock.wait(REST_MS)
    }
  }
  const visitors = [...fronts].flatMap(([program, front]) => {
    const seen: Seen = {}
    sights.set(program, seen)
    return Array.from({ length: VISITORS }, () => visit(front, seen))
  })
  try {
    await action()
    await Promise.all([...sights.values()].map(waitForMore))
  } finally {
    over.abort()
    await Promise.all(visitors)
  }
  return sights
}

/** Until visitors of a front have seen enough more. A front that is too slow fails by itself, not with the others. */
async function waitForMore(seen: Seen): Promise<void> {
  const before = countVisits(seen)
  const waited = vi.waitFor(() => expect(countVisits(seen)).toBeGreaterThan(before + ENOUGH))
  await waited.catch((error: unknown) => (seen[String(error)] = 1))
}

function countVisits(seen: Seen): number {
  return Object.values(seen).reduce((sum, count) => sum + count, 0)
}

const look = async (index: number, query = ''): Promise<number> =>
  (await ask(`http://127.0.0.1:${replicas.ports[index]}/readyz${query}`)).status

/** Until every server says so. */
const waitFor = (statuses: readonly number[]): Promise<void> =>
  vi.waitFor(
    async () => {
      for (const [index, status] of statuses.entries())
        expect(await look(index, '?require=database')).toBe(status)
    },
    { interval: 100 },
  )

function restartEach(): Promise<ReadonlyMap<Program, Seen>> {
  return watch(async () => {
    for (const index of replicas.ports.keys()) await replicas.restart(index)
  })
}

async function cutOneOff(): Promise<ReadonlyMap<Program, Seen>> {
  await waitFor([200, 200, 200])
  try {
    return await watch(async () => {
      replicas.ways[1]?.setCut(true)
      await waitFor([200, 503, 200])
    })
  } finally {
    replicas.ways[1]?.setCut(false)
    await waitFor([200, 200, 200])
  }
}

/** What a grid that no server knows is meanwhile, for visitors of each front. */
async function cutAllOff(): Promise<ReadonlyMap<Program, string>> {
  const path = toBox(toGtin(1))
  for (const port of replicas.ports) expect(judge(await ask(`http://127.0.0.1:${port}${path}`))).toBe('shown')
  try {
    for (const way of replicas.ways) way.setCut(true)
    await waitFor([503, 503, 503])
    expect(await Promise.all([0, 1, 2].map((index) => look(index)))).toEqual([200, 200, 200])
    const grids = new Map<Program, string>()
    for (const [program, { origin }] of fronts) {
      const shown = waitUntilShown(() => `${origin}${path}?max_price=${(turn += 1) + 1_000}`)
      const grid = shown.then(() => see(`${origin}/fragments/${CHANNEL_ID}/deals?max_price=7`))
      grids.set(program, await grid.catch(String))
    }
    return grids
  } finally {
    for (const way of replicas.ways) way.setCut(false)
    await waitFor([200, 200, 200])
  }
}

/** What happens to the servers happens once, when the first program asks what its visitors saw. */
const restarted = lazily(restartEach)
const oneCutOff = lazily(cutOneOff)
const allCutOff = lazily(cutAllOff)

for (const program of PROGRAMS)
  describeWithProgram(program, `${program} before three servers of one database`, () => {
    it('restarted one after the other - no visitor sees it', async () => {
      const seen = (await restarted()).get(program) ?? {}
      expect(Object.keys(seen)).toEqual(['shown'])
    })

    it('one cut off from the database - the others answer in its place', async () => {
      await restarted()
      const seen = (await oneCutOff()).get(program) ?? {}
      expect(Object.keys(seen)).toEqual(['shown'])
    })

    it('all cut off - what a server knows is shown, the rest is nothing, and all stay', async () => {
      await restarted()
      await oneCutOff()
      expect((await allCutOff()).get(program)).toBe('unavailable')
      const { origin } = fronts.get(program) ?? { origin: 'none' }
      await waitUntilShown(() => origin + nextCold())
    })
  })
