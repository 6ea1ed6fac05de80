import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Product } from '../../../src/catalog/contract.ts'
import type { DealSort } from '../../../src/offers/deals.ts'
import type { DealQuery } from '../../../src/storage/store.ts'
import { makeParsedOffer, makeProduct, toGtin } from '../../helpers/products.ts'
import {
  type HistoryFixture,
  listDays,
  makeClaim,
  makeLamp,
  openHistory,
  toIndex,
  toMs,
} from './price-history-fixture.ts'
import { CHANNEL, type CopyFixture, type Subject, makeQuery } from './subject.ts'

/** Enough products that a page needs several transactions. */
const MANY = 700
const makeMany = (price: string): Product[] =>
  Array.from({ length: MANY }, (_, index) => makeLamp(index, price))

/** Test what walks and look-ups record of prices, and the falls that grids show. */
export function describePriceHistory(subject: Subject): void {
  let fixture: CopyFixture
  let history: HistoryFixture
  const open = async (): Promise<void> => {
    fixture = await subject.start()
    history = await openHistory(fixture)
  }

  describe(`${subject.name}: observed prices`, () => {
    beforeEach(open)
    afterEach(() => fixture.dispose())

    test('walks on several days - record each walked day, and nothing on others', async () => {
      await history.walk([makeLamp(1, '80')], 0)
      await history.walk([makeLamp(1, '80')], 1)
      await history.walk([makeLamp(1, '100')], 4)
      await history.walk([makeLamp(1, '100')], 5)
      expect(await history.readSeries()).toEqual({ 'EUR kopje': ['0 80', '1 80', '4 100', '5 100'] })
      expect(await history.readSeries(2)).toEqual({})
      expect(await history.copy.countObservedDays(CHANNEL)).toEqual({ all: 4, imported: 0 })
    })

    test('walks on one day - record its lowest and last price', async () => {
      await history.walk([makeLamp(1, '80')], 0)
      await history.walk([makeLamp(1, '100')], 1, 1)
      await history.walk([makeLamp(1, '70')], 1, 2)
      await history.walk([makeLamp(1, '90')], 1, 3)
      await history.walk([makeLamp(1, '95')], 2, 1)
      await history.walk([makeLamp(1, '95')], 2, 2)
      await history.walk([makeLamp(1, '99')], 2, 3)
      expect(await history.readSeries()).toEqual({ 'EUR kopje': ['0 80', '1 70>90', '2 95>99'] })
    })

    test('merchants and currencies - have their own series', async () => {
      const usd = makeClaim('70', { currency: 'USD' })
      await history.walk([makeLamp(1, '80', usd, makeClaim('60', { merchant: 'Zaal' }))], 0)
      await history.walk([makeLamp(1, '80', makeClaim('65', { merchant: 'ZAAL' }))], 1)
      expect(await history.readSeries()).toEqual({
        'EUR kopje': ['0 80', '1 80'],
        'USD kopje': ['0 70'],
        'EUR zaal': ['0 60', '1 65'],
      })
    })

    test('change of anything else than the price - changes nothing', async () => {
      await history.walk([makeLamp(1, '80')], 0)
      await history.walk([makeLamp(1, makeClaim('80.00', { oldPrice: '90' }))], 1)
      await history.walk([makeProduct({ title: 'Other', offers: [makeClaim('80')] })], 2)
      expect(await history.readSeries()).toEqual({ 'EUR kopje': listDays(0, 2, 80) })
    })

    test('walk over midnight - each page counts on its day', async () => {
      await history.walkDays([makeLamp(1, '80'), makeLamp(2, '80'), makeLamp(3, '80')], 0, 1)
      const walk = await history.begin(2, 23.9)
      await history.apply(walk, [makeLamp(1, '90')], { day: 2, hour: 23.9, until: 2 })
      await history.apply(walk, [makeLamp(2, '80'), makeLamp(3, '90')], { day: 3, hour: 0, after: 1 })
      await history.complete(walk, 3)
      await history.walk([makeLamp(1, '90'), makeLamp(2, '80'), makeLamp(3, '95')], 3, 12)
      expect(await history.readSeries(1)).toEqual({ 'EUR kopje': ['0 80', '1 80', '2 90', '3 90'] })
      expect(await history.readSeries(2)).toEqual({ 'EUR kopje': ['0 80', '1 80', '3 80'] })
      expect(await history.readSeries(3)).toEqual({ 'EUR kopje': ['0 80', '1 80', '3 90>95'] })
    })

    test('page of several transactions, applied again - records each day once', async () => {
      await history.walk(makeMany('80'), 0)
      const walk = await history.begin(1)
      // The first part is what a killed process had written.
      await history.apply(walk, makeMany('90').slice(0, 300), { day: 1, until: 300 })
      await history.apply(walk, makeMany('90'), { day: 1 })
      await history.apply(walk, makeMany('90'), { day: 1 })
      await history.complete(walk, 1)
      await history.walk(makeMany('90'), 2)
      for (const index of [0, 299, 300, MANY - 1])
        expect(await history.readSeries(index)).toEqual({ 'EUR kopje': ['0 80', '1 90', '2 90'] })
    })

    test('walk that resumes on the next day - records each page on its day', async () => {
      await history.walk([makeLamp(1, '80'), makeLamp(2, '80')], 0)
      const walk = await history.begin(1)
      await history.apply(walk, [makeLamp(1, '90')], { day: 1, until: 2 })
      history.setTime(2)
      const resumed = await history.copy.beginWalk(CHANNEL, { nowMs: toMs(2), resumableSinceMs: 0 })
      expect(resumed).toMatchObject({ walk, afterGtin: toGtin(1) })
      await history.apply(walk, [makeLamp(2, '95')], { day: 2, after: 1 })
      await history.complete(walk, 2)
      await history.walk([makeLamp(1, '90'), makeLamp(2, '95')], 3)
      expect(await history.readSeries(1)).toEqual({ 'EUR kopje': ['0 80', '1 90', '3 90'] })
      expect(await history.readSeries(2)).toEqual({ 'EUR kopje': ['0 80', '2 95', '3 95'] })
    })

    test('walk that restarts on the next day, when the price is the old one again - records both', async () => {
      await history.walk([makeLamp(1, '80'), makeLamp(2, '80')], 0)
      const walk = await history.begin(1)
      await history.apply(walk, [makeLamp(1, '90')], { day: 1, until: 2 })
      await history.walk([makeLamp(1, '80'), makeLamp(2, '80')], 2)
      await history.walk([makeLamp(1, '80'), makeLamp(2, '80')], 3)
      expect(await history.readSeries(1)).toEqual({ 'EUR kopje': ['0 80', '1 90', '2 80', '3 80'] })
      expect(await history.readSeries(2)).toEqual({ 'EUR kopje': ['0 80', '2 80', '3 80'] })
    })

    test('held walk without a product, which then returns - the product was not seen on that day', async () => {
      await history.walk([makeLamp(1, '80'), makeLamp(2, '80')], 0)
      const walk = await history.begin(1)
      await history.apply(walk, [makeLamp(2, '80')], { day: 1 })
      const held = {
        reason: 'few_products',
        sinceMs: toMs(1),
        startedAtMs: toMs(1),
        productCount: 1,
      } as const
      await history.copy.holdWalk(CHANNEL, walk, held)
      await history.walk([makeLamp(1, '80'), makeLamp(2, '80')], 2)
      await history.walk([makeLamp(1, '80'), makeLamp(2, '80')], 3)
      expect(await history.readSeries(1)).toEqual({ 'EUR kopje': ['0 80', '2 80', '3 80'] })
      expect(await history.readSeries(2)).toEqual({ 'EUR kopje': listDays(0, 3, 80) })
    })

    test('product gone and back in one walk - was seen on that day', async () => {
      await history.walk([makeLamp(1, '80')], 0)
      const walk = await history.begin(1)
      await history.apply(walk, [], { day: 1 })
      await history.apply(walk, [makeLamp(1, '80')], { day: 1 })
      await history.complete(walk, 1)
      await history.walk([makeLamp(1, '80')], 2)
      expect(await history.readSeries()).toEqual({ 'EUR kopje': listDays(0, 2, 80) })
    })

    test('product, and shop of a product, that leave and return - are not seen meanwhile', async () => {
      const zaal = makeClaim('60', { merchant: 'Zaal' })
      await history.walk([makeLamp(1, '80', zaal), makeLamp(2, '80')], 0)
      await history.walk([makeLamp(1, '80'), makeLamp(2, '80')], 1)
      await history.walk([makeLamp(1, '80', zaal)], 2, 1)
      await history.walk([makeLamp(1, '80')], 2, 2)
      await history.walk([makeLamp(1, '80')], 3)
      await history.walk([makeLamp(1, '80', zaal), makeLamp(2, '80')], 4)
      expect(await history.readSeries(1)).toEqual({
        'EUR kopje': listDays(0, 4, 80),
        'EUR zaal': ['0 60', '2 60>', '4 60'],
      })
      expect(await history.readSeries(2)).toEqual({ 'EUR kopje': ['0 80', '1 80', '4 80'] })
    })

    test('look-ups on days without a walk - record only their product', async () => {
      await history.walk([makeLamp(1, '80'), makeLamp(2, '80')], 0)
      await history.lookUp(1, makeLamp(1, '80'), 1)
      await history.lookUp(1, makeLamp(1, '70'), 2, 1)
      await history.lookUp(1, makeLamp(1, '75'), 2, 2)
      await history.lookUp(1, null, 3)
      await history.walk([makeLamp(2, '80')], 4)
      expect(await history.readSeries(1)).toEqual({ 'EUR kopje': ['0 80', '1 80', '2 70>75'] })
      expect(await history.readSeries(2)).toEqual({ 'EUR kopje': ['0 80', '4 80'] })
      expect(await history.copy.countObservedDays(CHANNEL)).toEqual({ all: 5, imported: 0 })
    })

    test('look-up of a product that no walk has seen - is recorded', async () => {
      await history.lookUp(1, makeLamp(1, '80'), 0)
      await history.walk([], 1)
      await history.lookUp(1, makeLamp(1, '80'), 1, 13)
      await history.lookUp(1, makeLamp(1, '80'), 1, 14)
      expect(await history.readSeries(1)).toEqual({ 'EUR kopje': ['0 80', '1 80'] })
    })

    test.each([
      [
        'look-up, then walk',
        '1 70>75',
        (): Promise<void> => history.lookUp(1, makeLamp(1, '70'), 1, 1),
        (): Promise<void> => history.walk([makeLamp(1, '75')], 1, 2),
      ],
      [
        'walk, then look-up',
        '1 70>75',
        (): Promise<void> => history.walk([makeLamp(1, '70')], 1, 1),
        (): Promise<void> => history.lookUp(1, makeLamp(1, '75'), 1, 2),
      ],
      [
        'unchanged look-up, then walk',
        '1 75>80',
        (): Promise<void> => history.walk([makeLamp(1, '75')], 1, 1),
        (): Promise<void> => history.lookUp(1, makeLamp(1, '80'), 1, 2),
      ],
      [
        'look-up of the old price, then walk',
        '1 80>90',
        (): Promise<void> => history.lookUp(1, makeLamp(1, '80'), 1, 1),
        (): Promise<void> => history.walk([makeLamp(1, '90')], 1, 2),
      ],
      [
        'walk of the old price, then look-up',
        '1 80>90',
        (): Promise<void> => history.walk([makeLamp(1, '80')], 1, 1),
        (): Promise<void> => history.lookUp(1, makeLamp(1, '90'), 1, 2),
      ],
      [
        'walk, then product gone',
        '1 80>',
        (): Promise<void> => history.walk([makeLamp(1, '80')], 1, 1),
        (): Promise<void> => history.lookUp(1, null, 1, 2),
      ],
    ] as const)('%s on one day - records %s', async (...row) => {
      const [, expected, first, second] = row
      await history.walk([makeLamp(1, '80')], 0)
      await first()
      await second()
      expect(await history.readSeries()).toEqual({ 'EUR kopje': ['0 80', expected] })
    })

    test('look-up during a walk, older than its page - the page counts last', async () => {
      await history.walk([makeLamp(1, '80')], 0)
      const walk = await history.begin(1)
      await history.lookUp(1, makeLamp(1, '70'), 1, 11)
      await history.apply(walk, [makeLamp(1, '75')], { day: 1, hour: 12 })
      await history.complete(walk, 1)
      await history.walk([makeLamp(1, '75')], 2)
      expect(await history.readSeries()).toEqual({ 'EUR kopje': ['0 80', '1 70>75', '2 75'] })
    })

    test('price that becomes too old while the product is unchanged - is not seen until it is fresh again', async () => {
      const checked = (day: number): Product => makeLamp(1, makeClaim('80', { checkedAtMs: toMs(day) }))
      await history.walk([checked(0)], 0)
      await history.walk([checked(0)], 1, 12)
      await history.walk([checked(0)], 1, 13)
      await history.walk([checked(0)], 2)
      await history.walk([checked(0)], 3)
      await history.walk([checked(3)], 4)
      await history.walk([checked(3)], 5, 1)
      await history.walk([checked(5)], 5, 12)
      await history.walk([checked(5)], 6, 12)
      expect(await history.readSeries()).toEqual({ 'EUR kopje': ['0 80', '1 80>', '4 80', '5 80', '6 80'] })
    })

    test('price whose check is in the past - counts on the day on which it was seen', async () => {
      await history.walk([makeLamp(1, makeClaim('80', { checkedAtMs: toMs(0, 23) }))], 1, 2)
      expect(await history.readSeries()).toEqual({ 'EUR kopje': ['1 80'] })
    })

    test('first price already too old - is recorded once it is fresh', async () => {
      const checked = (day: number): Product => makeLamp(1, makeClaim('80', { checkedAtMs: toMs(day) }))
      await history.walk([checked(-3)], 0)
      await history.walk([checked(-3)], 1)
      await history.walk([checked(2)], 2)
      await history.walk([checked(2)], 3, 1)
      expect(await history.readSeries()).toEqual({ 'EUR kopje': ['2 80', '3 80'] })
    })

    test('sale that ends while the product is unchanged - is not seen from then on', async () => {
      const product = makeLamp(1, makeClaim('80', { saleEndsAtMs: toMs(2, 18) }))
      await history.walkDays([product], 0, 2)
      await history.walk([product], 2, 19)
      await history.walkDays([product], 3, 4)
      expect(await history.readSeries()).toEqual({ 'EUR kopje': ['0 80', '1 80', '2 80>'] })
    })

    test('sale that ended between two days - is not seen on the second', async () => {
      const product = makeLamp(1, makeClaim('80', { saleEndsAtMs: toMs(1, 18) }))
      await history.walkDays([product], 0, 4)
      expect(await history.readSeries()).toEqual({ 'EUR kopje': ['0 80', '1 80'] })
    })

    test('history switched on for a copy - begins with the next walk, for all products', async () => {
      const off = await history.reopen({ keptDays: 0 })
      await off.walk(makeMany('80'), 0)
      await off.lookUp(1, makeLamp(1, '70'), 0, 13)
      const on = fixture.isShared ? history : off
      expect(await on.readSeries()).toEqual({})
    })

    test('days on which the catalog did not change a page - are seen in every page', async () => {
      const [one, two, three] = [makeLamp(1, '80'), makeLamp(2, '80'), makeLamp(3, '80')]
      for (const day of [0, 1]) {
        const walk = await history.begin(day)
        await history.apply(walk, [one, two].slice(day), { day, until: 3 })
        await history.apply(walk, [three], { day, after: 2 })
        await history.complete(walk, day)
      }
      expect(await history.readSeries(1)).toEqual({ 'EUR kopje': ['0 80'] })
      expect(await history.readSeries(2)).toEqual({ 'EUR kopje': ['0 80', '1 80'] })
      expect(await history.readSeries(3)).toEqual({ 'EUR kopje': ['0 80', '1 80'] })
    })
  })

  describe(`${subject.name}: falls that observation confirms`, () => {
    beforeEach(open)
    afterEach(() => fixture.dispose())

    /** Thirty days at 100, then these offers of product 1. */
    const fallTo = async (
      ...offers: Parameters<typeof makeLamp> extends [number, ...infer R] ? R : never
    ): Promise<void> => {
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
      const held = {
        reason: 'few_products',
        sinceMs: toMs(31),
        startedAtMs: toMs(31),
        productCount: 0,
      } as const
      await history.copy.holdWalk(CHANNEL, walk, held)
      expect(await history.readFalls()).toEqual(['1 Kopje 80<100'])
      await history.walk([makeLamp(1, '80')], 32)
      expect(await history.readFalls()).toEqual(['1 Kopje 80<100'])
    })

    test('product that held walks lack for 6 days - has no known fall when it returns', async () => {
      await fallTo('80')
      for (let day = 31; day <= 36; day += 1) {
        const walk = await history.begin(day)
        await history.apply(walk, [makeLamp(2, '1')], { day })
        const held = {
          reason: 'few_products',
          sinceMs: toMs(31),
          startedAtMs: toMs(day),
          productCount: 1,
        } as const
        await history.copy.holdWalk(CHANNEL, walk, held)
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
      const checked = (day: number): Product => makeLamp(1, makeClaim('80', { checkedAtMs: toMs(day) }))
      await fallTo(makeClaim('80', { checkedAtMs: toMs(30) }))
      await history.walkDays([checked(30)], 31, 29 + days)
      await history.walk([checked(30 + days)], 30 + days)
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
      const offer = (merchant: string, price: string, over = {}): Product['offers'][number] =>
        makeClaim(price, { merchant, ...over })
      const list = (fallen: boolean): Product[] => {
        const to = (price: string): string => (fallen ? price : '100')
        return [
          makeProduct({
            gtin: toGtin(1),
            brand: 'Aldo',
            title: 'Table lamp',
            offers: [offer('Alpha', to('90')), offer('Beta', to('60'), { oldPrice: '61' })],
          }),
          makeProduct({
            gtin: toGtin(2),
            brand: 'Bree',
            title: 'Lamp',
            offers: [offer('Alpha', to('70'), { availability: 'out_of_stock' })],
          }),
          makeProduct({
            gtin: toGtin(3),
            brand: 'Aldo',
            title: 'Lamp',
            offers: [offer('Beta', to('80')), offer('Gamma', '100', { oldPrice: '1000' })],
          }),
          makeProduct({
            gtin: toGtin(4),
            brand: 'Bree',
            title: 'Samovar',
            offers: [offer('Alpha', '40', { oldPrice: '400' })],
          }),
        ]
      }
      await history.walkDays(list(false), 0, 29)
      await history.walk(list(true), 30)
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
      const make = (prices: readonly string[]): Product[] =>
        prices.map((price, index) => makeLamp(index, makeClaim(price, { oldPrice: `${900 - index * 100}` })))
      await history.walkDays(make(['100', '100', '100', '100']), 0, 29)
      await history.walk(make(['100', '95', '100', '50']), 30)
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

  describe(`${subject.name}: kept days`, () => {
    beforeEach(open)
    afterEach(() => fixture.dispose())

    test('days before the kept ones - are deleted, but a price that still holds stays', async () => {
      const kept = await history.reopen({ keptDays: 10 })
      await kept.walkDays([makeLamp(1, '80'), makeLamp(2, '80'), makeLamp(3, '80')], 0, 2)
      await kept.walk([makeLamp(1, '80'), makeLamp(2, '90')], 3)
      await kept.walkDays([makeLamp(1, '80'), makeLamp(2, '95')], 4, 14)
      expect(await kept.readSeries(1)).toEqual({ 'EUR kopje': listDays(5, 14, 80) })
      expect(await kept.readSeries(2)).toEqual({ 'EUR kopje': listDays(5, 14, 95) })
      expect(await kept.readSeries(3)).toEqual({})
      expect(await kept.copy.countObservedDays(CHANNEL)).toEqual({ all: 10, imported: 0 })
      await kept.walk([makeLamp(1, '70'), makeLamp(3, '60')], 15)
      expect(await kept.readSeries(1)).toEqual({ 'EUR kopje': [...listDays(6, 14, 80), '15 70'] })
      expect(await kept.readSeries(3)).toEqual({ 'EUR kopje': ['15 60'] })
      await kept.walkDays([makeLamp(1, '70')], 16, 40)
      expect(await kept.readSeries(1)).toEqual({ 'EUR kopje': listDays(31, 40, 70) })
      expect(await kept.readSeries(2)).toEqual({})
    })
  })
}
