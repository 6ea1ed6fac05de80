import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeWithProgram } from '../includes/program.ts'
import { ask } from './ask.ts'
import { itServesThroughFailures } from './failing.ts'
import { type FrontPlace, openFrontPlace, toBox } from './place.ts'
import { type Front, startNginx } from './programs.ts'
import { itIsASharedCache } from './sharing.ts'

const REFRESH = { 'x-vitrine-refresh': '1' }

describeWithProgram('nginx', 'nginx in front', () => {
  let place: FrontPlace
  let front: Front
  beforeAll(async () => {
    place = await openFrontPlace()
    front = await startNginx(
      place,
      place.gates.map(({ port }) => port),
    )
  })
  afterAll(() => place.dispose())
  const fronted = { place: () => place, front: () => front }

  itIsASharedCache('nginx', fronted)

  it('nginx - a kept box - counts for a minute in browsers, which are not told its age', async () => {
    const url = front.origin + toBox(place.nextGtin())
    for (const cache of ['MISS', 'HIT']) {
      const { headers } = await ask(url)
      expect([headers['x-cache'], headers['cache-control']]).toEqual([cache, 'public, max-age=60'])
    }
    const style = await ask(`${front.origin}/embed.js`)
    expect(style.headers['cache-control']).toContain('stale-if-error=86400')
  })

  it('nginx - a refresh from an allowed address - is of this one answer', async () => {
    const [path, other] = [toBox(place.nextGtin()), toBox(place.nextGtin())]
    for (const one of [path, other]) await ask(front.origin + one)
    const refreshed = await ask(front.origin + path, { headers: REFRESH })
    expect([refreshed.status, refreshed.headers['x-cache']]).toEqual([200, 'BYPASS'])
    for (const one of [path, other]) {
      expect((await ask(front.origin + one)).headers['x-cache']).toBe('HIT')
    }
    expect([place.count(path), place.count(other)]).toEqual([2, 1])
  })

  it.each([
    { from: '127.0.0.2', headers: REFRESH },
    { headers: { ...REFRESH, 'x-forwarded-for': '192.0.2.7' } },
    { headers: { 'x-vitrine-refresh': '1:1:' } },
    { headers: { 'x-vitrine-refresh': 'yes' } },
  ])('nginx - a refresh with %j - is refused', async (asking) => {
    const path = toBox(place.nextGtin())
    await ask(front.origin + path)
    expect((await ask(front.origin + path, asking)).status).toBe(403)
    expect(place.count(path)).toBe(1)
  })

  itServesThroughFailures('nginx', fronted, ({ headers }) => headers['x-cache'] === 'HIT')
})
