import { describe, expect, test } from 'vitest'
import { HOUR_MS, MINUTE_MS } from '../../src/clock.ts'
import {
  type OfferTimes,
  findPriceProblem,
  findPriceTimes,
  findSaleEndMs,
  isPriceShown,
} from '../../src/offers/price-age.ts'

const NOW_MS = Date.UTC(2026, 10, 25, 12)
const RULES = { nowMs: NOW_MS, priceMaxAgeSeconds: 7_200 }

const createTimes = (over: Partial<OfferTimes> = {}): OfferTimes => ({
  checkedAtMs: null,
  saleEndsAtMs: null,
  ...over,
})

describe('price of an offer without times, 7200 s allowed', () => {
  test.each([
    [0, true],
    [7_199_999, true],
    [7_200_000, true],
    [7_200_001, false],
    [-60_000, true],
    [-60_001, false],
  ])('response %i ms old - shown: %s', (ageMs, isShown) => {
    expect(isPriceShown({ offer: createTimes(), asOfMs: NOW_MS - ageMs }, RULES)).toBe(isShown)
  })
})

describe('price of an offer with times, 7200 s allowed', () => {
  test.each([
    ['checked recently, old response', { checkedAtMs: NOW_MS - HOUR_MS }, 9 * HOUR_MS, undefined],
    ['checked at the limit', { checkedAtMs: NOW_MS - 2 * HOUR_MS }, 0, undefined],
    ['checked before the limit, new response', { checkedAtMs: NOW_MS - 2 * HOUR_MS - 1 }, 0, 'too-old'],
    ['checked within a minute from now', { checkedAtMs: NOW_MS + MINUTE_MS }, 0, undefined],
    ['checked in the future', { checkedAtMs: NOW_MS + MINUTE_MS + 1 }, 0, 'unknown-age'],
    ['checked recently, response in the future', { checkedAtMs: NOW_MS }, -HOUR_MS, undefined],
    ['sale ends in a millisecond', { saleEndsAtMs: NOW_MS + 1 }, 0, undefined],
    ['sale ends now', { saleEndsAtMs: NOW_MS }, 0, 'sale-ended'],
    ['sale ended, too old', { saleEndsAtMs: NOW_MS - 1, checkedAtMs: 0 }, 0, 'sale-ended'],
    ['sale goes on, too old', { saleEndsAtMs: NOW_MS + HOUR_MS, checkedAtMs: 0 }, 0, 'too-old'],
  ])('%s - has the right problem', (_case, times, ageMs, expected) => {
    expect(findPriceProblem({ offer: createTimes(times), asOfMs: NOW_MS - ageMs }, RULES)).toBe(expected)
  })
})

const findTimes = (...offers: readonly Partial<OfferTimes>[]): ReturnType<typeof findPriceTimes> =>
  findPriceTimes(
    offers.map((times) => ({ offer: createTimes(times), asOfMs: NOW_MS - MINUTE_MS })),
    RULES,
  )

describe('times of the offers of a widget', () => {
  test('shown prices - the oldest, and the first end of a sale', () => {
    expect(
      findTimes(
        {},
        { checkedAtMs: NOW_MS - HOUR_MS, saleEndsAtMs: NOW_MS + 9 },
        { saleEndsAtMs: NOW_MS + 5 },
        { checkedAtMs: 0, saleEndsAtMs: NOW_MS + 1 },
      ),
    ).toEqual({ oldestPriceMs: NOW_MS - HOUR_MS, checkedAtMs: NOW_MS - HOUR_MS, saleEndMs: NOW_MS + 5 })
  })

  test('no shown price - the oldest offer', () => {
    expect(findTimes({ saleEndsAtMs: NOW_MS }, { checkedAtMs: 7 })).toEqual({
      oldestPriceMs: null,
      checkedAtMs: 7,
      saleEndMs: null,
    })
  })

  test('no offers - no times', () => {
    expect(findTimes()).toEqual({ oldestPriceMs: null, checkedAtMs: null, saleEndMs: null })
    expect(findSaleEndMs([createTimes()])).toBeNull()
  })
})
