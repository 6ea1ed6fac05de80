import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { describeWithProgram } from '../includes/program.ts'
import { ask, judge } from './ask.ts'
import { itServesThroughFailures } from './failing.ts'
import { type FrontPlace, openFrontPlace, toBox } from './place.ts'
import { type Front, startVarnish } from './programs.ts'
import { itPurgesByTag } from './purging.ts'
import { itIsASharedCache } from './sharing.ts'

describeWithProgram('varnishd', 'Varnish in front', () => {
  let place: FrontPlace
  let front: Front
  beforeAll(async () => {
    place = await openFrontPlace()
    front = await startVarnish(place, toPorts(place))
  })
  afterAll(() => place.dispose())
  const fronted = { place: () => place, front: () => front }
  const ban = async (tag: string): Promise<void> => {
    const { status } = await ask(front.origin, { method: 'BAN', headers: { 'x-vitrine-tag': tag } })
    expect(status).toBe(200)
  }

  itIsASharedCache('Varnish', fronted)
  itPurgesByTag('Varnish, servers that send no tags', { ...fronted, purge: ban, isTagged: false })

  it('Varnish - a kept box - says how old it is, and where it comes from', async () => {
    const url = front.origin + toBox(place.nextGtin())
    const first = await ask(url)
    expect(first.headers['cache-status']).toMatch(/^vitrine; .*, varnish; fwd=miss$/)
    const second = await ask(url)
    expect(second.headers['cache-status']).toMatch(/^vitrine; .*, varnish; hit$/)
    expect(Number(second.headers.age)).toBeLessThan(60)
    expect(second.headers['cache-control']).toMatch(/^public, max-age=\d+, stale-if-error=\d+$/)
    expect(Object.keys(second.headers).filter((name) => name.startsWith('x-vitrine'))).toEqual([])
  })

  it.each([
    ['PURGE', { from: '127.0.0.2' }, 403],
    ['BAN', { from: '127.0.0.2' }, 403],
    // A proxy on the same machine hands on what a visitor sent.
    ['PURGE', { headers: { 'x-forwarded-for': '192.0.2.7' } }, 403],
    ['BAN', { headers: { 'x-forwarded-for': '192.0.2.7', 'x-vitrine-tag': 'vitrine' } }, 403],
    ['BAN', {}, 400],
    ['BAN', { headers: { 'x-vitrine-tag': 'product-1' } }, 400],
    ['BAN', { headers: { 'x-vitrine-tag': 'vitrine || obj.status != 0' } }, 400],
    ['PURGE', {}, 200],
  ])('Varnish - %s with %j - is %i', async (method, asking, status) => {
    const url = front.origin + toBox(place.nextGtin())
    await ask(url)
    expect((await ask(url, { ...asking, method })).status).toBe(status)
    const { headers } = await ask(url)
    expect(headers['cache-status']?.includes('varnish; hit')).toBe(status !== 200)
  })

  it('Varnish - servers that look well and have nothing - the old box is served as long as it may be', async () => {
    // The time in which an old box needs no question, shortened: ten minutes are long for a test.
    const impatient = await startVarnish(place, toPorts(place), [['600s', '1s']])
    const url = impatient.origin + toBox(place.nextGtin())
    place.setMaxAge(1, 1, 600)
    expect(judge(await ask(url))).toBe('shown')
    place.setMaxAge(null)
    await place.setAll('unavailable')
    let ageSeconds = 0
    const lookAtAge = async (): Promise<number> => {
      const before = ageSeconds
      ageSeconds = Number((await ask(url)).headers.age)
      return ageSeconds - before
    }
    await vi.waitFor(
      async () => {
        await lookAtAge()
        expect(ageSeconds).toBeGreaterThan(2)
      },
      { interval: 100 },
    )
    expect(judge(await ask(url))).toBe('shown')
    await place.setAll('shown')
    await vi.waitFor(async () => expect(await lookAtAge()).toBeLessThan(0))
  })

  itServesThroughFailures(
    'Varnish',
    fronted,
    ({ headers }, before) => Number(headers.age) < Number(before.headers.age),
  )
})

function toPorts({ gates }: FrontPlace): number[] {
  return gates.map(({ port }) => port)
}
