import { describe, expect, test, vi } from 'vitest'
import { HOUR_MS, MINUTE_MS } from '../../src/clock.ts'
import { CHANNEL_ID, makeWireOffer, makeWireProduct, sendJson } from '../helpers/fake-catalog.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { makeProduct, toGtin } from '../helpers/products.ts'
import { FRESHNESS, type Sources, makeSources } from './sources-fixture.ts'

const GTIN = toGtin(1)
const STALE_MS = 10 * MINUTE_MS
const RESCUE_MS = 2 * HOUR_MS

/** Return these offers for every look-up from now on. */
function setOffers({ catalog }: Sources, offers: readonly unknown[]): void {
  const product = { ...makeWireProduct({ gtin: GTIN, title: 'from the catalog' }), offers }
  catalog.fault = {
    pathPattern: /products\//,
    respond: (_request, response) => sendJson(response, 200, product),
  }
}

const MALFORMED = [makeWireOffer({ price: '12,50' }), makeWireOffer({ price: 'n/a' })]

const putCopy = ({ store }: Sources, ageMs: number, offers = makeProduct().offers): Promise<void> =>
  store.putLookups([
    {
      channelId: CHANNEL_ID,
      gtin: GTIN,
      entry: { product: makeProduct({ gtin: GTIN, title: 'copy', offers }), asOfMs: NOON_MS - ageMs },
    },
  ])

const requestProduct = (sources: Sources): ReturnType<Sources['getProduct']> => sources.getProduct(GTIN)

describe('look-up whose offers are all malformed', () => {
  test('known product with usable offers - they are preserved, and the catalog is called again after a minute', async () => {
    const sources = await makeSources()
    await putCopy(sources, RESCUE_MS)
    setOffers(sources, MALFORMED)
    expect(await requestProduct(sources)).toMatchObject({ status: 'rescued', value: { title: 'copy' } })
    expect(await requestProduct(sources)).toMatchObject({ status: 'rescued', value: { title: 'copy' } })
    expect(await sources.countProductCalls()).toBe(1)
    await sources.settle()
    expect(await sources.store.findProduct(CHANNEL_ID, GTIN)).toMatchObject({ product: { title: 'copy' } })
    setOffers(sources, [...MALFORMED, makeWireOffer()])
    sources.clock.advance(MINUTE_MS)
    expect(await requestProduct(sources)).toMatchObject({
      status: 'miss',
      value: { title: 'from the catalog' },
    })
  })

  test('known product for which memory has no room - its offers in the copy are preserved', async () => {
    const sources = await makeSources({ bounds: { maxEntries: 100, maxBytes: 1 } })
    await putCopy(sources, RESCUE_MS)
    setOffers(sources, MALFORMED)
    expect(await requestProduct(sources)).toMatchObject({ status: 'rescued', value: { title: 'copy' } })
    expect(sources.cache.entryCount()).toBe(0)
    await sources.settle()
    expect(await sources.store.findProduct(CHANNEL_ID, GTIN)).toMatchObject({ product: { title: 'copy' } })
  })

  test('stale product - is shown from the copy while the background refresh finds no usable offer', async () => {
    const sources = await makeSources()
    await putCopy(sources, STALE_MS)
    setOffers(sources, MALFORMED)
    expect(await requestProduct(sources)).toMatchObject({ status: 'stale' })
    await vi.waitFor(async () => expect(await sources.countProductCalls()).toBe(1))
    expect(await requestProduct(sources)).toMatchObject({ status: 'stale', value: { title: 'copy' } })
  })

  test.each([
    ['nothing known', async () => {}],
    ['copy that is too old to be shown', (sources) => putCopy(sources, FRESHNESS.rescueSeconds * 1_000 + 1)],
    ['product known without offers', (sources) => putCopy(sources, RESCUE_MS, [])],
  ] satisfies [string, (sources: Sources) => Promise<void>][])(
    '%s - the response is used, and its drops are counted',
    async (_case, prepare) => {
      const sources = await makeSources()
      await prepare(sources)
      setOffers(sources, MALFORMED)
      expect(await requestProduct(sources)).toMatchObject({ value: { offers: [], drops: { price: 2 } } })
      await sources.settle()
      const stored = await sources.store.findProduct(CHANNEL_ID, GTIN)
      expect(stored?.product).toMatchObject({ title: 'from the catalog', drops: { price: 2 } })
    },
  )

  test('product that the catalog lists without offers - loses its offers', async () => {
    const sources = await makeSources()
    await putCopy(sources, RESCUE_MS)
    setOffers(sources, [])
    expect(await requestProduct(sources)).toMatchObject({ status: 'miss', value: { offers: [] } })
  })
})
