import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { SECOND_MS } from '../../../src/clock.ts'
import { CHANNEL_ID } from '../../helpers/fake-catalog.ts'
import { toGtin } from '../../helpers/products.ts'
import { describeWithProgram } from '../includes/program.ts'
import { ask, judge } from './ask.ts'
import { toBox } from './place.ts'
import { type Front, startHaproxy, startNginx, startVarnish } from './programs.ts'
import { PRODUCTS, type Replicas, openReplicas } from './replicas.ts'

/** Visitors at a time, and how many answers each part of a test needs at least. */
const VISITORS = 4
const ENOUGH = 120

const STARTS = { nginx: startNginx, haproxy: startHaproxy, varnishd: startVarnish } as const

let replicas: Replicas
beforeAll(async () => {
  replicas = await openReplicas()
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

/** What visitors see while `action` goes on, and for some answers more. */
async function watch(front: Front, action: () => Promise<void>): Promise<Record<string, number>> {
  const seen: Record<string, number> = {}
  let visits = 0
  const over = new AbortController()
  const visit = async (): Promise<void> => {
    while (!over.signal.aborted) {
      const sight = judge(await ask(front.origin + nextCold()))
      seen[sight] = (seen[sight] ?? 0) + 1
      visits += 1
    }
  }
  const visitors = Array.from({ length: VISITORS }, visit)
  await action()
  const then = visits
  await expect.poll(() => visits, { timeout: 60 * SECOND_MS }).toBeGreaterThan(then + ENOUGH)
  over.abort()
  await Promise.all(visitors)
  return seen
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
    { timeout: 60 * SECOND_MS, interval: 100 },
  )

for (const program of ['nginx', 'haproxy', 'varnishd'] as const)
  describeWithProgram(program, `${program} before three servers of one database`, () => {
    let front: Front
    beforeAll(async () => {
      front = await STARTS[program](replicas, replicas.ports)
    })

    it('restarted one after the other - no visitor sees it', async () => {
      await vi.waitFor(async () => expect(judge(await ask(front.origin + nextCold()))).toBe('shown'))
      const seen = await watch(front, async () => {
        for (const index of replicas.ports.keys()) await replicas.restart(index)
      })
      expect(Object.keys(seen)).toEqual(['shown'])
    })

    it('one cut off from the database - the others answer in its place', async () => {
      await waitFor([200, 200, 200])
      const seen = await watch(front, async () => {
        replicas.ways[1]?.setCut(true)
        await waitFor([200, 503, 200])
      })
      replicas.ways[1]?.setCut(false)
      expect(Object.keys(seen)).toEqual(['shown'])
      await waitFor([200, 200, 200])
    })

    it('all cut off - what a server knows is shown, the rest is nothing, and all stay', async () => {
      const path = toBox(toGtin(1))
      for (const port of replicas.ports)
        expect(judge(await ask(`http://127.0.0.1:${port}${path}`))).toBe('shown')
      for (const way of replicas.ways) way.setCut(true)
      await waitFor([503, 503, 503])
      expect(await Promise.all([0, 1, 2].map((index) => look(index)))).toEqual([200, 200, 200])
      await vi.waitFor(async () =>
        expect(judge(await ask(`${front.origin}${path}?max_price=${(turn += 1) + 1_000}`))).toBe('shown'),
      )
      expect(judge(await ask(`${front.origin}/fragments/${CHANNEL_ID}/deals?max_price=7`))).toBe(
        'unavailable',
      )
      for (const way of replicas.ways) way.setCut(false)
      await waitFor([200, 200, 200])
      await vi.waitFor(async () => expect(judge(await ask(front.origin + nextCold()))).toBe('shown'))
    })
  })
