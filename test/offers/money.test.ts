import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  comparePrices,
  isPrice,
  toPriceKey,
  toScaledPrice,
  toLargestRatioKey,
  toRatioKey,
  toSavingKey,
} from '../../src/offers/money.ts'
import { compareTexts } from '../../src/offers/ranking.ts'
import { computeDiscountPercent } from '../../src/offers/sale.ts'
import { anyPrice, closePrice, signOf, toExactSteps } from './price-arbitraries.ts'
import { toRunCount } from '../helpers/property-runs.ts'

const price = fc.oneof(anyPrice, closePrice)
const MANY = { numRuns: toRunCount(2_000) }

describe('price', () => {
  it.each(['1', '0.01', '0.0001', '12.9', '999999999999.9999', '007.50', '49.90'])(
    '%s - is a price',
    (text) => {
      expect(isPrice(text)).toBe(true)
    },
  )

  it.each([
    '',
    '0',
    '0.0000',
    '000',
    '-1',
    '+1',
    '1.',
    '.5',
    '1.00001',
    '1234567890123',
    '1,50',
    '1.299,00',
    '1e3',
    '1e-7',
    'NaN',
    'Infinity',
    '0x1f',
    ' 1',
    '1 ',
    '1\n',
    '1_000',
    '١',
    '１',
    '1.5.5',
    '€5',
  ])('%j - is not a price', (text) => {
    expect(isPrice(text)).toBe(false)
  })

  it('steps - any price - exact', () => {
    fc.assert(
      fc.property(price, (text) => {
        expect(toScaledPrice(text)).toBe(toExactSteps(text))
      }),
      MANY,
    )
  })
})

describe('order', () => {
  it('comparePrices - any two - as exact numbers', () => {
    fc.assert(
      fc.property(price, price, (a, b) => {
        expect(comparePrices(a, b)).toBe(signOf(toExactSteps(a) - toExactSteps(b)))
      }),
      MANY,
    )
  })

  it('price key - any two - sorts byte by byte as the price, fixed width', () => {
    fc.assert(
      fc.property(price, price, (a, b) => {
        expect(compareTexts(toPriceKey(a), toPriceKey(b))).toBe(signOf(toExactSteps(a) - toExactSteps(b)))
        expect(toPriceKey(a)).toMatch(/^\d{16}$/)
      }),
      MANY,
    )
  })

  it('ratio key - any two sales - sorts as the exact fractions, fixed width', () => {
    const sale = fc.tuple(price, price).filter(([a, old]) => toExactSteps(a) <= toExactSteps(old))
    fc.assert(
      fc.property(sale, sale, ([a, oldA], [b, oldB]) => {
        const exact = toExactSteps(a) * toExactSteps(oldB) - toExactSteps(b) * toExactSteps(oldA)
        expect(compareTexts(toRatioKey(a, oldA), toRatioKey(b, oldB))).toBe(signOf(exact))
        expect(toRatioKey(a, oldA)).toMatch(/^\d{35}$/)
      }),
      MANY,
    )
  })

  it('largest ratio key - any sale of at least that discount - is not above it', () => {
    const sale = fc.tuple(price, price).filter(([a, old]) => toExactSteps(a) < toExactSteps(old))
    const round = ['99.50', '100.00'] as [string, string]
    fc.assert(
      fc.property(
        fc.oneof(sale, fc.constant(round)),
        fc.integer({ min: 1, max: 99 }),
        ([a, old], percent) => {
          const isEnough = computeDiscountPercent(a, old) >= percent
          expect(toRatioKey(a, old) <= toLargestRatioKey(percent)).toBe(isEnough)
        },
      ),
      MANY,
    )
  })

  it('ratio key - the closest possible fractions - are distinguished', () => {
    const [a, oldA] = ['999999999999.9997', '999999999999.9998']
    const [b, oldB] = ['999999999999.9998', '999999999999.9999']
    expect(toExactSteps(a) * toExactSteps(oldB)).toBeLessThan(toExactSteps(b) * toExactSteps(oldA))
    expect(toRatioKey(a, oldA) < toRatioKey(b, oldB)).toBe(true)
  })

  it('ratio key - equal fractions of different prices - are equal', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 999 }),
        fc.integer({ min: 1, max: 999 }),
        fc.integer({ min: 1, max: 999 }),
        (small, more, factor) => {
          const old = small + more
          expect(toRatioKey(String(small * factor), String(old * factor))).toBe(
            toRatioKey(String(small), String(old)),
          )
        },
      ),
    )
  })

  it('saving key - any two sales - sorts as the saved amount, fixed width', () => {
    const sale = fc.tuple(price, price).filter(([a, old]) => toExactSteps(a) < toExactSteps(old))
    fc.assert(
      fc.property(sale, sale, ([a, oldA], [b, oldB]) => {
        const exact = toExactSteps(oldA) - toExactSteps(a) - (toExactSteps(oldB) - toExactSteps(b))
        expect(compareTexts(toSavingKey(a, oldA), toSavingKey(b, oldB))).toBe(signOf(exact))
        expect(toSavingKey(a, oldA)).toMatch(/^\d{16}$/)
      }),
      MANY,
    )
  })
})
