import { describe, expect, it } from 'vitest'
import { toAvailability, toYesOrNo } from '../../../src/catalog-service/import/availability.ts'
import { isWithinSale } from '../../../src/catalog-service/import/google.ts'

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

describe('dates of a sale', () => {
  const nowMs = Date.UTC(2026, 4, 1, 12)

  it.each([
    ['2026-04-30T13:00-0800/2026-05-02T15:30-0800', true],
    ['2026-05-01T12:00Z/2026-05-01T12:00:00.000Z', true],
    ['2026-05-01T13:30+01:30/2026-05-02', true],
    ['2026-05-01/2026-05-01', true],
    [' 2026-04-01 / 2026-06-01 ', true],
    ['2026-05-01T05:00-0800/2026-05-02T00:00-0800', false],
    ['2026-04-01/2026-04-30', false],
    ['2026-04-01T00:00/2026-05-01T11:59', false],
    ['2026-05-02/2026-05-01', undefined],
    ['2026-13-01/2026-14-01', undefined],
    ['2026-05-01', undefined],
    ['2026-05-01/2026-05-02/2026-05-03', undefined],
    ['soon/later', undefined],
    ['2026-05-01T09/2026-05-01T13+01', true],
    ['2026-05-01T13/2026-05-01T14', false],
    ['2026-05-01/', true],
    ['2026-05-02/', false],
    ['/', undefined],
    ['2026-02-30/2026-06-01', undefined],
    ['2026-04-01/2026-06-31', undefined],
    ['2026-04-01T00:00+99:99/2026-06-01', undefined],
    ['2026-04-01T24:00/2026-06-01', undefined],
    ['2026-04-01T10:60/2026-06-01', undefined],
  ])('%j - is %s', (text, expected) => {
    expect(isWithinSale(text, nowMs)).toBe(expected)
  })
})
