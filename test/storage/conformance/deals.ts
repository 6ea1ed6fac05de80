import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Offer, Product } from '../../../src/catalog/contract.ts'
import { foldCase } from '../../../src/offers/text.ts'
import { makeParsedOffer, makeProduct, toGtin } from '../../helpers/products.ts'
import {
  CHANNEL,
  type Copy,
  type CopyFixture,
  type Subject,
  makeQuery,
  readGrid,
  walkAll,
} from './subject.ts'

let index = 0

/** Build a product on sale with a title that identifies it. */
function makeSale(title: string, offers: readonly Partial<Offer>[], over: Partial<Product> = {}): Product {
  index += 1
  const made = offers.map((offer) => makeParsedOffer({ price: '50.00', oldPrice: '100.00', ...offer }))
  return makeProduct({ gtin: toGtin(index), title, brand: null, offers: made, ...over })
}

/** Test grids: which deals they contain, in which order, and which offer makes a product a deal. */
export function describeDeals(subject: Subject): void {
  describe(`${subject.name}: deals`, () => {
    let fixture: CopyFixture
    let copy: Copy
    beforeEach(async () => {
      index = 0
      fixture = await subject.start()
      copy = await fixture.open('https://one.example')
    })
    afterEach(() => fixture.dispose())

    test('discount - ratios that round to the same percentage - sort by the exact ratio, then by price, then by GTIN', async () => {
      await walkAll(
        copy,
        [
          makeSale('c', [{ price: '200.00', oldPrice: '300.00' }]),
          makeSale('d', [{ price: '200.00', oldPrice: '300.00' }]),
          makeSale('b', [{ price: '100.00', oldPrice: '150.00' }]),
          makeSale('a', [{ price: '666666666665.9999', oldPrice: '999999999999.0000' }]),
          makeSale('e', [{ price: '666666666666.0001', oldPrice: '999999999999.0000' }]),
        ],
        100,
      )
      expect(await readGrid(copy)).toEqual(['a', 'b', 'c', 'd', 'e'])
    })

    test('sort orders - discount, saving, price, newest - each sorts by its own key', async () => {
      const cheap = makeSale('cheap', [{ price: '5.00', oldPrice: '10.00' }])
      const expensive = makeSale('expensive', [{ price: '900.00', oldPrice: '1000.00' }])
      const middle = makeSale('middle', [{ price: '60.00', oldPrice: '100.00' }])
      await walkAll(copy, [expensive], 100)
      await walkAll(copy, [cheap, expensive], 200)
      await walkAll(copy, [cheap, expensive, middle], 300)
      expect(await readGrid(copy, { sort: 'discount' })).toEqual(['cheap', 'middle', 'expensive'])
      expect(await readGrid(copy, { sort: 'saving' })).toEqual(['expensive', 'middle', 'cheap'])
      expect(await readGrid(copy, { sort: 'price' })).toEqual(['cheap', 'middle', 'expensive'])
      expect(await readGrid(copy, { sort: 'newest' })).toEqual(['middle', 'cheap', 'expensive'])
    })

    test('filters - stock, discount, price, brand - each returns only matching deals', async () => {
      await walkAll(
        copy,
        [
          makeSale('out of stock', [{ availability: 'out_of_stock' }], { brand: 'Crème' }),
          makeSale('expensive', [{ price: '80.00' }], { brand: 'CRÈME' }),
          makeSale('cheap', [{ price: '12.50', oldPrice: '12.99' }], { brand: 'Creme' }),
        ],
        100,
      )
      expect(await readGrid(copy, { isInStockOnly: true })).toEqual(['expensive', 'cheap'])
      expect(await readGrid(copy, { minDiscountPercent: 20 })).toEqual(['out of stock', 'expensive'])
      expect(await readGrid(copy, { minDiscountPercent: 21 })).toEqual(['out of stock'])
      expect(await readGrid(copy, { maxPrice: '12.5' })).toEqual(['cheap'])
      expect(await readGrid(copy, { maxPrice: '12.4999' })).toEqual([])
      expect(await readGrid(copy, { brand: 'crème' })).toEqual(['out of stock', 'expensive'])
    })

    test('search text - ignoring case and accents - matches the start of words in title or brand, else the text anywhere', async () => {
      await walkAll(
        copy,
        [
          makeSale('Größe 100% Wolle', [{}], { brand: 'Ångström' }),
          makeSale('1000 Wolle', [{}]),
          makeSale('a_b Café', [{}]),
          makeSale('axb Cafe', [{}]),
          makeSale('back\\slash', [{}]),
        ],
        100,
      )
      expect(await readGrid(copy, { searchText: 'WOLLE' })).toEqual(['Größe 100% Wolle', '1000 Wolle'])
      expect(await readGrid(copy, { searchText: '100' })).toEqual(['Größe 100% Wolle', '1000 Wolle'])
      expect(await readGrid(copy, { searchText: 'wol' })).toEqual(['Größe 100% Wolle', '1000 Wolle'])
      expect(await readGrid(copy, { searchText: 'olle' })).toEqual(['Größe 100% Wolle', '1000 Wolle'])
      expect(await readGrid(copy, { searchText: '00%' })).toEqual(['Größe 100% Wolle'])
      expect(await readGrid(copy, { searchText: '100%' })).toEqual(['Größe 100% Wolle'])
      expect(await readGrid(copy, { searchText: 'a_b' })).toEqual(['a_b Café'])
      expect(await readGrid(copy, { searchText: 'café' })).toEqual(['a_b Café', 'axb Cafe'])
      expect(await readGrid(copy, { searchText: ' angstrom   grosse ' })).toEqual(['Größe 100% Wolle'])
      expect(await readGrid(copy, { searchText: 'wolle cafe' })).toEqual([])
      expect(await readGrid(copy, { searchText: '\u0301' })).toEqual([])
      expect(await readGrid(copy, { searchText: 'k\\s' })).toEqual(['back\\slash'])
    })

    test('merchant filters - ignoring case - make another offer the best of its product', async () => {
      const product = makeSale('one', [
        { merchant: 'Big Discount', price: '10.00' },
        { merchant: 'Kopje', price: '80.00' },
        { merchant: 'Zaal', price: '40.00', availability: 'out_of_stock' },
      ])
      await walkAll(copy, [product], 100)
      const pick = async (over: Parameters<typeof makeQuery>[0]): Promise<(string | undefined)[]> =>
        (await copy.findDeals(makeQuery(over))).map((deal) => deal.offer.merchant)
      expect(await pick({})).toEqual(['Big Discount'])
      expect(await pick({ merchants: ['KOPJE'] })).toEqual(['Kopje'])
      expect(await pick({ excluded: ['big discount'] })).toEqual(['Zaal'])
      expect(await pick({ excluded: ['big discount'], isInStockOnly: true })).toEqual(['Kopje'])
      expect(await pick({ merchants: ['kopje', 'zaal'] })).toEqual(['Zaal'])
      expect(await pick({ merchants: ['nobody'] })).toEqual([])
    })

    test('networks - ignoring case - make another offer the best of its product', async () => {
      const products = [
        makeSale('lamp', [{ network: 'Tradeloom', price: '90.00' }]),
        makeSale('kettle', [
          { network: 'Awin', merchant: 'Zaal', price: '50.00' },
          { network: 'TRADELOOM', merchant: 'Kopje', price: '80.00' },
        ]),
        makeSale('bench', [{ network: 'Awin', price: '70.00' }]),
      ]
      await walkAll(copy, products, 100)
      const networks = ['tradeloom']
      expect(await readGrid(copy, { networks })).toEqual(['kettle', 'lamp'])
      expect(await readGrid(copy, { networks, sort: 'price', limit: 1 })).toEqual(['kettle'])
      expect(await readGrid(copy, { networks, isInStockOnly: true, maxPrice: '85' })).toEqual(['kettle'])
      expect(await readGrid(copy, { networks: ['trade', 'awin'] })).toEqual(['kettle', 'bench'])
      const [kettle] = await copy.findDeals(makeQuery({ networks }))
      expect(kettle?.offer.merchant).toBe('Kopje')
    })

    test('networks - links with half a surrogate pair, names outside ASCII - find the deals', async () => {
      const affiliateUrl = 'https://links.example/\ud83d'
      const networks = ['Ämazon', 'ÅWIN', 'İstanbul']
      await walkAll(
        copy,
        networks.map((network) => makeSale(network, [{ network, affiliateUrl }])),
        100,
      )
      for (const network of networks)
        expect(await readGrid(copy, { networks: [foldCase(network)] })).toEqual([network])
    })

    test('equal offers of two shops - with and without a filter - the card shows the same one', async () => {
      const product = makeSale('one', [
        { merchant: 'Beta', network: 'a' },
        { merchant: 'Alpha', network: 'b' },
      ])
      await walkAll(copy, [product], 100)
      const pick = async (maxPrice: string | null): Promise<(string | undefined)[]> =>
        (await copy.findDeals(makeQuery({ maxPrice }))).map((d) => d.offer.merchant)
      expect(await pick(null)).toEqual(['Alpha'])
      expect(await pick('99.00')).toEqual(['Alpha'])
    })

    test('shop with two offers - the more expensive one on sale - is not a deal', async () => {
      const product = makeSale('one', [
        { network: 'a', price: '40.00', oldPrice: null },
        { network: 'b', price: '50.00', oldPrice: '100.00' },
      ])
      await walkAll(copy, [product], 100)
      expect(await readGrid(copy)).toEqual([])
    })

    test('pages - of a fixed size - contain every deal once and in order', async () => {
      const products = Array.from({ length: 7 }, (_, position) =>
        makeSale(`p${position}`, [{ price: `${50 + position}.00` }]),
      )
      await walkAll(copy, products, 100)
      const pages = await Promise.all([0, 3, 6, 9].map((offset) => readGrid(copy, { limit: 3, offset })))
      expect(pages).toEqual([['p0', 'p1', 'p2'], ['p3', 'p4', 'p5'], ['p6'], []])
      const filtered = await readGrid(copy, { limit: 3, offset: 3, maxPrice: '55.00' })
      expect(filtered).toEqual(['p3', 'p4', 'p5'])
    })

    test('currencies - the one with most deals is chosen, a tie by alphabet - and grids never mix them', async () => {
      expect(await copy.findDealCurrency(CHANNEL)).toBeUndefined()
      const usd = makeSale('dollars', [{ currency: 'USD' }])
      const eur = makeSale('euros', [{ currency: 'EUR' }])
      await walkAll(copy, [usd], 100)
      expect(await copy.findDealCurrency(CHANNEL)).toBe('USD')
      await walkAll(copy, [usd, eur], 200)
      expect(await copy.findDealCurrency(CHANNEL)).toBe('EUR')
      expect(await readGrid(copy, { currency: 'USD' })).toEqual(['dollars'])
      expect(await readGrid(copy, { currency: 'GBP' })).toEqual([])
      await walkAll(copy, [usd, eur, makeSale('more', [{ currency: 'USD', merchant: 'Zaal' }])], 300)
      expect(await copy.findDealCurrency(CHANNEL)).toBe('USD')
    })
  })
}
