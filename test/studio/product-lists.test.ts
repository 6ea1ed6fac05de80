import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  addBoxProduct,
  parseBoxProducts,
  removeBoxProduct,
  type PicksList,
  addPick,
  describeNeed,
  isFull,
  listLabels,
  movePick,
  parsePicks,
  removePick,
} from '../../src/studio/product-lists.ts'
import { toGtin } from '../helpers/products.ts'
import { toRunCount } from '../helpers/property-runs.ts'
import { anyText } from '../helpers/any-text.ts'

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

const LIST = parsePicks(`${A},${B},${C}`, ['First', '', 'Third'])
const FULL = parsePicks(Array.from({ length: 20 }, (_, index) => toGtin(index)).join(','), [])

/** Write a list as `gtin:label`. */
const write = (picks: PicksList): string[] => picks.map(({ gtin, label }) => `${gtin}:${label}`)

describe('parsed list', () => {
  test('labels - belong to the product at their position, also after dropped ones', () => {
    expect(write(parsePicks(`${A},x,${A},,${B}`, ['One', 'no', 'again', 'empty', 'Two']))).toEqual([
      `${A}:One`,
      `${B}:Two`,
    ])
  })

  test('short GTINs - are padded; spaces around them and around labels are dropped', () => {
    expect(write(parsePicks(' 1 , 2', [' a  b ']))).toEqual(['00000000000001:a b', '00000000000002:'])
  })

  test.each([
    ['x'.repeat(41), `${'x'.repeat(39)}…`],
    ['a|b', 'a/b'],
    ['a\nb\u0000', 'a b'],
  ])('label %j - becomes a valid one', (label, expected) => {
    expect(parsePicks(A, [label])).toEqual([{ gtin: A, label: expected }])
  })

  test('more than 20 products - the first 20 stay', () => {
    const texts = Array.from({ length: 25 }, (_, index) => toGtin(index))
    expect(parsePicks(texts.join(','), []).map(({ gtin }) => gtin)).toEqual(texts.slice(0, 20))
  })

  test('nothing - an empty list', () => {
    expect(parsePicks('', ['A'])).toEqual([])
  })
})

describe('changed list', () => {
  test('added product - is the last one, without a label', () => {
    expect(write(addPick(LIST, toGtin(4))).at(-1)).toBe(`${toGtin(4)}:`)
  })

  test('listed product, or a full list - nothing is added', () => {
    expect(addPick(LIST, B)).toBe(LIST)
    expect([isFull(LIST), isFull(FULL), addPick(FULL, toGtin(50)) === FULL]).toEqual([false, true, true])
  })

  test('removed product - takes its label with it', () => {
    expect(write(removePick(LIST, A))).toEqual([`${B}:`, `${C}:Third`])
    expect(removePick(LIST, toGtin(9))).toEqual(LIST)
  })

  test('moved product - keeps its label', () => {
    expect(write(movePick(LIST, C, -1))).toEqual([`${A}:First`, `${C}:Third`, `${B}:`])
    expect(write(movePick(LIST, A, 1))).toEqual([`${B}:`, `${A}:First`, `${C}:Third`])
  })

  test.each([
    [A, -1],
    [C, 1],
    [toGtin(9), 1],
    [toGtin(9), -1],
  ])('%s moved by %i - at an end, or not in the list: no change', (gtin, by) => {
    expect(movePick(LIST, gtin, by)).toBe(LIST)
  })

  test('labels - empty ones at the end are omitted', () => {
    expect(listLabels(LIST)).toEqual(['First', '', 'Third'])
    expect(listLabels(removePick(LIST, C))).toEqual(['First'])
    expect(listLabels(FULL)).toEqual([])
  })

  test('need - is said below two products', () => {
    expect(describeNeed([])).toMatch(/^Your list is empty\. Find a product and choose “Add”\./)
    expect(describeNeed(LIST.slice(0, 1))).toMatch(/^Add one more product to see the round-up\./)
    expect([describeNeed(LIST), describeNeed(FULL)]).toEqual([null, null])
  })

  test('any list - formatting and parsing again gives the same list, and moving back restores it', () => {
    const labels = fc.array(fc.oneof(fc.string({ maxLength: 60 }), anyText({ maxLength: 60 })))
    const gtins = fc.array(fc.nat({ max: 30 }), { maxLength: 25 })
    fc.assert(
      fc.property(gtins, labels, fc.nat({ max: 30 }), (numbers, texts, index) => {
        const picks = parsePicks(numbers.map(toGtin).join(','), texts)
        const again = parsePicks(picks.map(({ gtin }) => gtin).join(','), listLabels(picks))
        expect(again).toEqual(picks)
        const moved = movePick(picks, toGtin(index), 1)
        expect(moved === picks ? picks : movePick(moved, toGtin(index), -1)).toEqual(picks)
      }),
      { numRuns: toRunCount(300) },
    )
  })
})
