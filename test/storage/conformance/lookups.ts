import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Product } from '../../../src/catalog/contract.ts'
import type { StoredCopy } from '../../../src/storage/stored-copy.ts'
import type { Lookup } from '../../../src/storage/store.ts'
import { makeParsedOffer, makeProduct, toGtin } from '../../helpers/products.ts'
import {
  CHANNEL,
  type CopyFixture,
  type Subject,
  begin,
  makePage,
  makeQuery,
  readBox,
  readGrid,
  walkAll,
} from './subject.ts'

const GTIN = toGtin(1)
const OTHER_CHANNEL = '00000000-0000-4000-8000-000000000002'

/** Build a product with one deal. */
function makeDeal(index: number, title: string, price: string): Product {
  return makeProduct({ gtin: toGtin(index), title, offers: [makeParsedOffer({ price, oldPrice: '99.00' })] })
}

function toLookup(index: number, product: Product | null, asOfMs: number, channelId = CHANNEL): Lookup {
  return { channelId, gtin: toGtin(index), entry: { product, asOfMs } }
}

/** Test look-ups, single and many in one call. */
export function describeLookups(subject: Subject): void {
  describe(`${subject.name}: look-ups`, () => {
    let fixture: CopyFixture
    let copy: StoredCopy
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
      fixture = await subject.start()
      copy = await fixture.open('https://one.example')
    })
    afterEach(() => fixture.dispose())

    test('product never looked up - is unknown', async () => {
      expect(await copy.findProduct(CHANNEL, GTIN)).toBeUndefined()
      await put('Lamp', 100)
      expect(await copy.findProduct(CHANNEL, toGtin(2))).toBeUndefined()
      expect(await copy.findProduct(OTHER_CHANNEL, GTIN)).toBeUndefined()
    })

    test('product - looked up - is read back with all fields, its offers in the stored order', async () => {
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

    test('offers of a channel - the count includes only those that readers see', async () => {
      expect(await copy.countOffers(CHANNEL)).toBe(0)
      const offers = [makeParsedOffer(), makeParsedOffer({ merchant: 'Maison' })]
      await walkAll(copy, [makeProduct({ offers }), makeProduct({ gtin: toGtin(2), offers: [] })], 100)
      expect(await copy.countOffers(CHANNEL)).toBe(2)
      await walkAll(copy, [makeProduct()], 200)
      expect(await copy.countOffers(CHANNEL)).toBe(1)
    })

    test('dropped offers - are recorded by look-up and walk, until all offers are usable', async () => {
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

    test('look-up - newer than the last - replaces it; older - is ignored', async () => {
      await put('second', 200)
      await put('third', 300)
      expect(await readBox(copy, GTIN)).toBe('third @300')
      await put('first', 100)
      expect(await readBox(copy, GTIN)).toBe('third @300')
      await put('same moment', 300)
      expect(await readBox(copy, GTIN)).toBe('same moment @300')
    })

    test('404 - of a known product - deletes it and stores an absence', async () => {
      await walkAll(copy, [makeProduct({ offers: [makeParsedOffer({ oldPrice: '99.00' })] })], 100)
      expect(await readGrid(copy)).toHaveLength(1)
      await copy.putLookups([{ channelId: CHANNEL, gtin: GTIN, entry: { product: null, asOfMs: 200 } }])
      expect(await readBox(copy, GTIN)).toBe('absent @200')
      expect(await readGrid(copy)).toEqual([])
      await copy.putLookups([{ channelId: CHANNEL, gtin: GTIN, entry: { product: null, asOfMs: 300 } }])
      expect(await readBox(copy, GTIN)).toBe('absent @300')
    })

    test('404 older than the product - changes nothing', async () => {
      await put('Lamp', 200)
      await copy.putLookups([{ channelId: CHANNEL, gtin: GTIN, entry: { product: null, asOfMs: 100 } }])
      expect(await readBox(copy, GTIN)).toBe('Lamp @200')
    })

    test('product - newer than the absence - replaces it; older - is ignored', async () => {
      await copy.putLookups([{ channelId: CHANNEL, gtin: GTIN, entry: { product: null, asOfMs: 200 } }])
      await put('from before', 100)
      expect(await readBox(copy, GTIN)).toBe('absent @200')
      await put('back', 300)
      expect(await readBox(copy, GTIN)).toBe('back @300')
    })

    test('look-up - older than the page that confirmed the copy - is ignored', async () => {
      await walkAll(copy, [makeProduct({ title: 'Lamp' })], 100)
      await walkAll(copy, [makeProduct({ title: 'Lamp' })], 500)
      expect(await readBox(copy, GTIN)).toBe('Lamp @500')
      await put('from a cache', 300)
      expect(await readBox(copy, GTIN)).toBe('Lamp @500')
      await copy.putLookups([{ channelId: CHANNEL, gtin: GTIN, entry: { product: null, asOfMs: 300 } }])
      expect(await readBox(copy, GTIN)).toBe('Lamp @500')
    })

    test('look-up - older than the page that lacks the product - does not restore it', async () => {
      await walkAll(copy, [makeProduct({ gtin: toGtin(2) })], 500)
      await put('from a cache', 300)
      expect(await readBox(copy, GTIN)).toBe('unknown')
      await put('new', 600)
      expect(await readBox(copy, GTIN)).toBe('new @600')
    })

    test('brand - missing in a later response - is retained; different brand - replaces it', async () => {
      await putBrand('Lumen', 100)
      await putBrand(null, 200)
      expect(await readBrand()).toBe('Lumen')
      await putBrand('Lumen & Co', 300)
      expect(await readBrand()).toBe('Lumen & Co')
    })

    test('brand - missing in a walk - is retained, also after a second walk', async () => {
      await walkAll(copy, [makeProduct({ brand: 'Lumen' })], 100)
      await walkAll(copy, [makeProduct({ brand: null, title: 'Renamed' })], 200)
      await walkAll(copy, [makeProduct({ brand: null, title: 'Again' })], 300)
      const entry = await copy.findProduct(CHANNEL, GTIN)
      expect(entry?.product).toMatchObject({ title: 'Again', brand: 'Lumen' })
    })

    test('many look-ups in one call - new, unchanged, changed, absent, returned, older, duplicate - each is applied', async () => {
      const known = [2, 3, 4, 5].map((index) => makeDeal(index, `Lamp ${index}`, '50.00'))
      await walkAll(copy, known, 100)
      await copy.putLookups([toLookup(6, null, 150)])
      const added = [10, 11, 12, 13, 14, 15, 16, 17]
      await copy.putLookups([
        ...added.map((index) => toLookup(index, makeDeal(index, 'New', '40.00'), 200)),
        toLookup(2, makeDeal(2, 'Lamp 2', '50.00'), 200),
        toLookup(3, makeDeal(3, 'Lamp 3', '45.00'), 210),
        toLookup(4, null, 220),
        toLookup(5, makeDeal(5, 'From a cache', '1.00'), 50),
        toLookup(6, makeDeal(6, 'Back', '30.00'), 230),
        toLookup(7, makeDeal(7, 'Second', '30.00'), 240),
        toLookup(7, makeDeal(7, 'First', '35.00'), 235),
        toLookup(2, makeDeal(2, 'Elsewhere', '50.00'), 200, OTHER_CHANNEL),
      ])
      const boxes = [2, 3, 4, 5, 6, 7, 10, 17].map((index) => readBox(copy, toGtin(index)))
      expect(await Promise.all(boxes)).toEqual([
        'Lamp 2 @200',
        'Lamp 3 @210',
        'absent @220',
        'Lamp 5 @100',
        'Back @230',
        'Second @240',
        'New @200',
        'New @200',
      ])
      expect((await copy.findProduct(OTHER_CHANNEL, toGtin(2)))?.product?.title).toBe('Elsewhere')
      const deals = await copy.findDeals(makeQuery())
      const prices = deals.map(({ gtin, offer }): [string, string] => [gtin, offer.price])
      expect(prices).toHaveLength(13)
      expect(new Map(prices)).toEqual(
        new Map([
          [toGtin(2), '50.00'],
          [toGtin(3), '45.00'],
          [toGtin(5), '50.00'],
          [toGtin(6), '30.00'],
          [toGtin(7), '30.00'],
          ...added.map((index): [string, string] => [toGtin(index), '40.00']),
        ]),
      )
      const hits = await copy.searchProducts(CHANNEL, 'new', 50)
      expect(new Set(hits.map(({ product }) => product?.gtin))).toEqual(new Set(added.map(toGtin)))
      expect(await copy.searchProducts(CHANNEL, 'elsewhere', 50)).toEqual([])
    })

    test('many look-ups in one call, during a walk - are visible at once, and stay when the walk ends', async () => {
      const old = [1, 2, 3, 4, 5, 6].map((index) => makeDeal(index, `Lamp ${index}`, '50.00'))
      await walkAll(copy, old, 100)
      const walk = await begin(copy, 200)
      // This page changes 1, confirms 2 and lacks 3. The next page follows below.
      const first = [makeDeal(1, 'Walked 1', '48.00'), makeDeal(2, 'Lamp 2', '50.00')]
      const untilThree = makeDeal(4, 'Lamp 4', '50.00')
      await copy.applyPage(CHANNEL, makePage(walk, [...first, untilThree], { asOfMs: 210, nextCursor: 'c' }))
      await copy.putLookups([
        toLookup(1, makeDeal(1, 'Found 1', '40.00'), 220),
        toLookup(2, makeDeal(2, 'From a cache', '1.00'), 205),
        toLookup(3, makeDeal(3, 'Lamp 3', '50.00'), 220),
        toLookup(4, null, 220),
        toLookup(5, makeDeal(5, 'Found 5', '41.00'), 220),
        toLookup(6, makeDeal(6, 'Lamp 6', '50.00'), 220),
        toLookup(7, makeDeal(7, 'Found 7', '42.00'), 220),
      ])
      const readAll = (): Promise<readonly string[]> =>
        Promise.all([1, 3, 4, 5, 6, 7].map((index) => readBox(copy, toGtin(index))))
      const seen = [
        'Found 1 @220',
        'Lamp 3 @220',
        'absent @220',
        'Found 5 @220',
        'Lamp 6 @220',
        'Found 7 @220',
      ]
      expect(await readAll()).toEqual(seen)
      const rest = { asOfMs: 215, afterGtin: toGtin(4) }
      await copy.applyPage(CHANNEL, makePage(walk, [makeDeal(5, 'Walked 5', '47.00')], rest))
      expect(await readAll()).toEqual(seen)
      await copy.completeWalk(CHANNEL, walk, { nowMs: 230, isMalformed: false })
      expect(await readAll()).toEqual(seen)
      expect(await readBox(copy, toGtin(2))).toBe('Lamp 2 @210')
      const deals = await copy.findDeals(makeQuery({ sort: 'price' }))
      expect(deals.map(({ title, offer }) => `${title} ${offer.price}`)).toEqual([
        'Found 1 40.00',
        'Found 5 41.00',
        'Found 7 42.00',
        'Lamp 2 50.00',
        'Lamp 3 50.00',
        'Lamp 6 50.00',
      ])
    })

    test('ping - open database - resolves', async () => {
      await expect(copy.ping()).resolves.toBeUndefined()
    })
  })
}
