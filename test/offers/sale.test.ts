import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { computeDiscountPercent, isOnSale } from '../../src/offers/sale.ts'
import { anyPrice, closePrice, toExactSteps } from './price-arbitraries.ts'
import { toRunCount } from '../helpers/property-runs.ts'

const price = fc.oneof(anyPrice, closePrice)

describe('on sale', () => {
  it.each([
    ['49.90', null, false],
    ['49.90', '49.90', false],
    ['49.90', '49.9', false],
    ['49.90', '49.8999', false],
    ['49.90', '49.9001', true],
    ['9.99', '10', true],
    ['100', '99.99', false],
  ])('price %s, former %s - %s', (now, oldPrice, expected) => {
    expect(isOnSale({ price: now, oldPrice })).toBe(expected)
  })
})

describe('discount', () => {
  it.each([
    ['80', '100', 20],
    ['99.51', '100', 0],
    ['99.50', '100', 1],
    ['99.4999', '100', 1],
    ['85.5', '100', 15],
    ['85.50', '100', 15],
    ['85.4999', '100', 15],
    ['85.5001', '100', 14],
    ['0.5', '100', 100],
    ['0.5001', '100', 99],
    ['0.0001', '999999999999', 100],
    ['999999999998.9999', '999999999999', 0],
    ['12.345', '12.345', 0],
    ['1.15', '2', 43],
    ['66.66', '99.99', 33],
    ['33.33', '99.99', 67],
  ])('price %s, former %s - %i percent', (now, oldPrice, expected) => {
    expect(computeDiscountPercent(now, oldPrice)).toBe(expected)
  })

  it('any sale - the whole number nearest to the exact percentage, halves up, 0 to 100', () => {
    fc.assert(
      fc.property(price, price, (a, b) => {
        const [now, old] = toExactSteps(a) <= toExactSteps(b) ? [a, b] : [b, a]
        const percent = BigInt(computeDiscountPercent(now, old))
        // |percent - 100 saved / old| <= 1/2, and at exactly one half the upper one.
        const off = 2n * (percent * toExactSteps(old) - 100n * (toExactSteps(old) - toExactSteps(now)))
        expect(off <= toExactSteps(old)).toBe(true)
        expect(off > -toExactSteps(old)).toBe(true)
        expect(percent >= 0n && percent <= 100n).toBe(true)
      }),
      { numRuns: toRunCount(2_000) },
    )
  })
})
