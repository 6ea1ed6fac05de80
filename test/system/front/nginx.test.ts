import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { describeWithProgram } from '../includes/program.ts'
import { type Answered, ask, judge } from './ask.ts'
import { itServesThroughFailures } from './failing.ts'
import { type FrontPlace, openFrontPlace, toBox } from './place.ts'
import { type Front, startNginx } from './programs.ts'
import { itIsASharedCache, itSharesNoDisguise } from './sharing.ts'

/** The line of the file that refuses addresses whose query nginx reads in another way than a server. */
const GUARD = 'if ($request_uri ~ "#|^[^?]*[?][?]") { return 400; }'

/** How a browser asks. */
const CHROME = 'gzip, deflate, br, zstd'
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

  describe('without the guard of its file, as the servers have to hold alone', () => {
    let unguarded: Front
    beforeAll(async () => {
      unguarded = await startNginx(
        place,
        place.gates.map(({ port }) => port),
        [[GUARD, '']],
      )
    })
    itSharesNoDisguise('nginx', { place: () => place, front: () => unguarded })
  })

  it.each(['??limit=1', '?x=1#&limit=1', '#'])(
    'nginx - %s - is 400, and no server is asked',
    async (query) => {
      const path = toBox(place.nextGtin())
      expect((await ask(front.origin + path + query)).status).toBe(400)
      expect(place.count(path)).toBe(0)
    },
  )

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

  it('nginx - an embed refreshed with br - is the one that browsers get, whatever their words for it', async () => {
    const path = toBox(place.nextGtin()).replace('/fragments/', '/embeds/')
    const get = (encoding: string, more = {}): Promise<Answered> =>
      ask(front.origin + path, { headers: { 'accept-encoding': encoding, ...more } })
    expect((await get(CHROME)).headers['vitrine-state']).toBe('shown')
    await place.setAll('hidden')
    expect((await get('br', REFRESH)).headers['vitrine-state']).toBe('hidden')
    await place.setAll('shown')
    // nginx answers a moment before it keeps what it answered with.
    await expect.poll(async () => (await get(CHROME)).headers['vitrine-state']).toBe('hidden')
    for (const words of [CHROME, 'br', 'gzip;q=0.5, BR;q=1.0', 'gzip, br;q=0.01']) {
      const { headers } = await get(words)
      expect([headers['x-cache'], headers['vitrine-state']]).toEqual(['HIT', 'hidden'])
      expect(headers.vary).toBe('Accept-Encoding')
    }
    expect((await get('br;q=0, gzip')).headers['content-encoding']).toBe('gzip')
    expect((await get('br; q=0.000, gzip;q=0')).headers['content-encoding']).toBeUndefined()
    expect((await get(CHROME)).headers['vitrine-state']).toBe('hidden')
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

  it('nginx - all servers failed a few questions - the next question is asked all the same', async () => {
    await place.setAll('500')
    for (let turn = 0; turn < 3; turn += 1)
      expect(judge(await ask(front.origin + toBox(place.nextGtin())))).toBe('unavailable')
    await place.setAll('shown')
    for (let turn = 0; turn < 3; turn += 1)
      expect(judge(await ask(front.origin + toBox(place.nextGtin())))).toBe('shown')
  })

  itServesThroughFailures('nginx', fronted, ({ headers }) => headers['x-cache'] === 'HIT')
})
