import { describe, expect, test } from 'vitest'
import {
  type DayLow,
  type ObservedDay,
  computeEarliestNoteDay,
  determineReference,
  findReferencePrice,
} from '../../src/offers/price-history.ts'

const TODAY = 20_000

/** `count` observed days at a price, of which the last one is `lastDay`. */
function observe(count: number, price: number, lastDay: number): readonly ObservedDay[] {
  return Array.from({ length: count }, (_, index) => ({
    day: lastDay - count + 1 + index,
    low: price,
    last: price,
    isImported: false,
  }))
}

const listLows = (count: number, lastDay: number): readonly DayLow[] => observe(count, 100, lastDay)

describe('reference price', () => {
  test.each([
    ['30 days before', [...observe(30, 100, TODAY - 2), ...observe(2, 80, TODAY - 0)], 80, 100, TODAY - 1],
    ['25 days before', [...observe(25, 100, TODAY - 1), ...observe(1, 80, TODAY)], 80, 100, TODAY],
    ['a higher price now', [...observe(40, 100, TODAY - 1), ...observe(1, 120, TODAY)], 120, 100, TODAY],
    [
      'C-330/23: 80, 100, 90',
      [...observe(20, 80, TODAY - 11), ...observe(10, 100, TODAY - 1), ...observe(1, 90, TODAY)],
      90,
      80,
      TODAY,
    ],
  ])(
    '%s - is known, with the day on which the price began',
    (_case, days, ...[price, reference, beganDay]) => {
      expect(determineReference(days, price)).toEqual({ kind: 'known', beganDay, price: reference })
      expect(findReferencePrice(days, price)).toBe(reference)
    },
  )

  test.each([
    ['24 days before', [...observe(24, 100, TODAY - 1), ...observe(1, 80, TODAY)], 24, TODAY],
    ['only the present price', observe(40, 80, TODAY), 0, TODAY - 39],
    [
      'a gap of six days before the present price',
      [...observe(40, 100, TODAY - 7), ...observe(1, 80, TODAY)],
      24,
      TODAY,
    ],
  ])('%s - is unknown, with the number of observed days', (_case, days, observedDays, beganDay) => {
    expect(determineReference(days, 80)).toEqual({ kind: 'unobserved', beganDay, observedDays })
    expect(findReferencePrice(days, 80)).toBeNull()
  })

  test.each([
    ['no day', []],
    ['another last price', observe(40, 100, TODAY)],
  ])('%s - is superseded', (_case, days) => {
    expect(determineReference(days, 80)).toEqual({ kind: 'superseded' })
    expect(findReferencePrice(days, 80)).toBeNull()
  })
})

describe('earliest day of the note', () => {
  test.each([
    ['nothing observed', [], TODAY + 29],
    ['today observed', listLows(1, TODAY), TODAY + 29],
    ['12 days until yesterday', listLows(12, TODAY - 1), TODAY + 17],
    ['29 days until yesterday', listLows(29, TODAY - 1), TODAY],
    ['29 days until today', listLows(29, TODAY), TODAY + 1],
    ['30 days', listLows(30, TODAY), TODAY],
  ])('%s - counts every day from now on', (_case, dayLows, day) => {
    expect(computeEarliestNoteDay(dayLows, TODAY)).toBe(day)
  })
})
