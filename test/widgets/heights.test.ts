import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { estimateBoxHeightPx, estimateGridHeightPx } from '../../src/widgets/heights.ts'

describe('height of a box', () => {
  test.each([
    [0, 5, 290],
    [1, 5, 366],
    [4, 5, 594],
    [5, 5, 670],
    [6, 5, 716],
    [50, 5, 716],
    [2, 1, 412],
  ])('%i offers, limit %i - %i pixels', (offerCount, limit, heightPx) => {
    expect(estimateBoxHeightPx(offerCount, limit)).toBe(heightPx)
  })

  test('any count - one offer more never makes the box lower', () => {
    const counts = fc.tuple(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 1, max: 50 }))
    fc.assert(
      fc.property(counts, ([count, limit]) => {
        expect(estimateBoxHeightPx(count + 1, limit)).toBeGreaterThanOrEqual(
          estimateBoxHeightPx(count, limit),
        )
      }),
    )
  })

  test('folded offers - add one line, however many they are', () => {
    const counts = fc.tuple(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 1_000 }))
    fc.assert(
      fc.property(counts, ([limit, folded]) => {
        expect(estimateBoxHeightPx(limit + folded, limit) - estimateBoxHeightPx(limit, limit)).toBe(46)
      }),
    )
  })
})

describe('height of a grid', () => {
  test.each([
    [0, 220],
    [1, 560],
    [3, 560],
    [4, 900],
    [6, 900],
    [7, 1_240],
    [12, 1_580],
  ])('%i cards - %i pixels: three cards a row', (cardCount, heightPx) => {
    expect(estimateGridHeightPx(cardCount)).toBe(heightPx)
  })
})
