import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { PACKAGE_FOLDER } from '../../../src/lib/paths.ts'
import { CHANNEL_ID, makeWireOffer, makeWireProduct } from '../../helpers/fake-catalog.ts'
import { describeWithProgram } from '../includes/program.ts'
import { ask } from './ask.ts'
import { type FrontPlace, openFrontPlace, toBox } from './place.ts'
import { type Front, startNginx, startVarnish } from './programs.ts'
import { type Purge, itPurgesByTag } from './purging.ts'
import type { Fronted } from './sharing.ts'

const run = promisify(execFile)

/** Servers that ask the catalog again after a second, so that a test can wait for it. */
const SETTINGS = {
  VITRINE_CACHE_TAG_HEADER: 'surrogate-key',
  VITRINE_FRESH_SECONDS: '1',
  VITRINE_STALE_SECONDS: '1',
}

let place: FrontPlace
beforeAll(async () => {
  place = await openFrontPlace(SETTINGS)
})
afterAll(() => place.dispose())

/** A price that has to go: first from the catalog, then from the server, then from the cache. */
function itForgetsAPrice(name: string, { front }: Fronted, purge: Purge): void {
  it(`${name} - a price that was wrong - is gone once its product is purged`, async () => {
    const gtin = place.nextGtin()
    const path = toBox(gtin)
    expect((await ask(front().origin + path)).body).toContain('49.90')
    const products = place.catalog.products.get(CHANNEL_ID) ?? []
    const corrected = makeWireProduct({ gtin, offers: [makeWireOffer({ price: '39.90' })] })
    place.catalog.products.set(
      CHANNEL_ID,
      products.map((one) => (one.gtin === gtin ? corrected : one)),
    )
    await vi.waitFor(
      async () => {
        for (const { port } of place.servers) {
          expect((await ask(`http://127.0.0.1:${port}${path}`)).body).toContain('39.90')
        }
      },
      { interval: 200 },
    )
    expect((await ask(front().origin + path)).body).toContain('49.90')
    await purge(`product-${gtin}`)
    expect((await ask(front().origin + path)).body).toContain('39.90')
  })

  it(`${name} - tags - are not for visitors`, async () => {
    for (const turn of ['first', 'second']) {
      const { headers } = await ask(front().origin + toBox(place.nextGtin()))
      expect([turn, headers['surrogate-key'], headers['x-vitrine-tags']]).toEqual([
        turn,
        undefined,
        undefined,
      ])
    }
  })
}

describeWithProgram('varnishd', 'Varnish in front of servers that send tags', () => {
  const { fronted, getFront } = useFront(startVarnish)
  const ban: Purge = async (tag) => {
    const asking = { method: 'BAN', headers: { 'x-vitrine-tag': tag } }
    expect((await ask(getFront().origin, asking)).status).toBe(200)
  }
  itPurgesByTag('Varnish', { ...fronted, purge: ban, isTagged: true })
  itForgetsAPrice('Varnish', fronted, ban)
})

describeWithProgram('nginx', 'nginx in front of servers that send tags', () => {
  const { fronted, getFront } = useFront(startNginx)
  const script = join(PACKAGE_FOLDER, 'deploy/nginx/purge.sh')
  const purge: Purge = async (tag) => {
    await run('sh', [script, getFront().cacheFolder, tag])
  }
  itPurgesByTag('nginx', { ...fronted, purge, isTagged: true })
  itForgetsAPrice('nginx', fronted, purge)

  it.each(['product-1', '.*', 'vitrine|x', `channel-${CHANNEL_ID}\nvitrine`, '-r', ''])(
    'purge.sh - %j - is no tag, and nothing is deleted',
    async (tag) => {
      const url = getFront().origin + toBox(place.nextGtin())
      await ask(url)
      await expect(run('sh', [script, getFront().cacheFolder, tag])).rejects.toThrow(/not a tag|the tag/)
      expect((await ask(url)).headers['x-cache']).toBe('HIT')
    },
  )
})

/** A front for a describe, before the servers of this file. */
function useFront(start: (place: FrontPlace, ports: readonly number[]) => Promise<Front>): {
  fronted: Fronted
  getFront(): Front
} {
  let front: Front
  beforeAll(async () => {
    front = await start(
      place,
      place.gates.map(({ port }) => port),
    )
  })
  return { fronted: { place: () => place, front: () => front }, getFront: () => front }
}
