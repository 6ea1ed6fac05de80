import { expect, test } from 'vitest'
import { createPageSize } from '../../src/sync/page-size.ts'

/** Walk `total` products of which pages above `maxProducts` are too large. Return the limits of the calls. */
function listLimits(total: number, maxProducts: number): number[] {
  const size = createPageSize()
  const limits: number[] = []
  for (let done = 0; done < total;) {
    const limit = size.getLimit()
    limits.push(limit)
    if (limit > maxProducts) size.reduce()
    else {
      size.advance()
      done += limit
    }
  }
  return limits
}

test('page size - pages that fit - is always the largest', () => {
  expect(listLimits(600, 200)).toEqual([200, 200, 200])
})

test('page size - pages of 200 too large - 50, until as many products are read', () => {
  expect(listLimits(400, 199)).toEqual([200, 50, 50, 50, 50, 200, 50, 50, 50, 50])
})

test('page size - pages of 50 too large - 10, then 50 is tried again', () => {
  expect(listLimits(60, 49)).toEqual([200, 50, 10, 10, 10, 10, 10, 50, 10])
})

test('page size - single product too large - is not reduced, and 200 after the product', () => {
  const size = createPageSize()
  for (const limit of [200, 50, 10]) {
    expect(size.getLimit()).toBe(limit)
    expect(size.reduce()).toBe(true)
  }
  expect([size.getLimit(), size.reduce()]).toEqual([1, false])
  size.reset()
  expect(size.getLimit()).toBe(200)
})

test('planned calls - smaller pages count until the large ones are tried again', () => {
  const size = createPageSize()
  expect([size.countCalls(0), size.countCalls(1_000)]).toEqual([1, 5])
  size.reduce()
  expect(size.countCalls(1_000)).toBe(4 + 4)
  size.advance()
  expect(size.countCalls(950)).toBe(3 + 4)
  expect(size.countCalls(60)).toBe(2)
})
