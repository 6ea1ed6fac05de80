import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { toGtin } from '../../helpers/products.ts'
import {
  DAY_0,
  type HistoryFixture,
  listDays,
  makeLamp,
  makeMany,
  openHistory,
  toMs,
} from './price-history-fixture.ts'
import { CHANNEL, type CopyFixture, type Subject } from './subject.ts'

/** Test which days are kept, and the history of copies that were written without one. */
export function describeKeptDays(subject: Subject): void {
  describe(`${subject.name}: kept days`, () => {
    let fixture: CopyFixture
    let history: HistoryFixture
    beforeEach(async () => {
      fixture = await subject.start()
      history = await openHistory(fixture)
    })
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

    test('imported run - counts until its last day is no longer kept, and then is deleted', async () => {
      const kept = await history.reopen({ keptDays: 10 })
      kept.setTime(9)
      const run = { gtin: toGtin(1), merchantKey: 'kopje', currency: 'EUR', low: 800_000, last: 800_000 }
      const days = { day: DAY_0, untilDay: DAY_0 + 5, isImported: true }
      await kept.copy.importRuns(CHANNEL, [{ ...run, ...days }])
      await kept.walk([makeLamp(1, '80'), makeLamp(2, '80')], 9)
      const imported = listDays(0, 5, 80).map((day) => `${day} imported`)
      expect(await kept.readSeries()).toEqual({ 'EUR kopje': [...imported, '9 80'] })
      await kept.walkDays([makeLamp(1, '80'), makeLamp(2, '80')], 10, 14)
      expect(await kept.readSeries()).toEqual({ 'EUR kopje': ['5 80 imported', ...listDays(9, 14, 80)] })
      expect(await kept.copy.countObservedDays(CHANNEL)).toEqual({ all: 7, imported: 1 })
      await kept.walk([makeLamp(1, '80'), makeLamp(2, '80')], 15)
      // Days that are only hidden would be there again.
      fixture.clock.step(toMs(10) - fixture.clock.nowMs())
      expect(await kept.readSeries()).toEqual({ 'EUR kopje': ['9 80', '10 80'] })
    })

    test('price that the kept days have only before a wrong clock - is seen again, and recorded', async () => {
      await history.walkDays([makeLamp(1, '80'), makeLamp(2, '80'), makeLamp(3, '80')], 0, 1)
      await history.walk([makeLamp(1, '90'), makeLamp(2, '80')], 60)
      expect(await history.readSeries()).toEqual({ 'EUR kopje': ['0 80', '1 80', '60 90'] })
      await history.walk([makeLamp(1, '90'), makeLamp(2, '80')], 2)
      await history.walkDays([makeLamp(1, '90'), makeLamp(2, '80')], 3, 4)
      expect(await history.readSeries(2)).toEqual({ 'EUR kopje': listDays(0, 4, 80) })
      expect(await history.copy.countObservedDays(CHANNEL)).toEqual({ all: 5, imported: 0 })
      await history.walk([makeLamp(1, '95'), makeLamp(2, '80')], 5)
      history.setTime(100)
      expect((await history.readSeries(1))['EUR kopje']).toEqual([
        '0 80',
        '1 80',
        ...listDays(2, 4, 90),
        '5 95',
      ])
      expect(await history.readSeries(3)).toEqual({ 'EUR kopje': ['0 80', '1 80'] })
    })

    test('walk by a clock that is a day ahead - the next walks are recorded', async () => {
      await history.walkDays([makeLamp(1, '100')], 0, 2)
      await history.walk([makeLamp(1, '120')], 4)
      await history.walkDays([makeLamp(1, '90')], 3, 5)
      expect(await history.readSeries()).toEqual({
        'EUR kopje': [...listDays(0, 2, 100), ...listDays(3, 5, 90)],
      })
      expect(await history.copy.countObservedDays(CHANNEL)).toEqual({ all: 6, imported: 0 })
    })

    // The other tests open the copy twice.
    if (!subject.isShared) return

    test('look-up while history is off - the price before it does not go on', async () => {
      await history.walkDays([makeLamp(1, '100'), makeLamp(2, '100')], 0, 1)
      const off = await history.reopen({ keptDays: 0 })
      await off.lookUp(1, makeLamp(1, '80'), 2)
      expect(await off.readFalls()).toEqual([])
      await history.walkDays([makeLamp(1, '80'), makeLamp(2, '100')], 3, 4)
      expect(await history.readSeries(1)).toEqual({ 'EUR kopje': listDays(3, 4, 80) })
      expect(await history.readSeries(2)).toEqual({ 'EUR kopje': ['0 100', '3 100', '4 100'] })
    })

    test('look-up and a walk while history is off - no price of a product that left goes on', async () => {
      await history.walkDays([makeLamp(1, '100'), makeLamp(2, '100')], 0, 29)
      const off = await history.reopen({ keptDays: 0 })
      await off.lookUp(1, makeLamp(1, '80'), 30)
      await off.walk([makeLamp(1, '80')], 31)
      const on = await history.reopen({})
      await on.walkDays([makeLamp(1, '80')], 40, 70)
      expect(await on.readSeries(2)).toEqual({})
      await on.walk([makeLamp(1, '80'), makeLamp(2, '80')], 71)
      expect(await on.readFalls()).toEqual([])
    })

    test('history off, before the next walk - no deal is confirmed', async () => {
      await history.walkDays([makeLamp(1, '100')], 0, 29)
      await history.walk([makeLamp(1, '80')], 30)
      expect(await history.readFalls()).toHaveLength(1)
      expect(await (await history.reopen({ keptDays: 0 })).readFalls()).toEqual([])
    })

    test('history switched off - everything is deleted with the next walk; on again - it begins anew', async () => {
      await history.walkDays([makeLamp(1, '100'), makeLamp(2, '80')], 0, 29)
      await history.walk([makeLamp(1, '80'), makeLamp(2, '80')], 30)
      expect(await history.readFalls()).toHaveLength(1)
      const off = await history.reopen({ keptDays: 0 })
      expect(await off.readSeries()).toEqual({})
      expect(await off.copy.countObservedDays(CHANNEL)).toBeNull()
      await off.walk([makeLamp(1, '80'), makeLamp(2, '80')], 31)
      expect(await off.readFalls()).toEqual([])
      expect(await off.readFalls({ evidence: 'shop', sort: 'drop' })).toEqual(
        await off.readFalls({ evidence: 'shop' }),
      )
      await off.walk([makeLamp(1, '85'), makeLamp(2, '80')], 32)
      await off.lookUp(1, makeLamp(1, '90'), 32, 13)
      expect(await history.readSeries()).toEqual({})
      expect(await history.copy.countObservedDays(CHANNEL)).toEqual({ all: 0, imported: 0 })
      await history.walkDays([makeLamp(1, '90'), makeLamp(2, '80')], 33, 34)
      expect(await history.readSeries(1)).toEqual({ 'EUR kopje': ['33 90', '34 90'] })
      expect(await history.readSeries(2)).toEqual({ 'EUR kopje': ['33 80', '34 80'] })
    })

    test('history switched on for a large copy - records every product with the next walk', async () => {
      const off = await history.reopen({ keptDays: 0 })
      await off.walk(makeMany('80'), 0)
      await history.walkDays(makeMany('80'), 1, 2)
      for (const index of [0, 350, 699])
        expect(await history.readSeries(index)).toEqual({ 'EUR kopje': ['1 80', '2 80'] })
      expect((await history.copy.findProduct(CHANNEL, makeMany('80')[0]?.gtin ?? ''))?.asOfMs).toBe(toMs(2))
    })
  })
}
