import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { foldCase } from '../../../src/offers/text.ts'
import type { Offer, Product } from '../../../src/catalog/contract.ts'
import { DISCOUNT_STEPS_PERCENT, type DealCounts, type DealQuery } from '../../../src/storage/store.ts'
import { makeParsedOffer, makeProduct, toGtin } from '../../helpers/products.ts'
import { dealCatalog, dealQuery } from './deals-property.ts'
import {
  type Copy,
  type CopyFixture,
  type Subject,
  begin,
  makePage,
  makeQuery,
  walkAll,
  CHANNEL,
} from './subject.ts'
import { toRunCount } from '../../helpers/property-runs.ts'

/** Count the cards on all pages of a grid. */
async function countCards(copy: Copy, query: DealQuery): Promise<number> {
  let count = 0
  for (;;) {
    const { length } = await copy.findDeals({ ...query, limit: 3, offset: count })
    count += length
    if (length < 3) return count
  }
}

/** Compute the expected counts by reading every grid. */
async function countByGrids(
  copy: Copy,
  query: DealQuery,
  names: Readonly<{ brands: readonly string[]; merchants: readonly string[] }>,
): Promise<DealCounts> {
  const countAll = async (
    list: readonly string[],
    toQuery: (name: string) => Partial<DealQuery>,
  ): Promise<{ name: string; count: number }[]> => {
    const facets = []
    for (const name of list)
      facets.push({ name, count: await countCards(copy, { ...query, ...toQuery(name) }) })
    return facets
      .filter(({ count }) => count > 0)
      .toSorted((a, b) => b.count - a.count || (foldCase(a.name) < foldCase(b.name) ? -1 : 1))
  }
  const discounts = []
  for (const minPercent of DISCOUNT_STEPS_PERCENT)
    discounts.push({
      minPercent,
      count: await countCards(copy, { ...query, minDiscountPercent: minPercent }),
    })
  return {
    total: await countCards(copy, query),
    isBounded: false,
    brands: await countAll(names.brands, (brand) => ({ brand })),
    merchants: await countAll(names.merchants, (name) => ({ merchants: [name], excluded: [] })),
    discounts,
  }
}

const lowerNames = (counts: DealCounts): DealCounts => ({
  ...counts,
  brands: counts.brands.map(({ name, count }) => ({ name: foldCase(name), count })),
  merchants: counts.merchants.map(({ name, count }) => ({ name: foldCase(name), count })),
})

const makeOffers = (count: number): Offer[] =>
  Array.from({ length: count }, (_, shop) =>
    makeParsedOffer({ merchant: `Shop ${String(shop).padStart(2, '0')}`, oldPrice: '99.00' }),
  )

const makeSale = (index: number, currency: string): Product =>
  makeProduct({
    gtin: toGtin(index),
    offers: [makeParsedOffer({ price: '80.00', oldPrice: '100.00', currency })],
  })

const makeSaleAt = (index: number, merchants: readonly string[]): Product =>
  makeProduct({
    gtin: toGtin(index),
    offers: merchants.map((merchant) => makeParsedOffer({ merchant, oldPrice: '99.00' })),
  })

/** Compare the counts with the grids that they describe. */
export function describeDealCounts(subject: Subject): void {
  describe(`${subject.name}: counts of deals`, () => {
    let fixture: CopyFixture
    let copy: Copy
    beforeEach(async () => {
      fixture = await subject.start()
      copy = await fixture.open('https://one.example')
    })
    afterEach(() => fixture.dispose())

    test('counts - any catalog and any query - equal the number of cards in the grids', async () => {
      const names = {
        brands: ['lumen', 'flambé'],
        merchants: ['kopje', 'zaal', 'ärger', 'alpha'],
      }
      await fc.assert(
        fc.asyncProperty(dealCatalog, dealQuery, async (products, query) => {
          const { dispose, open } = await subject.start()
          try {
            const store = await open('https://one.example')
            await walkAll(store, products, 100)
            expect(lowerNames(await store.countDeals(query, new Map()))).toEqual(
              await countByGrids(store, query, names),
            )
          } finally {
            await dispose()
          }
        }),
        { numRuns: toRunCount(40) },
      )
    })

    test('names - several spellings, empty, more than thirty - keep a spelling of the catalog, and at most thirty are listed', async () => {
      const products = Array.from({ length: 40 }, (_, index) =>
        makeProduct({
          gtin: toGtin(index),
          brand: index < 2 ? null : `Brand É ${index}`,
          offers: makeOffers(1),
        }),
      )
      const best = makeParsedOffer({ oldPrice: '499.00' })
      await walkAll(
        copy,
        [
          ...products,
          makeProduct({ gtin: toGtin(40), brand: 'BRAND é 39', offers: [best] }),
          makeProduct({ gtin: toGtin(41), brand: null, offers: makeOffers(32) }),
        ],
        100,
      )
      const { brands, merchants, total } = await copy.countDeals(makeQuery(), new Map())
      expect(total).toBe(42)
      expect(brands[0]).toEqual({ name: 'BRAND é 39', count: 2 })
      expect(brands[1]).toEqual({ name: 'Brand É 10', count: 1 })
      expect([brands.length, merchants.length]).toEqual([30, 30])
      expect(merchants.slice(0, 3)).toEqual([
        { name: 'Shop 00', count: 41 },
        { name: 'Kopje', count: 1 },
        { name: 'Shop 01', count: 1 },
      ])
    })

    test('merchants with the same key of a shop - are one group, and a product of both counts once', async () => {
      const products = [
        makeSaleAt(1, ['Kopje DE', 'kopje.example']),
        makeSaleAt(2, ['kopje.example']),
        makeSaleAt(3, ['Zaal']),
      ]
      await walkAll(copy, products, 100)
      const names = ['kopje de', 'kopje.example']
      const keys = new Map(names.map((name) => [name, 'kopje de']))
      const { merchants } = await copy.countDeals(makeQuery(), keys)
      expect(merchants.map(({ count }) => count)).toEqual([2, 1])
      expect(names).toContain(merchants[0]?.name.toLowerCase())
      expect(await countCards(copy, makeQuery({ merchants: names }))).toBe(2)
    })

    test('walk in progress, other currency, unknown channel - are not counted', async () => {
      const noDeals = await copy.countDeals(makeQuery(), new Map())
      expect(noDeals).toMatchObject({ total: 0, isBounded: false, brands: [], merchants: [] })
      expect(noDeals.discounts).toHaveLength(DISCOUNT_STEPS_PERCENT.length)
      await walkAll(copy, [makeSale(1, 'EUR'), makeSale(2, 'USD')], 100)
      const walk = await begin(copy, 200)
      await copy.applyPage(CHANNEL, makePage(walk, [makeSale(3, 'EUR'), makeSale(4, 'EUR')], { asOfMs: 200 }))
      const { total, discounts } = await copy.countDeals(makeQuery(), new Map())
      expect(total).toBe(1)
      expect(discounts.map(({ count }) => count)).toEqual([1, 1, 1, 0, 0, 0, 0, 0])
      await copy.completeWalk(CHANNEL, walk, { nowMs: 200, isMalformed: false })
      expect(await copy.countDeals(makeQuery(), new Map())).toMatchObject({ total: 2 })
      const elsewhere = makeQuery({ channelId: '00000000-0000-4000-8000-000000000002' })
      expect(await copy.countDeals(elsewhere, new Map())).toEqual(noDeals)
    })
  })
}
