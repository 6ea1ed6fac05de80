import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { PACKAGE_FOLDER } from '../../../src/lib/files.ts'
import { CHANNEL_ID, makeWireOffer, makeWireProduct } from '../../helpers/fake-catalog.ts'
import { describeWithProgram } from '../includes/program.ts'
import { sendRequest, waitForHit } from './send-request.ts'
import { type CdnFixture, createCdnFixture, toBoxPath } from './fixture.ts'
import { type Cdn, startNginx, startVarnish } from './programs.ts'
import { type Purge, testPurgeByTag } from './purging.ts'
import type { CdnUnderTest } from './sharing.ts'

const run = promisify(execFile)

/** The servers refresh products after a second, so that a test can wait for it. */
const SETTINGS = {
  VITRINE_CACHE_TAG_HEADER: 'surrogate-key',
  VITRINE_FRESH_SECONDS: '1',
  VITRINE_STALE_SECONDS: '1',
}

let fixture: CdnFixture
beforeAll(async () => {
  fixture = await createCdnFixture(SETTINGS)
})
afterAll(() => fixture.dispose())

/** Define tests: a wrong price disappears from the catalog, then from the servers, then from the cache. */
function testPriceCorrection(name: string, { cdn }: CdnUnderTest, purge: Purge): void {
  it(`${name} - a corrected price - is shown after its product is purged`, async () => {
    const gtin = fixture.nextGtin()
    const path = toBoxPath(gtin)
    expect((await sendRequest(cdn().origin + path)).body).toContain('49.90')
    const products = fixture.catalog.products.get(CHANNEL_ID) ?? []
    const corrected = makeWireProduct({ gtin, offers: [makeWireOffer({ price: '39.90' })] })
    fixture.catalog.products.set(
      CHANNEL_ID,
      products.map((product) => (product.gtin === gtin ? corrected : product)),
    )
    await vi.waitFor(
      async () => {
        for (const { port } of fixture.servers) {
          expect((await sendRequest(`http://127.0.0.1:${port}${path}`)).body).toContain('39.90')
        }
      },
      { interval: 200 },
    )
    expect((await sendRequest(cdn().origin + path)).body).toContain('49.90')
    await purge(`product-${gtin}`)
    expect((await sendRequest(cdn().origin + path)).body).toContain('39.90')
  })

  it(`${name} - tags - are not sent to visitors`, async () => {
    for (const turn of ['first', 'second']) {
      const { headers } = await sendRequest(cdn().origin + toBoxPath(fixture.nextGtin()))
      expect([turn, headers['surrogate-key'], headers['x-vitrine-tags']]).toEqual([
        turn,
        undefined,
        undefined,
      ])
    }
  })
}

describeWithProgram('varnishd', 'Varnish, servers with cache tags', () => {
  const { cdnUnderTest, getCdn } = useCdn(startVarnish)
  const ban: Purge = async (tag) => {
    const cdnRequest = { method: 'BAN', headers: { 'x-vitrine-tag': tag } }
    expect((await sendRequest(getCdn().origin, cdnRequest)).status).toBe(200)
  }
  testPurgeByTag('Varnish', { ...cdnUnderTest, purge: ban, isTagged: true })
  testPriceCorrection('Varnish', cdnUnderTest, ban)
})

describeWithProgram('nginx', 'nginx, servers with cache tags', () => {
  const { cdnUnderTest, getCdn } = useCdn(startNginx)
  const script = join(PACKAGE_FOLDER, 'deploy/nginx/purge.sh')
  const purge: Purge = async (tag) => {
    await run('sh', [script, getCdn().cacheFolder, tag])
  }
  testPurgeByTag('nginx', { ...cdnUnderTest, purge, isTagged: true })
  testPriceCorrection('nginx', cdnUnderTest, purge)

  it.each(['product-1', '.*', 'vitrine|x', `channel-${CHANNEL_ID}\nvitrine`, '-r', ''])(
    'purge.sh - invalid tag %j - is rejected, and nothing is deleted',
    async (tag) => {
      const url = getCdn().origin + toBoxPath(fixture.nextGtin())
      await waitForHit(url)
      await expect(run('sh', [script, getCdn().cacheFolder, tag])).rejects.toThrow(/not a tag|the tag/)
      expect((await sendRequest(url)).headers['x-cache']).toBe('HIT')
    },
  )
})

/** Start a CDN for a `describe`, with the servers of this file. */
function useCdn(start: (fixture: CdnFixture, ports: readonly number[]) => Promise<Cdn>): {
  cdnUnderTest: CdnUnderTest
  getCdn(): Cdn
} {
  let cdn: Cdn
  beforeAll(async () => {
    cdn = await start(
      fixture,
      fixture.proxies.map(({ port }) => port),
    )
  })
  return { cdnUnderTest: { fixture: () => fixture, cdn: () => cdn }, getCdn: () => cdn }
}
