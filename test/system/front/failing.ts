import { expect, it, vi } from 'vitest'
import type { Gate, GateMode } from '../includes/gate.ts'
import { type Answered, ask, judge } from './ask.ts'
import { toBox } from './place.ts'
import type { Fronted } from './sharing.ts'

/** How servers behind can fail, and how many: refuse, never answer, break the connection, or have somebody between who says 500. */
const FAILURES: readonly (readonly [mode: GateMode, failing: number])[] = [
  ['down', 1],
  ['hang', 1],
  ['reset', 1],
  ['500', 1],
  ['reset', 2],
]

/** The same of a whole fleet; broken connections are like refused ones then. */
const OUTAGES: readonly GateMode[] = ['down', 'hang', '500']

/** Visitors of a fleet of which one server fails. */
const VISITORS = 12

const countBoxes = (gate: Gate): number => gate.requests.filter(({ url }) => url !== '/readyz').length

/** What every shared cache in front has to do while servers behind it fail. `isNew`: an answer in the place of the one before. */
export function itServesThroughFailures(
  name: string,
  { place, front }: Fronted,
  isNew: (answer: Answered, before: Answered) => boolean,
): void {
  const see = (path: string): Promise<Answered> => ask(front().origin + path)
  /** Until the front has seen that they are back. */
  const bringBack = async (): Promise<void> => {
    await place().setAll('shown')
    await vi.waitFor(async () => expect(judge(await see(toBox(place().nextGtin())))).toBe('shown'), {
      interval: 100,
    })
  }

  /** Until the front asks a server for boxes; what it has seen failing it leaves alone for a while. */
  const findAsked = async (gate: Gate): Promise<void> => {
    const before = countBoxes(gate)
    await vi.waitFor(
      async () => {
        await see(toBox(place().nextGtin()))
        expect(countBoxes(gate)).toBeGreaterThan(before)
      },
      { interval: 50 },
    )
  }

  it.each(FAILURES)(
    `${name} - servers of three that fail: %s %i - are felt by nobody`,
    async (mode, failing) => {
      const gates = place().gates.slice(0, failing)
      for (const gate of gates) await findAsked(gate)
      for (const gate of gates) await gate.setMode(mode)
      const before = gates.map(countBoxes)
      const paths = Array.from({ length: VISITORS }, () => toBox(place().nextGtin()))
      const seen = await Promise.all(paths.map(see))
      const asked = gates.filter((gate, index) => mode === 'down' || countBoxes(gate) > (before[index] ?? 0))
      await place().setAll('shown')
      expect(new Set(seen.map(judge))).toEqual(new Set(['shown']))
      // Nothing is proved by servers that were not asked.
      expect(asked).toEqual(gates)
    },
  )

  it.each(OUTAGES)(
    `${name} - all servers: %s - the old box is served, and a new one when they are back`,
    async (mode) => {
      const path = toBox(place().nextGtin())
      place().setMaxAge(1, 0, 600)
      let before = await see(path)
      expect(judge(before)).toBe('shown')
      await place().setAll(mode)
      place().setMaxAge(null)
      // Longer than its freshness and the time while it may be renewed: only stale-if-error allows it.
      const since = Date.now()
      const seen: string[] = []
      await vi.waitFor(
        async () => {
          before = await see(path)
          seen.push(judge(before))
          expect(Date.now() - since).toBeGreaterThan(2_200)
        },
        { interval: 200 },
      )
      expect(new Set(seen)).toEqual(new Set(['shown']))
      await bringBack()
      await vi.waitFor(
        async () => {
          const [last, now] = [before, await see(path)]
          before = now
          expect(isNew(now, last)).toBe(true)
        },
        { interval: 50 },
      )
    },
  )

  it(`${name} - many visitors of a cold box that nobody has - wait for no queue`, async () => {
    await place().setAll('unavailable')
    const path = toBox(place().nextGtin())
    const seen = await Promise.all(Array.from({ length: VISITORS }, () => see(path)))
    await place().setAll('shown')
    expect(new Set(seen.map(judge))).toEqual(new Set(['unavailable']))
    // Had they waited one after the other in a queue, the last ones would have met `ask`'s limit of 20 s.
  })

  it.each(['down', '500'] as const)(
    `${name} - all servers: %s, and nothing old enough is kept - nothing is shown, and no error`,
    async (mode) => {
      const [cold, gone] = [toBox(place().nextGtin()), toBox(place().nextGtin())]
      // As at the end of a price's age.
      place().setMaxAge(1, 0)
      expect(judge(await see(gone))).toBe('shown')
      place().setMaxAge(null)
      await place().setAll(mode)
      const first = await see(cold)
      expect([judge(first), first.headers['cache-control']]).toEqual(['unavailable', 'no-store'])
      await vi.waitFor(async () => expect(judge(await see(gone))).toBe('unavailable'))
      await bringBack()
      await vi.waitFor(async () => expect(judge(await see(cold))).toBe('shown'))
    },
  )
}
