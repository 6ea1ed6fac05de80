import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { makeParsedOffer, makeProduct, toGtin } from '../../helpers/products.ts'
import type { SqlStore } from '../../../src/storage/sql-store.ts'
import { CHANNEL, type Place, type Subject, readBox, readGrid, walkAll } from './subject.ts'

const GTIN = toGtin(1)
const OTHER_CHANNEL = '00000000-0000-4000-8000-000000000002'

/** Look-ups, one product at a time. */
export function describeLookups(subject: Subject): void {
  describe(`${subject.name}: look-ups`, () => {
    let place: Place
    let copy: SqlStore
    const put = (title: string, asOfMs: number): Promise<void> =>
      copy.putLookups([
        { channelId: CHANNEL, gtin: GTIN, entry: { product: makeProduct({ title }), asOfMs } },
      ])

    const putBrand = (brand: string | null, asOfMs: number): Promise<void> =>
      copy.putLookups([
        { channelId: CHANNEL, gtin: GTIN, entry: { product: makeProduct({ brand }), asOfMs } },
      ])
    const readBrand = async (): Promise<string | null | undefined> =>
      (await copy.findProduct(CHANNEL, GTIN))?.product?.brand

    beforeEach(async () => {
      place = await subject.start()
      copy = await place.open('https://one.example')
    })
    afterEach(() => place.dispose())

    test('product - never looked up - is unknown', async () => {
      expect(await copy.findProduct(CHANNEL, GTIN)).toBeUndefined()
      await put('Lamp', 100)
      expect(await copy.findProduct(CHANNEL, toGtin(2))).toBeUndefined()
      expect(await copy.findProduct(OTHER_CHANNEL, GTIN)).toBeUndefined()
    })

    test('product - looked up - comes back whole, its offers in an order of their own', async () => {
      const offers = ['Zulu', 'Alpha', 'Mike'].map((merchant) =>
        makeParsedOffer({ merchant, oldPrice: merchant === 'Mike' ? '60.00' : null }),
      )
      const product = makeProduct({ images: ['https://a.example/1.jpg', 'https://a.example/2.jpg'], offers })
      await copy.putLookups([{ channelId: CHANNEL, gtin: GTIN, entry: { product, asOfMs: 100 } }])
      const entry = await copy.findProduct(CHANNEL, GTIN)
      expect(entry).toMatchObject({
        product: { ...product, offers: [offers[1], offers[2], offers[0]] },
        asOfMs: 100,
      })
    })

    test('offers of a channel - are counted as readers see them', async () => {
      expect(await copy.countOffers(CHANNEL)).toBe(0)
      const offers = [makeParsedOffer(), makeParsedOffer({ merchant: 'Maison' })]
      await walkAll(copy, [makeProduct({ offers }), makeProduct({ gtin: toGtin(2), offers: [] })], 100)
      expect(await copy.countOffers(CHANNEL)).toBe(2)
      await walkAll(copy, [makeProduct()], 200)
      expect(await copy.countOffers(CHANNEL)).toBe(1)
    })

    test('offers that were left out - are remembered by look-up and walk, until all of them are usable', async () => {
      const broken = makeProduct({ offers: [], drops: { price: 4 } })
      const readDrops = async (): Promise<unknown> => (await copy.findProduct(CHANNEL, GTIN))?.product?.drops
      await walkAll(copy, [makeProduct({ offers: [] })], 100)
      expect(await readDrops()).toBeUndefined()
      await copy.putLookups([{ channelId: CHANNEL, gtin: GTIN, entry: { product: broken, asOfMs: 200 } }])
      expect(await readDrops()).toEqual({ price: 4 })
      await walkAll(copy, [makeProduct({ offers: [], drops: { price: 3 } })], 300)
      expect(await readDrops()).toEqual({ price: 3 })
      expect((await copy.searchProducts(CHANNEL, GTIN, 1))[0]?.product?.drops).toEqual({ price: 3 })
      await put('Lamp', 400)
      expect(await readDrops()).toBeUndefined()
    })

    test('look-up - newer than the last - replaces it; older - is left out', async () => {
      await put('second', 200)
      await put('third', 300)
      expect(await readBox(copy, GTIN)).toBe('third @300')
      await put('first', 100)
      expect(await readBox(copy, GTIN)).toBe('third @300')
      await put('same moment', 300)
      expect(await readBox(copy, GTIN)).toBe('same moment @300')
    })

    test('404 - of a known product - deletes it and leaves an absence', async () => {
      await walkAll(copy, [makeProduct({ offers: [makeParsedOffer({ oldPrice: '99.00' })] })], 100)
      expect(await readGrid(copy)).toHaveLength(1)
      await copy.putLookups([{ channelId: CHANNEL, gtin: GTIN, entry: { product: null, asOfMs: 200 } }])
      expect(await readBox(copy, GTIN)).toBe('absent @200')
      expect(await readGrid(copy)).toEqual([])
      await copy.putLookups([{ channelId: CHANNEL, gtin: GTIN, entry: { product: null, asOfMs: 300 } }])
      expect(await readBox(copy, GTIN)).toBe('absent @300')
    })

    test('404 - older than the product - changes nothing', async () => {
      await put('Lamp', 200)
      await copy.putLookups([{ channelId: CHANNEL, gtin: GTIN, entry: { product: null, asOfMs: 100 } }])
      expect(await readBox(copy, GTIN)).toBe('Lamp @200')
    })

    test('product - newer than the absence - ends it; older - is left out', async () => {
      await copy.putLookups([{ channelId: CHANNEL, gtin: GTIN, entry: { product: null, asOfMs: 200 } }])
      await put('from before', 100)
      expect(await readBox(copy, GTIN)).toBe('absent @200')
      await put('back', 300)
      expect(await readBox(copy, GTIN)).toBe('back @300')
    })

    test('look-up - older than the page that confirmed the copy - is left out', async () => {
      await walkAll(copy, [makeProduct({ title: 'Lamp' })], 100)
      await walkAll(copy, [makeProduct({ title: 'Lamp' })], 500)
      expect(await readBox(copy, GTIN)).toBe('Lamp @500')
      await put('from a cache', 300)
      expect(await readBox(copy, GTIN)).toBe('Lamp @500')
      await copy.putLookups([{ channelId: CHANNEL, gtin: GTIN, entry: { product: null, asOfMs: 300 } }])
      expect(await readBox(copy, GTIN)).toBe('Lamp @500')
    })

    test('look-up - older than the page that lacks the product - does not bring it back', async () => {
      await walkAll(copy, [makeProduct({ gtin: toGtin(2) })], 500)
      await put('from a cache', 300)
      expect(await readBox(copy, GTIN)).toBe('unknown')
      await put('new', 600)
      expect(await readBox(copy, GTIN)).toBe('new @600')
    })

    test('brand - missing in a later answer - is kept; another one - is taken over', async () => {
      await putBrand('Lumen', 100)
      await putBrand(null, 200)
      expect(await readBrand()).toBe('Lumen')
      await putBrand('Lumen & Co', 300)
      expect(await readBrand()).toBe('Lumen & Co')
    })

    test('brand - missing in a walk - is kept, also through a second walk', async () => {
      await walkAll(copy, [makeProduct({ brand: 'Lumen' })], 100)
      await walkAll(copy, [makeProduct({ brand: null, title: 'Renamed' })], 200)
      await walkAll(copy, [makeProduct({ brand: null, title: 'Again' })], 300)
      const entry = await copy.findProduct(CHANNEL, GTIN)
      expect(entry?.product).toMatchObject({ title: 'Again', brand: 'Lumen' })
    })

    test('ping - open database - resolves', async () => {
      await expect(copy.ping()).resolves.toBeUndefined()
    })
  })
}
