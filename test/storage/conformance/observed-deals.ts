import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Offer, Product } from '../../../src/catalog/contract.ts'
import type { DealSort } from '../../../src/offers/deals.ts'
import type { DealQuery } from '../../../src/storage/store.ts'
import { makeParsedOffer, makeProduct, toGtin } from '../../helpers/products.ts'
import {
  type HistoryFixture,
  MANY,
  hold,
  makeChecked,
  listDays,
  makeClaim,
  makeLamp,
  makeMany,
  openHistory,
  toIndex,
  toMs,
} from './price-history-fixture.ts'
import { type CopyFixture, type Subject, makeQuery } from './subject.ts'

const makeOf = (merchant: string, price: string, over: Partial<Offer> = {}): Offer =>
  makeClaim(price, { merchant, ...over })

/** Build a product for each price. The first one has the highest claimed discount. */
const makeSeveral = (prices: readonly string[]): Product[] =>
  prices.map((price, index) => makeLamp(index, makeClaim(price, { oldPrice: `${900 - index * 100}` })))

/** Build products of several brands and shops, before or after their prices fell. */
const makeMixed = (fallen: boolean): Product[] => {
  const to = (price: string): string => (fallen ? price : '100')
  return [
    makeProduct({
      gtin: toGtin(1),
      brand: 'Aldo',
      title: 'Table lamp',
      offers: [makeOf('Alpha', to('90')), makeOf('Beta', to('60'), { oldPrice: '61' })],
    }),
    makeProduct({
      gtin: toGtin(2),
      brand: 'Bree',
      title: 'Lamp',
      offers: [makeOf('Alpha', to('70'), { availability: 'out_of_stock' })],
    }),
    makeProduct({
      gtin: toGtin(3),
      brand: 'Aldo',
      title: 'Lamp',
      offers: [makeOf('Beta', to('80')), makeOf('Gamma', '100', { oldPrice: '1000' })],
    }),
    makeProduct({
      gtin: toGtin(4),
      brand: 'Bree',
      title: 'Samovar',
      offers: [makeOf('Alpha', '40', { oldPrice: '400' })],
    }),
  ]
}

/** Test the deals whose falls observation confirms. */
export function describeObservedDeals(subject: Subject): void {
  describe(`${subject.name}: falls that observation confirms`, () => {
    let fixture: CopyFixture
    let history: HistoryFixture
    beforeEach(async () => {
      fixture = await subject.start()
      history = await openHistory(fixture)
    })
    afterEach(() => fixture.dispose())

    /** Thirty days at 100, then these offers of product 1. */
    const fallTo = async (...offers: readonly (string | Offer)[]): Promise<void> => {
      await history.walkDays([makeLamp(1, '100')], 0, 29)
      await history.walk([makeLamp(1, ...offers)], 30)
    }

    test('fall after 30 days - is a deal with the reference as old price', async () => {
      await fallTo('80')
      const [deal] = await history.copy.findDeals(makeQuery({ evidence: 'observed' }))
      expect(deal).toMatchObject({ gtin: toGtin(1), offer: { price: '80', oldPrice: '100' } })
      expect(await history.readFalls({ minDiscountPercent: 20 })).toHaveLength(1)
      expect(await history.readFalls({ minDiscountPercent: 21 })).toHaveLength(0)
      const shop = await history.copy.findDeals(makeQuery())
      expect(shop[0]?.offer.oldPrice).toBe('500')
    })

    test('fall after 24 days - is not confirmed', async () => {
      await history.walkDays([makeLamp(1, '100')], 0, 23)
      await history.walk([makeLamp(1, '80')], 24)
      expect(await history.readFalls()).toEqual([])
    })

    test('fall of an offer that the shop does not call a deal - is none', async () => {
      await fallTo(makeParsedOffer({ price: '80' }))
      expect(await history.readFalls()).toEqual([])
    })

    test('80, then 100, then 90 - is not confirmed', async () => {
      await history.walkDays([makeLamp(1, '80')], 0, 29)
      await history.walkDays([makeLamp(1, '100')], 30, 35)
      await history.walk([makeLamp(1, '90')], 36)
      expect(await history.readFalls()).toEqual([])
    })

    test('lower price earlier on the same day - is the reference', async () => {
      await history.walkDays([makeLamp(1, '100')], 0, 29)
      await history.walk([makeLamp(1, '70')], 30, 1)
      expect(await history.readFalls()).toEqual(['1 Kopje 70<100'])
      await history.walk([makeLamp(1, '80')], 30, 2)
      expect(await history.readFalls()).toEqual([])
    })

    test('fall - lasts while the price does, also when anything else changes', async () => {
      await fallTo('80')
      await history.walkDays([makeLamp(1, '80')], 31, 70)
      await history.walk([makeProduct({ title: 'Other', offers: [makeClaim('80.00')] })], 71)
      expect(await history.readFalls()).toEqual(['1 Kopje 80.00<100'])
      await history.walk([makeLamp(1, '85')], 72)
      expect(await history.readFalls()).toEqual([])
    })

    test('running walk - its falls are invisible until it is complete', async () => {
      await history.walkDays([makeLamp(1, '100'), makeLamp(2, '100')], 0, 29)
      const walk = await history.begin(30)
      await history.apply(walk, [makeLamp(1, '80')], { day: 30, until: 2 })
      expect(await history.readFalls()).toEqual([])
      await history.apply(walk, [makeLamp(2, '70')], { day: 30, after: 1 })
      expect(await history.readFalls()).toEqual([])
      await history.complete(walk, 30)
      expect(await history.readFalls()).toEqual(['2 Kopje 70<100', '1 Kopje 80<100'])
      const next = await history.begin(31)
      await history.apply(next, [makeLamp(1, '90')], { day: 31, until: 2 })
      await history.apply(next, [], { day: 31, after: 1 })
      expect(await history.readFalls()).toEqual(['2 Kopje 70<100', '1 Kopje 80<100'])
      await history.complete(next, 31)
      expect(await history.readFalls()).toEqual([])
    })

    test('held walk - does not change falls', async () => {
      await fallTo('80')
      const walk = await history.begin(31)
      await history.apply(walk, [], { day: 31 })
      await hold(history, walk, 31)
      expect(await history.readFalls()).toEqual(['1 Kopje 80<100'])
      await history.walk([makeLamp(1, '80')], 32)
      expect(await history.readFalls()).toEqual(['1 Kopje 80<100'])
    })

    test('product that held walks lack for 6 days - has no known fall when it returns', async () => {
      await fallTo('80')
      for (let day = 31; day <= 36; day += 1) {
        const walk = await history.begin(day)
        await history.apply(walk, [makeLamp(2, '1')], { day })
        await hold(history, walk, day)
      }
      await history.walk([makeLamp(1, '80'), makeLamp(2, '1')], 37)
      expect(await history.readFalls()).toEqual([])
    })

    test.each([
      [5, ['1 Kopje 80<100']],
      [6, []],
    ])('gap of %i days - leaves the falls %j', async (gap, expected) => {
      await fallTo('80')
      await history.walk([makeLamp(1, '80')], 31 + gap)
      expect(await history.readFalls()).toEqual(expected)
      await history.walk([makeLamp(1, '80')], 32 + gap)
      expect(await history.readFalls()).toEqual(expected)
    })

    test.each([
      [5, ['1 Kopje 80<100']],
      [6, []],
    ])('gap of %i days, ended by a look-up - leaves the falls %j', async (gap, expected) => {
      await fallTo('80')
      await history.lookUp(1, makeLamp(1, '80'), 31 + gap)
      expect(await history.readFalls()).toEqual(expected)
    })

    test('walks that pause for 9 days, with a look-up on the fifth - the product keeps its fall, another does not', async () => {
      await history.walkDays([makeLamp(1, '100'), makeLamp(2, '100')], 0, 29)
      await history.walk([makeLamp(1, '80'), makeLamp(2, '80')], 30)
      await history.lookUp(1, makeLamp(1, '80'), 35)
      await history.walk([makeLamp(1, '80'), makeLamp(2, '80')], 40)
      expect(await history.readFalls()).toEqual(['1 Kopje 80<100'])
    })

    test.each([
      [4, ['1 Kopje 80<100']],
      [8, []],
    ])('price that is too old until day %i after - leaves the falls %j', async (days, expected) => {
      await fallTo(makeClaim('80', { checkedAtMs: toMs(30) }))
      await history.walkDays([makeChecked(30)], 31, 29 + days)
      await history.walk([makeChecked(30 + days)], 30 + days)
      expect(await history.readFalls()).toEqual(expected)
    })

    test('look-up with a lower price - is a deal at once; with the old price - no longer', async () => {
      await history.walkDays([makeLamp(1, '100')], 0, 29)
      await history.lookUp(1, makeLamp(1, '80'), 30)
      expect(await history.readFalls()).toEqual(['1 Kopje 80<100'])
      await history.lookUp(1, makeLamp(1, '80'), 30, 13)
      await history.lookUp(1, makeLamp(1, '80'), 31)
      expect(await history.readFalls()).toEqual(['1 Kopje 80<100'])
      await history.lookUp(1, makeLamp(1, '100'), 32)
      expect(await history.readFalls()).toEqual([])
      await history.lookUp(1, null, 33)
      expect(await history.readFalls()).toEqual([])
    })

    test('look-ups alone - confirm a fall', async () => {
      for (let day = 0; day < 30; day += 1) await history.lookUp(1, makeLamp(1, '100'), day)
      await history.lookUp(1, makeLamp(1, '80'), 30)
      await history.walk([makeLamp(1, '80')], 31)
      expect(await history.readFalls()).toEqual(['1 Kopje 80<100'])
    })

    test('filters, orders, counts and pages - are those of the confirmed deals', async () => {
      await history.walkDays(makeMixed(false), 0, 29)
      await history.walk(makeMixed(true), 30)
      const [one, two, three] = ['1 Beta 60<100', '2 Alpha 70<100', '3 Beta 80<100']
      const cases: readonly (readonly [Partial<DealQuery>, readonly (string | undefined)[]])[] = [
        [{}, [one, two, three]],
        [{ limit: 1, offset: 1 }, [two]],
        [{ minDiscountPercent: 30 }, [one, two]],
        [{ maxPrice: '70' }, [one, two]],
        [{ maxPrice: '59' }, []],
        [{ brand: 'ALDO' }, [one, three]],
        [{ merchants: ['alpha'] }, [two, '1 Alpha 90<100']],
        [{ excluded: ['beta'] }, [two, '1 Alpha 90<100']],
        [{ merchants: ['gamma'] }, []],
        [{ isInStockOnly: true }, [one, three]],
        [{ searchText: 'table' }, [one]],
        [{ searchText: 'amp' }, [one, two, three]],
        [{ searchText: 'samovar' }, []],
        [{ currency: 'USD' }, []],
        [{ brand: 'Aldo', merchants: ['beta'], maxPrice: '75', searchText: 'lamp' }, [one]],
      ]
      for (const [over, expected] of cases)
        expect([over, await history.readFalls(over)]).toEqual([over, expected])
      const orders: Readonly<Record<DealSort, readonly (string | undefined)[]>> = {
        discount: [one, two, three],
        saving: [one, two, three],
        price: [one, two, three],
        newest: [one, two, three],
        drop: [one, two, three],
      }
      for (const [sort, expected] of Object.entries(orders) as [DealSort, readonly string[]][])
        expect([sort, await history.readFalls({ sort })]).toEqual([sort, expected])
      const counts = await history.copy.countDeals(makeQuery({ evidence: 'observed' }), new Map())
      expect(counts).toMatchObject({
        total: 3,
        brands: [
          { name: 'Aldo', count: 2 },
          { name: 'Bree', count: 1 },
        ],
        merchants: [
          { name: 'Alpha', count: 2 },
          { name: 'Beta', count: 2 },
        ],
      })
      expect(counts.discounts.find(({ minPercent }) => minPercent === 30)?.count).toBe(2)
      const shop = await history.copy.countDeals(makeQuery(), new Map())
      expect(shop.total).toBe(4)
    })

    test('sort=drop - confirmed falls first, by size; then the rest by claimed discount', async () => {
      await history.walkDays(makeSeveral(['100', '100', '100', '100']), 0, 29)
      await history.walk(makeSeveral(['100', '95', '100', '50']), 30)
      const deals = await history.copy.findDeals(makeQuery({ sort: 'drop' }))
      expect(deals.map(({ gtin, offer }) => `${toIndex(gtin)} ${offer.price}<${offer.oldPrice}`)).toEqual([
        '3 50<600',
        '1 95<800',
        '0 100<900',
        '2 100<700',
      ])
    })

    test('best claimed deal unconfirmed, second one confirmed - the second is the observed deal', async () => {
      const best = makeClaim('100', { merchant: 'Best', oldPrice: '1000' })
      await history.walkDays([makeLamp(1, best, '100')], 0, 29)
      await history.walk([makeLamp(1, best, '80')], 30)
      expect(await history.readFalls()).toEqual(['1 Kopje 80<100'])
      const [shop] = await history.copy.findDeals(makeQuery({ sort: 'drop' }))
      expect(shop?.offer.merchant).toBe('Best')
    })

    test('dearer offer in stock that leaves - the sold-out one, whose price never changed, has not fallen', async () => {
      const soldOut = makeClaim('100', { network: 'other', availability: 'out_of_stock' })
      await history.walkDays([makeLamp(1, '120', soldOut)], 0, 34)
      await history.walk([makeLamp(1, soldOut)], 35)
      expect(await history.readFalls()).toEqual([])
      expect(await history.readSeries()).toEqual({ 'EUR kopje': listDays(0, 35, 100) })
    })

    test.each([
      ['not seen on the day on which it left', 12],
      ['seen early on that day', 1],
    ])(
      'shop that left for three days, %s, and returned with its price - keeps its fall',
      async (_case, hour) => {
        const other = makeClaim('90', { merchant: 'Zaal', oldPrice: null })
        await history.walkDays([makeLamp(1, '100', other)], 0, 29)
        await history.walkDays([makeLamp(1, '80', other)], 30, 31)
        if (hour < 12) await history.walk([makeLamp(1, '80', other)], 32, hour)
        await history.walkDays([makeLamp(1, other)], 32, 34)
        expect(await history.readFalls()).toEqual([])
        await history.walk([makeLamp(1, '80', other)], 35)
        expect(await history.readFalls()).toEqual(['1 Kopje 80<100'])
      },
    )

    test('confirmed deal whose sale has ended - is not shown', async () => {
      await fallTo(makeClaim('80', { saleEndsAtMs: toMs(30, 18) }))
      expect(await history.readFalls()).toHaveLength(1)
      history.setTime(30, 19)
      expect(await history.readFalls()).toEqual([])
    })

    test('many falls in one page - are all found', async () => {
      for (let day = 0; day < 26; day += 1) await history.walk(makeMany('100'), day)
      await history.walk(makeMany('80'), 26)
      const { total } = await history.copy.countDeals(makeQuery({ evidence: 'observed' }), new Map())
      expect(total).toBe(MANY)
    })
  })
}
