import { describe, expect, it } from 'vitest'
import { CHANNEL_ID, FAKE_KEY, makeWireOffer, makeWireProduct, sendJson } from '../helpers/fake-catalog.ts'
import { toGtin } from '../helpers/products.ts'
import { makeFolder, runInProcess, startRemoteCatalog } from './run-cli.ts'

const GTINS = ['00000000000017', '00000000000024', '00000000000031']
const FOREIGN = '11111111-2222-4333-8444-555555555555'

type Walk = { channelId: string; outcome: string; productCount: number; failure: string | null }

async function startFilled(): Promise<Awaited<ReturnType<typeof startRemoteCatalog>>> {
  const remote = await startRemoteCatalog(makeFolder())
  remote.catalog.products.set(
    CHANNEL_ID,
    GTINS.map((gtin) => makeWireProduct({ gtin })),
  )
  return remote
}

describe('sync', () => {
  it('valid catalog - 0, a line for each channel, progress on standard error', async () => {
    const { settings } = await startFilled()
    const { code, out, err } = await runInProcess(['sync'], settings)
    expect(code).toBe(0)
    expect(out).toMatch(/^Test magazine \([0-9a-f-]{36}\): 3 products in \d+\.\d s$/)
    expect(err).toContain('Test magazine: 3 products')
    expect(err).toContain('A running server may show cached boxes for up to 300 more seconds.\n')
    expect(out + err).not.toContain(FAKE_KEY)
  })

  it('one product - is printed in the singular', async () => {
    const { catalog, settings } = await startFilled()
    catalog.products.set(CHANNEL_ID, [makeWireProduct()])
    const { out, err } = await runInProcess(['sync'], settings)
    expect(out).toMatch(/: 1 product in \d/)
    expect(err).toContain('Test magazine: 1 product\n')
  })

  it('--json - one array', async () => {
    const { settings } = await startFilled()
    const { code, out } = await runInProcess(['sync', '--json'], settings)
    expect(code).toBe(0)
    expect(JSON.parse(out) as Walk[]).toMatchObject([
      { channelId: CHANNEL_ID, outcome: 'complete', productCount: 3, failure: null },
    ])
  })

  it('key rejected - 1, with the reason, without the key', async () => {
    const { settings } = await startFilled()
    const { code, out, err } = await runInProcess(['sync', '--json'], {
      ...settings,
      VITRINE_CATALOG_KEY: 'another-key',
    })
    expect([code, JSON.parse(out)]).toEqual([1, []])
    expect(err).toContain('VITRINE_CATALOG_KEY_REFUSED')
    expect(err).not.toContain('another-key')
  })

  it('products fail - 1, the channel with the error code', async () => {
    const { catalog, settings } = await startFilled()
    catalog.fault = {
      pathPattern: /products/,
      respond: (_request, response) => sendJson(response, 400, { error: FAKE_KEY }),
    }
    const { code, out, err } = await runInProcess(['sync', '--json'], settings)
    expect(code).toBe(1)
    expect(JSON.parse(out) as Walk[]).toMatchObject([
      { outcome: 'failed', failure: 'VITRINE_CATALOG_STATUS' },
    ])
    expect(out + err).not.toContain(FAKE_KEY)
  })

  it('catalog suddenly empty - 1, with reason and remedy; --accept accepts it', async () => {
    const { catalog, settings } = await startFilled()
    catalog.products.set(
      CHANNEL_ID,
      Array.from({ length: 100 }, (_, index) => makeWireProduct({ gtin: toGtin(index) })),
    )
    expect(await runInProcess(['sync'], settings)).toMatchObject({ code: 0 })
    catalog.products.set(CHANNEL_ID, [])
    const held = await runInProcess(['sync'], settings)
    expect(held.code).toBe(1)
    expect(held.out).toContain('held, because it found 0 products where the copy has 100')
    expect(held.out).toContain('vitrine sync --accept')
    const accepted = await runInProcess(['sync', '--accept', '--json'], settings)
    expect(accepted.code).toBe(0)
    const replaced = { reason: 'few_products', productCount: 100 }
    expect(JSON.parse(accepted.out)).toMatchObject([{ outcome: 'complete', productCount: 0, replaced }])
    const again = await runInProcess(['sync', '--accept'], settings)
    expect(again.out).not.toContain('in place of')
  })

  it('--accept, a walk that would be held - prints what it replaced', async () => {
    const { catalog, settings } = await startFilled()
    const products = Array.from({ length: 300 }, (_, index) => makeWireProduct({ gtin: toGtin(index) }))
    catalog.products.set(CHANNEL_ID, products)
    await runInProcess(['sync'], settings)
    catalog.products.set(CHANNEL_ID, products.slice(0, 40))
    const { code, out } = await runInProcess(['sync', '--accept'], settings)
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(/: 40 products in \d+\.\d s, accepted in place of 300$/),
    ])
  })

  it('--accept, malformed offers - prints that they were accepted', async () => {
    const { catalog, settings } = await startFilled()
    await runInProcess(['sync'], settings)
    const offers = [makeWireOffer({ price: '12,50' })]
    catalog.products.set(CHANNEL_ID, [makeWireProduct({ offers })])
    expect((await runInProcess(['sync', '--accept'], settings)).out).toContain(
      's, accepted although most of its products or offers were malformed; left out: 1 offer without a usable price',
    )
  })

  it('some malformed offers - 0, and the number of dropped ones', async () => {
    const { catalog, settings } = await startFilled()
    catalog.products.set(CHANNEL_ID, [
      ...GTINS.map((gtin) => makeWireProduct({ gtin })),
      makeWireProduct({ gtin: toGtin(900), offers: [makeWireOffer({ price: '12,50' })] }),
    ])
    const { code, out } = await runInProcess(['sync'], settings)
    expect([code, out]).toEqual([0, expect.stringMatching(/ s; left out: 1 offer without a usable price$/)])
  })

  it('product larger than a response may be - 0, and its GTIN', async () => {
    const { catalog, settings } = await startFilled()
    const title = 'x'.repeat(40_000)
    catalog.products.set(CHANNEL_ID, [
      makeWireProduct({ gtin: toGtin(1) }),
      makeWireProduct({ gtin: toGtin(2), title }),
    ])
    const small = { ...settings, VITRINE_CATALOG_MAX_BYTES: '20000' }
    const { code, out } = await runInProcess(['sync'], small)
    const leftOut = `1 product larger than VITRINE_CATALOG_MAX_BYTES. Too large: ${toGtin(2)}`
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(new RegExp(`: 1 product in .*; left out: ${leftOut}$`)),
    ])
  })

  it('--channel and --accept, no channels - 1: the loss of the other channels is not accepted', async () => {
    const { catalog, settings } = await startFilled()
    await runInProcess(['sync'], settings)
    catalog.channels = []
    const { code, err } = await runInProcess(['sync', '--channel', CHANNEL_ID, '--accept'], settings)
    expect([code, err]).toEqual([1, expect.stringContaining('(VITRINE_WALK_HELD)')])
    expect((await runInProcess(['check'], settings)).out).toContain('listed before is still shown')
  })

  it('--accept, never any channels - 1: none was lost', async () => {
    const { catalog, settings } = await startFilled()
    catalog.channels = []
    const { code, err } = await runInProcess(['sync', '--accept'], settings)
    expect([code, err]).toEqual([1, expect.stringContaining('(VITRINE_NO_CHANNELS)')])
  })

  it('--accept, no channels any longer - 0, with the time for which boxes stay; check reports the same', async () => {
    const { catalog, settings } = await startFilled()
    await runInProcess(['sync'], settings)
    catalog.channels = []
    const { code, out, err } = await runInProcess(['sync', '--accept'], settings)
    expect([code, out]).toEqual([0, ''])
    expect(err).toContain('The catalog lists no channels, and that is accepted.')
    expect(err).not.toContain('could not be walked')
    expect(await runInProcess(['sync', '--accept', '--json'], settings)).toMatchObject({ code: 0, out: '[]' })
    const check = await runInProcess(['check'], settings)
    for (const text of [err, check.out])
      expect(text).toContain('stay until VITRINE_RESCUE_SECONDS have passed')
  })

  it('--accept, no served channels - 1', async () => {
    const { settings } = await startFilled()
    const over = { ...settings, VITRINE_CHANNELS: FOREIGN }
    const { code, err } = await runInProcess(['sync', '--accept'], over)
    expect(code).toBe(1)
    expect(err).toContain('none that this server serves')
  })

  it('no channels any longer - 1, with the remedy', async () => {
    const { catalog, settings } = await startFilled()
    await runInProcess(['sync'], settings)
    catalog.channels = []
    const { code, err } = await runInProcess(['sync'], settings)
    expect(code).toBe(1)
    expect(err).toContain('lists no channels, but listed 1 before')
    expect(err).toContain('vitrine sync --accept')
  })

  it('--channel, one of two - walks that one', async () => {
    const { catalog, settings } = await startFilled()
    catalog.channels = [...catalog.channels, { id: FOREIGN, name: 'Other', kind: 'app', url: null }]
    const { code, out } = await runInProcess(
      ['sync', '--json', '--channel', CHANNEL_ID.toUpperCase()],
      settings,
    )
    expect(code).toBe(0)
    expect((JSON.parse(out) as Walk[]).map(({ channelId }) => channelId)).toEqual([CHANNEL_ID])
    expect(catalog.countCalls(new RegExp(FOREIGN))).toBe(0)
  })

  it.each([
    ['that the catalog does not list', {}],
    ['that VITRINE_CHANNELS does not serve', { VITRINE_CHANNELS: CHANNEL_ID }],
  ])('--channel %s - 64, with its id', async (_name, over) => {
    const { settings } = await startFilled()
    const { code, err } = await runInProcess(['sync', '--channel', FOREIGN], { ...settings, ...over })
    expect(code).toBe(64)
    expect(err).toContain(FOREIGN)
  })

  it.each(['::1', '0.0.0.0'])(
    'VITRINE_HOST %s - nothing needs to listen, the walk succeeds',
    async (host) => {
      const { settings } = await startFilled()
      expect(await runInProcess(['sync'], { ...settings, VITRINE_HOST: host })).toMatchObject({ code: 0 })
    },
  )
})
