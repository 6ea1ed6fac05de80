import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeWithProgram } from '../includes/program.ts'
import { ask, judge } from './ask.ts'
import { type FrontPlace, openFrontPlace, toBox } from './place.ts'
import { type Front, startNginx, startVarnish } from './programs.ts'

/** Visitors at a time, each of whom asks for one box after the other. */
const VISITORS = 6
/** Every so many visits a box that the cache does not have yet: the servers have to be asked. */
const COLD_EVERY = 4
/** Answers after the server has ended, so that the front meets a closed port as well. */
const VISITS_AFTER = 300

describeWithProgram('varnishd', 'Varnish in front of three servers', () => {
  itLosesNobody('Varnish', startVarnish)
})
describeWithProgram('nginx', 'nginx in front of three servers', () => {
  itLosesNobody('nginx', startNginx)
})

function itLosesNobody(
  name: string,
  start: (place: FrontPlace, ports: readonly number[]) => Promise<Front>,
): void {
  let place: FrontPlace
  let front: Front
  beforeAll(async () => {
    place = await openFrontPlace()
    front = await start(
      place,
      place.servers.map(({ port }) => port),
    )
  })
  afterAll(() => place.dispose())

  it(`${name} - one server stopped, and then another, under load - no visitor sees it`, async () => {
    const seen = new Map<string, number>()
    let visits = 0
    const over = new AbortController()
    const gtins = Array.from({ length: 20 }, () => place.nextGtin())
    const visit = async (): Promise<void> => {
      while (!over.signal.aborted) {
        const turn = visits++
        const path = toBox(gtins[turn % gtins.length] ?? '')
        const cold = turn % COLD_EVERY === 0 ? `?max_price=${turn}&limit=${(turn % 50) + 1}` : ''
        const answer = await ask(front.origin + path + cold)
        const sight = `${judge(answer)}, whole: ${answer.body.endsWith('</section>')}`
        seen.set(sight, (seen.get(sight) ?? 0) + 1)
      }
    }
    const visitors = Array.from({ length: VISITORS }, visit)
    for (const server of place.servers.slice(1)) {
      await server.stop()
      const stoppedAt = visits
      await expect.poll(() => visits).toBeGreaterThan(stoppedAt + VISITS_AFTER)
    }
    over.abort()
    await Promise.all(visitors)
    expect([...seen.keys()]).toEqual(['shown, whole: true'])
  })

  it(`${name} - the last one stopped as well - what it keeps is served on, the rest is nothing`, async () => {
    const [kept, cold] = [toBox(place.nextGtin()), toBox(place.nextGtin())]
    expect(judge(await ask(front.origin + kept))).toBe('shown')
    await place.servers[0]?.stop()
    expect([judge(await ask(front.origin + kept)), judge(await ask(front.origin + cold))]).toEqual([
      'shown',
      'unavailable',
    ])
  })
}
