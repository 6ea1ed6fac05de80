import { describe, expect, test } from 'vitest'
import { addBoxProduct, parseBoxProducts, removeBoxProduct } from '../../src/studio/box-products.ts'
import { toGtin } from '../helpers/products.ts'

const [A, B, C] = [toGtin(1), toGtin(2), toGtin(3)]
const many = (from: number, count: number): string[] =>
  Array.from({ length: count }, (_, index) => toGtin(from + index))

describe('variants and stand-ins', () => {
  test('parsed - without invalid and repeated GTINs, the chosen product, and variants among the stand-ins', () => {
    expect(parseBoxProducts(A, { variants: [B, 'x', A, B, ''], standIns: [A, B, C, ' '] })).toEqual({
      variants: [B],
      standIns: [C],
    })
  })

  test('above the limits - 7 variants besides the chosen product and 5 stand-ins stay', () => {
    const { variants, standIns } = parseBoxProducts(A, { variants: many(10, 9), standIns: many(30, 9) })
    expect([variants, standIns]).toEqual([many(10, 7), many(30, 5)])
  })

  test('added - a product has one role', () => {
    const variant = addBoxProduct({ variants: [], standIns: [B, C] }, 'variants', B)
    expect(variant).toEqual({ variants: [B], standIns: [C] })
    expect(addBoxProduct(variant, 'standIns', B)).toEqual({ variants: [], standIns: [C, B] })
    expect(addBoxProduct(variant, 'variants', B)).toBe(variant)
  })

  test('full list - nothing is added, and the other role stays', () => {
    const full = { variants: many(10, 7), standIns: [B] }
    expect(addBoxProduct(full, 'variants', B)).toBe(full)
  })

  test('removed - from both lists', () => {
    expect(removeBoxProduct({ variants: [B], standIns: [C] }, C)).toEqual({ variants: [B], standIns: [] })
  })
})
