import { describe, expect, it } from 'vitest'
import { toAvailability, toYesOrNo } from '../../../src/catalog-service/import/feed-values.ts'

describe('availability of a feed', () => {
  it.each([
    ['in stock', 'in_stock'],
    ['in_stock', 'in_stock'],
    ['InStock', 'in_stock'],
    ['https://schema.org/InStock', 'in_stock'],
    ['http://schema.org/LimitedAvailability', 'in_stock'],
    ['available for order', 'in_stock'],
    ['Limited Availability', 'in_stock'],
    ['out of stock', 'out_of_stock'],
    ['OutofStock', 'out_of_stock'],
    ['http://schema.org/SoldOut', 'out_of_stock'],
    ['pre-order', 'preorder'],
    ['preorder', 'preorder'],
    ['BackOrder', 'backorder'],
    ['discontinued', 'discontinued'],
    ['ask us', 'unknown'],
    ['0 in stock', 'out_of_stock'],
    ['in stock: 0', 'out_of_stock'],
    ['10+ in stock', 'in_stock'],
    ['in stock (3)', 'in_stock'],
    ['out of stock: 0', 'out_of_stock'],
    ['2.0', 'in_stock'],
    ['-1', 'unknown'],
    ['in stock: -1', 'unknown'],
    ['1.5', 'unknown'],
    ['in 2 weeks', 'unknown'],
    ['1', 'in_stock'],
    ['y', 'in_stock'],
    ['0', 'out_of_stock'],
    ['n', 'out_of_stock'],
    ['no', 'out_of_stock'],
    ['not in stock', 'out_of_stock'],
    ['no stock', 'out_of_stock'],
    ['temporarily out of stock', 'out_of_stock'],
    ['http://www.schema.org/InStock', 'in_stock'],
    ['schema:InStock', 'in_stock'],
    ['nicht in stock', 'unknown'],
    ['не in stock', 'unknown'],
    [`in stock${' '.repeat(200)}x`, 'unknown'],
    ['', 'unknown'],
  ])('%j - is %s', (text, availability) => {
    expect(toAvailability(text)).toBe(availability)
  })

  it.each([
    ['1', true],
    ['Yes', true],
    [' TRUE ', true],
    ['0', false],
    ['no', false],
    ['false', false],
    ['2', undefined],
    ['', undefined],
  ])('yes or no %j - is %s', (text, expected) => {
    expect(toYesOrNo(text)).toBe(expected)
  })
})
