import { describe, expect, test } from 'vitest'
import { hasEncodedOptionName } from '../../src/widgets/address.ts'
import { getQueryString, parseQueryString } from '../../src/widgets/parameters.ts'

describe('query string', () => {
  test.each([
    ['', []],
    ['limit=1', [['limit', '1']]],
    ['?limit=1', [['?limit', '1']]],
    [
      '??limit=1&theme=dark',
      [
        ['??limit', '1'],
        ['theme', 'dark'],
      ],
    ],
    ['utm=?limit=1', [['utm', '?limit=1']]],
    ['&&limit=%31', [['limit', '1']]],
    [
      'foo%5B%5D=1&x=%26limit=2',
      [
        ['foo[]', '1'],
        ['x', '&limit=2'],
      ],
    ],
  ] as const)('%j - has the parameters %j', (query, pairs) => {
    expect([...parseQueryString(query)]).toEqual(pairs)
  })

  test.each(['%6cimit=1', 'limi%74', 'x=1&%74heme=dark', '%6Dax_price=1', 'max%5fprice=1'])(
    '%j - has a percent-encoded option name',
    (query) => {
      expect(hasEncodedOptionName(query)).toBe(true)
    },
  )

  test.each([
    'Limit=1',
    '%4cimit=1',
    '?%6cimit=1',
    '%=1',
    '%zz=%',
    'x=%6cimit',
    'utm%5fsource=1',
    'limit=%31',
  ])('%j - has no percent-encoded option name', (query) => {
    expect(hasEncodedOptionName(query)).toBe(false)
  })
})

test.each([
  ['/a', ''],
  ['/a?', ''],
  ['/a?x=1?y=2', 'x=1?y=2'],
  ['/a??x=1', '?x=1'],
])('query of %j - is %j', (target, query) => {
  expect(getQueryString(target)).toBe(query)
})
