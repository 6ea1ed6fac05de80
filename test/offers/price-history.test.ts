import { describe, expect, test } from 'vitest'
import { DAY_MS, HOUR_MS } from '../../src/clock.ts'
import { createPriceCheck } from '../../src/offers/price-age.ts'
import {
  type ObservedDay,
  type PriceChange,
  addPresentPrice,
  collectPrices,
  computeChange,
  findFall,
  findLowest,
  findReferencePrice,
  listDayLows,
  listObservedDays,
  toDay,
  toObservedPrice,
  toPriceText,
} from '../../src/offers/price-history.ts'
import { makeParsedOffer } from '../helpers/products.ts'

const seen = (day: number, low: number, last = low): ObservedDay => ({ day, low, last, isImported: false })

/** List observed days from runs of first day, last day and price. */
const run = (...runs: readonly (readonly [number, number, number])[]): readonly ObservedDay[] =>
  runs.flatMap(([first, last, price]) =>
    Array.from({ length: last - first + 1 }, (_, index) => seen(first + index, price)),
  )

const without = (days: readonly ObservedDay[], ...left: readonly number[]): readonly ObservedDay[] =>
  days.filter(({ day }) => !left.includes(day))

const change = (
  day: number,
  low: number | null,
  last: number | null = low,
  untilDay: number | null = null,
): PriceChange => ({ day, untilDay, low, last })

describe('days', () => {
  test.each([
    ['1970-01-01T00:00:00.000Z', 0],
    ['2026-03-01T23:59:59.999Z', 20_513],
    ['2026-03-02T00:00:00.000Z', 20_514],
    // Local midnight of Berlin is not midnight UTC.
    ['2026-03-02T00:30:00.000+01:00', 20_513],
  ])('%s - belongs to UTC day %i', (time, day) => {
    expect(toDay(Date.parse(time))).toBe(day)
  })
})

describe('prices', () => {
  test.each([
    ['12.9', 129_000, '12.9'],
    ['12.90', 129_000, '12.9'],
    ['0.0001', 1, '0.0001'],
    ['10', 100_000, '10'],
    ['100.00', 1_000_000, '100'],
    ['1000.5', 10_005_000, '1000.5'],
    ['900719925474.0991', Number.MAX_SAFE_INTEGER, '900719925474.0991'],
  ])('%s - is %i ten-thousandths, and %s as text', (text, price, back) => {
    expect(toObservedPrice(text)).toBe(price)
    expect(toPriceText(price)).toBe(back)
  })

  test.each(['900719925474.0992', '999999999999.9999'])(
    '%s - is not exact, so it is not observed',
    (text) => {
      expect(toObservedPrice(text)).toBeUndefined()
      expect(collectPrices([makeParsedOffer({ price: text })], () => true).size).toBe(0)
    },
  )
})

describe('prices of one response', () => {
  const NOW_MS = 20_000 * DAY_MS + HOUR_MS
  const collect = (...offers: readonly Parameters<typeof makeParsedOffer>[0][]): unknown => {
    const isPriced = createPriceCheck(NOW_MS, { nowMs: NOW_MS, priceMaxAgeSeconds: 86_400 })
    const prices = collectPrices(offers.map(makeParsedOffer), isPriced)
    return Object.fromEntries([...prices].map(([key, { price }]) => [key, price / 10_000]))
  }

  test.each([
    [
      'two merchants and two currencies',
      { 'EUR kopje': 5, 'USD kopje': 6, 'EUR zaal': 7 },
      [{ price: '5' }, { price: '6', currency: 'USD' }, { price: '7', merchant: 'Zaal' }],
    ],
    ['spellings of one merchant', { 'EUR kopje': 4 }, [{ price: '5' }, { price: '4', merchant: 'KOPJE' }]],
    ['networks of one merchant', { 'EUR kopje': 4 }, [{ price: '5' }, { price: '4', network: 'other' }]],
    [
      'cheaper offer that is sold out',
      { 'EUR kopje': 4 },
      [{ price: '5' }, { price: '4', availability: 'out_of_stock' }],
    ],
    ['sold out', { 'EUR kopje': 5 }, [{ price: '5', availability: 'out_of_stock' }]],
    ['price at its maximum age', { 'EUR kopje': 5 }, [{ price: '5', checkedAtMs: NOW_MS - DAY_MS }]],
    ['price beyond its maximum age', {}, [{ price: '5', checkedAtMs: NOW_MS - DAY_MS - 1 }]],
    [
      'cheaper price that is too old',
      { 'EUR kopje': 5 },
      [{ price: '5' }, { price: '4', checkedAtMs: NOW_MS - DAY_MS - 1 }],
    ],
    ['sale that ends now', {}, [{ price: '5', saleEndsAtMs: NOW_MS }]],
    ['sale that ends later', { 'EUR kopje': 5 }, [{ price: '5', saleEndsAtMs: NOW_MS + 1 }]],
    ['time in the future', {}, [{ price: '5', checkedAtMs: NOW_MS + DAY_MS }]],
    ['nothing', {}, []],
  ] as const)('%s - %j', (_name, expected, offers) => {
    expect(collect(...offers)).toEqual(expected)
  })
})

describe('stored change', () => {
  const FIRST = { day: 10, wasSeenBefore: false, isDayWalked: true }
  const LATER = { day: 10, wasSeenBefore: true, isDayWalked: true }
  const LOOKUP = { day: 10, wasSeenBefore: false, isDayWalked: false }
  const LATER_LOOKUP = { day: 10, wasSeenBefore: true, isDayWalked: false }
  test.each([
    ['first price', undefined, 80, FIRST, change(10, 80)],
    ['no price yet', undefined, undefined, FIRST, undefined],
    ['same price, walked day', change(9, 80), 80, FIRST, undefined],
    ['same price, looked up on a day without a walk', change(9, 80), 80, LOOKUP, change(10, 80)],
    ['same price, looked up again', change(10, 80), 80, LATER_LOOKUP, undefined],
    ['same price, looked up on a walked day', change(9, 80), 80, LATER, undefined],
    ['other price, first seen today', change(9, 80), 100, FIRST, change(10, 100)],
    ['higher price later today', change(9, 80), 100, LATER, change(10, 80, 100)],
    ['lower price later today', change(9, 80), 70, LATER, change(10, 70)],
    ['second change today, higher', change(10, 70, 90), 100, LATER, change(10, 70, 100)],
    ['second change today, lowest', change(10, 70, 90), 60, LATER, change(10, 60)],
    ['back to the price of before today', change(10, 70), 80, LATER, change(10, 70, 80)],
    ['merchant gone at the first sight today', change(9, 80), undefined, FIRST, change(10, null)],
    ['merchant gone later today', change(9, 80), undefined, LATER, change(10, 80, null)],
    ['merchant gone after a change today', change(10, 70, 90), undefined, LATER, change(10, 70, null)],
    ['merchant still gone', change(9, null), undefined, FIRST, undefined],
    ['merchant still gone, looked up', change(9, null), undefined, LOOKUP, undefined],
    ['merchant gone and still gone today', change(10, 80, null), undefined, LATER, undefined],
    ['merchant back', change(9, null), 80, FIRST, change(10, 80)],
    ['merchant back later today', change(9, null), 80, LATER, change(10, 80)],
    ['merchant gone and back today', change(10, 80, null), 85, LATER, change(10, 80, 85)],
    ['after an imported run, same price', change(5, 80, 80, 9), 80, FIRST, change(10, 80)],
    ['after an imported run, no price', change(5, 80, 80, 9), undefined, FIRST, undefined],
    ['during an imported run', change(5, 80, 80, 20), 90, LATER, change(10, 90)],
    ['on the first day of an imported run', change(10, 80, 80, 20), 90, LATER, change(10, 90)],
  ] as const)('%s', (...row) => {
    const [, latest, price, sighting, expected] = row
    expect(computeChange(latest, price, sighting)).toEqual(expected)
  })
})

describe('observed days', () => {
  test.each([
    ['no change', [], [1, 2, 3], []],
    [
      'unchanged price on walked days only',
      [change(1, 80)],
      [1, 2, 4],
      [seen(1, 80), seen(2, 80), seen(4, 80)],
    ],
    [
      'day of a look-up, without a walk',
      [change(1, 80), change(3, 80)],
      [1, 4],
      [seen(1, 80), seen(3, 80), seen(4, 80)],
    ],
    [
      'low of the day of a change',
      [change(1, 80), change(2, 80, 100)],
      [1, 2, 3],
      [seen(1, 80), seen(2, 80, 100), seen(3, 100)],
    ],
    ['merchant gone', [change(1, 80), change(3, null)], [1, 2, 3, 4], [seen(1, 80), seen(2, 80)]],
    [
      'merchant gone during a day',
      [change(1, 80), change(3, 80, null)],
      [1, 2, 3, 4],
      [seen(1, 80), seen(2, 80), { day: 3, low: 80, last: null, isImported: false }],
    ],
    [
      'merchant back',
      [change(1, 80), change(2, null), change(4, 90)],
      [1, 2, 3, 4, 5],
      [seen(1, 80), seen(4, 90), seen(5, 90)],
    ],
    [
      'imported run - ends, and needs no walks',
      [change(1, 80, 80, 3)],
      [2, 4, 5],
      [1, 2, 3].map((day) => ({ ...seen(day, 80), isImported: true })),
    ],
    [
      'imported run - ends where own observation begins',
      [change(1, 80, 80, 9), change(3, 90)],
      [3, 4],
      [...[1, 2].map((day) => ({ ...seen(day, 80), isImported: true })), seen(3, 90), seen(4, 90)],
    ],
    ['walks before the first price', [change(3, 80)], [1, 2, 3, 4], [seen(3, 80), seen(4, 80)]],
  ] as const)('%s', (_name, changes, walked, expected) => {
    expect(listObservedDays(changes, walked)).toEqual(expected)
  })

  test.each([
    ['newer day', [seen(1, 80)], 90, 2, [seen(1, 80), seen(2, 90)]],
    ['same day, lower', [seen(1, 80)], 70, 1, [seen(1, 70)]],
    ['same day, higher', [seen(1, 80)], 90, 1, [seen(1, 80, 90)]],
    ['older than the history', [seen(2, 80)], 70, 1, [seen(2, 80)]],
    ['no history', [], 70, 1, [seen(1, 70)]],
  ] as const)('present price, %s', (...row) => {
    const [, days, price, day, expected] = row
    expect(addPresentPrice(days, price, day)).toEqual(expected)
  })
})

describe('reference price and fall', () => {
  /** Thirty days at 100, 70 to 99, before the price of 90 began on day 100. */
  const FULL = run([70, 99, 100], [100, 100, 90])
  test.each([
    ['30 of 30 days', FULL, 90, 100],
    ['25 of 30 days', without(FULL, 70, 75, 80, 85, 90), 90, 100],
    ['24 of 30 days', without(FULL, 70, 75, 80, 85, 90, 95), 90, null],
    ['only days before the window', run([30, 69, 100], [100, 100, 90]), 90, null],
    ['lower price on the day 30 days before', run([70, 70, 85], [71, 99, 100], [100, 100, 90]), 90, 85],
    ['lower price on the day 31 days before', run([69, 69, 85], [70, 99, 100], [100, 100, 90]), 90, 100],
    ['lower price the day before', run([70, 98, 100], [99, 99, 85], [100, 100, 90]), 90, 85],
    ['price that lasts for long', run([70, 99, 100], [100, 300, 90]), 90, 100],
    ['price that is not the last observed one', FULL, 95, null],
    [
      'merchant gone at the end of the last day',
      [...FULL.slice(0, -1), { ...seen(100, 90), last: null }],
      90,
      null,
    ],
    ['no history', [], 90, null],
    ['gap of 5 days since the price began', run([70, 99, 100], [100, 101, 90], [107, 108, 90]), 90, 100],
    ['gap of 6 days since the price began', run([70, 99, 100], [100, 101, 90], [108, 109, 90]), 90, null],
    ['gap of 5 days before the price began', run([65, 94, 100], [100, 100, 90]), 90, 100],
    ['gap of 6 days before the price began', run([65, 93, 100], [100, 100, 90]), 90, null],
    [
      'higher price after a lower one on the day it began',
      [...run([70, 99, 100]), seen(100, 80, 90)],
      90,
      80,
    ],
    [
      'lower price before it on the same day, then for days',
      [...run([70, 99, 100]), seen(100, 80, 90), ...run([101, 105, 90])],
      90,
      80,
    ],
    [
      'flash sale in between',
      [...run([70, 99, 100], [100, 104, 90]), seen(105, 50, 90), ...run([106, 109, 90])],
      90,
      50,
    ],
    ['other price in between', run([70, 99, 100], [100, 104, 90], [105, 105, 95], [106, 106, 90]), 90, 90],
  ] as const)('%s', (_name, days, price, reference) => {
    expect(findReferencePrice(days, price)).toBe(reference)
    expect(findFall(days, price)).toBe(reference !== null && reference > price ? reference : null)
  })

  test('80, then 100, then 90 - has not fallen while 80 is among the 30 days before', () => {
    expect(findFall(run([50, 79, 80], [80, 90, 100], [91, 91, 90]), 90)).toBeNull()
    expect(findFall(run([50, 79, 80], [80, 108, 100], [109, 109, 90]), 90)).toBeNull()
    expect(findFall(run([50, 79, 80], [80, 109, 100], [110, 110, 90]), 90)).toBe(100)
  })

  test('worked example of CJEU C-330/23: 1.29, then 1.69, now 1.29 - no reduction', () => {
    const days = run([1, 20, 12_900], [21, 32, 16_900], [33, 33, 12_900])
    expect(findReferencePrice(days, 12_900)).toBe(12_900)
    expect(findFall(days, 12_900)).toBeNull()
  })

  test('imported days - count like own ones', () => {
    const imported = run([70, 99, 100]).map((day) => ({ ...day, isImported: true }))
    expect(findFall([...imported, seen(100, 90)], 90)).toBe(100)
  })

  test('largest exact price - is compared exactly', () => {
    const price = Number.MAX_SAFE_INTEGER - 1
    expect(findFall(run([70, 99, price + 1], [100, 100, price]), price)).toBe(price + 1)
  })
})

/** List days at 100, except for special ones. */
const lows = (count: number, ...special: readonly (readonly [number, number])[]): ObservedDay[] =>
  Array.from({ length: count }, (_, index) => seen(index, new Map(special).get(index) ?? 100))

describe('lowest price', () => {
  test.each([
    ['29 days', lows(29, [3, 50]), undefined],
    ['30 days', lows(30, [3, 50]), { day: 3, low: 50 }],
    ['a tie', lows(30, [3, 50], [17, 50]), { day: 17, low: 50 }],
    ['always the same', lows(30), { day: 29, low: 100 }],
    ['no day', [], undefined],
  ] as const)('%s', (_name, days, expected) => {
    expect(findLowest(listDayLows([{ days }]))).toEqual(expected)
  })

  test('days of two merchants - count once, with the lower price', () => {
    const one = run([1, 20, 100])
    const other = run([15, 31, 90])
    expect(listDayLows([{ days: one }, { days: other }])).toHaveLength(31)
    expect(findLowest(listDayLows([{ days: other }, { days: one }]))).toEqual({ day: 31, low: 90 })
    expect(findLowest(listDayLows([{ days: one }, { days: run([15, 29, 90]) }]))).toBeUndefined()
  })
})
