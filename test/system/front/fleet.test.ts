import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { describeWithProgram, findProgram } from '../includes/program.ts'
import { ask, judge } from './ask.ts'
import { lazily } from '../../helpers/lazily.ts'
import { type FrontPlace, openFrontPlace, toBox } from './place.ts'
import { type Front, startNginx, startVarnish } from './programs.ts'

/** Visitors of each front at a time, each of whom asks for one box after the other. */
const VISITORS = 6
/** Every so many visits a box that the cache does not have yet: the servers have to be asked. */
const COLD_EVERY = 4
/** Answers after the server has ended, so that the front meets a closed port as well. */
const VISITS_AFTER = 300

const STARTS = { varnishd: startVarnish, nginx: startNginx } as const
type Program = keyof typeof STARTS
const NAMES = [
  ['varnishd', 'Varnish'],
  ['nginx', 'nginx'],
] as const

/** All that are installed, before the same servers: what happens to those happens to both at once. */
const fronts = new Map<Program, Front>()
let place: FrontPlace
beforeAll(async () => {
  place = await openFrontPlace()
  const ports = place.servers.map(({ port }) => port)
  for (const [program] of NAMES)
    if (findProgram(program) !== undefined) fronts.set(program, await STARTS[program](place, ports))
})
afterAll(() => place.dispose())

/** What a visitor sees, and whether it is whole; a front that does not answer fails its own tests alone. */
const see = (url: string): Promise<string> =>
  ask(url).then((answer) => `${judge(answer)}, whole: ${answer.body.endsWith('</section>')}`, String)

/** How often visitors of a front saw what. */
type Seen = Map<string, number>

/** What visitors of a front see, and how often they have asked. */
type Visitors = Readonly<{ seen: Seen; count(): number; ended: Promise<unknown> }>

/** The visitors of a front until they are told to end: what they see, and how often it was asked. */
function startVisitors(front: Front, over: AbortSignal): Visitors {
  const seen: Seen = new Map()
  let visits = 0
  const gtins = Array.from({ length: 20 }, () => place.nextGtin())
  const visit = async (): Promise<void> => {
    while (!over.aborted) {
      const turn = visits++
      const path = toBox(gtins[turn % gtins.length] ?? '')
      const cold = turn % COLD_EVERY === 0 ? `?max_price=${turn}&limit=${(turn % 50) + 1}` : ''
      const sight = await see(front.origin + path + cold)
      seen.set(sight, (seen.get(sight) ?? 0) + 1)
    }
  }
  return { seen, count: () => visits, ended: Promise.all(Array.from({ length: VISITORS }, visit)) }
}

/** One server is stopped, and then another, under load. */
const twoStopped = lazily(async (): Promise<ReadonlyMap<Program, Seen>> => {
  const over = new AbortController()
  const visitors = new Map(
    [...fronts].map(([program, front]) => [program, startVisitors(front, over.signal)]),
  )
  try {
    for (const server of place.servers.slice(1)) {
      await server.stop()
      await Promise.all([...visitors.values()].map(waitForVisits))
    }
  } finally {
    over.abort()
    await Promise.all([...visitors.values()].map(({ ended }) => ended))
  }
  return new Map([...visitors].map(([program, { seen }]) => [program, seen]))
})

/** Until visitors of a front were answered often enough. A front that is too slow fails by itself, not with the others. */
async function waitForVisits({ seen, count }: Visitors): Promise<void> {
  const before = count()
  const waited = vi.waitFor(() => expect(count()).toBeGreaterThan(before + VISITS_AFTER))
  await waited.catch((error: unknown) => seen.set(String(error), 1))
}

/** The last one is stopped as well: what visitors of a front had before of the first box, and have then of it and of another. */
const allStopped = lazily(async (): Promise<ReadonlyMap<Program, readonly string[]>> => {
  const [kept, cold] = [toBox(place.nextGtin()), toBox(place.nextGtin())]
  const seen = new Map<Program, string[]>()
  for (const [program, { origin }] of fronts)
    seen.set(program, [await ask(origin + kept).then(judge, String)])
  await place.servers[0]?.stop()
  for (const [program, { origin }] of fronts)
    for (const path of [kept, cold]) seen.get(program)?.push(await ask(origin + path).then(judge, String))
  return seen
})

for (const [program, name] of NAMES)
  describeWithProgram(program, `${name} in front of three servers`, () => {
    it(`${name} - one server stopped, and then another, under load - no visitor sees it`, async () => {
      const seen = (await twoStopped()).get(program)
      expect([...(seen?.keys() ?? [])]).toEqual(['shown, whole: true'])
    })

    it(`${name} - the last one stopped as well - what it keeps is served on, the rest is nothing`, async () => {
      await twoStopped()
      expect((await allStopped()).get(program)).toEqual(['shown', 'shown', 'unavailable'])
    })
  })
