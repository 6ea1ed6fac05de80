import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { makeProduct, toGtin } from '../../helpers/products.ts'
import {
  type HistoryFixture,
  MANY,
  hold,
  listDays,
  makeClaim,
  makeChecked,
  makeLamp,
  makeMany,
  openHistory,
  toMs,
} from './price-history-fixture.ts'
import { CHANNEL, type CopyFixture, type Subject } from './subject.ts'

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

    test('walk over midnight, a page older than the one before it - each counts on its day', async () => {
      await history.walkDays([makeLamp(1, '80'), makeLamp(2, '80')], 0, 1)
      const walk = await history.begin(3, 0)
      await history.apply(walk, [makeLamp(1, '80')], { day: 3, hour: 0, until: 2 })
      await history.apply(walk, [makeLamp(2, '80')], { day: 2, hour: 23.9, after: 1 })
      await history.complete(walk, 3)
      history.setTime(3)
      expect(await history.readSeries(1)).toEqual({ 'EUR kopje': ['0 80', '1 80', '3 80'] })
      expect(await history.readSeries(2)).toEqual({ 'EUR kopje': listDays(0, 2, 80) })
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
      await hold(history, walk, 1)
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
      await history.walk([makeChecked(0)], 0)
      await history.walk([makeChecked(0)], 1, 12)
      await history.walk([makeChecked(0)], 1, 13)
      await history.walk([makeChecked(0)], 2)
      await history.walk([makeChecked(0)], 3)
      await history.walk([makeChecked(3)], 4)
      await history.walk([makeChecked(3)], 5, 1)
      await history.walk([makeChecked(5)], 5, 12)
      await history.walk([makeChecked(5)], 6, 12)
      expect(await history.readSeries()).toEqual({ 'EUR kopje': ['0 80', '1 80>', '4 80', '5 80', '6 80'] })
    })

    test('price whose check is in the past - counts on the day on which it was seen', async () => {
      await history.walk([makeLamp(1, makeClaim('80', { checkedAtMs: toMs(0, 23) }))], 1, 2)
      expect(await history.readSeries()).toEqual({ 'EUR kopje': ['1 80'] })
    })

    test('first price already too old - is recorded once it is fresh', async () => {
      await history.walk([makeChecked(-3)], 0)
      await history.walk([makeChecked(-3)], 1)
      await history.walk([makeChecked(2)], 2)
      await history.walk([makeChecked(2)], 3, 1)
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
}
