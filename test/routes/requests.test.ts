import type { Request } from 'express'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { getParameter, parseQuery } from '../../src/routes/requests.ts'

/** The used part of a request. */
const toRequest = (originalUrl: string): Request => ({ originalUrl }) as unknown as Request

describe('path parameter', () => {
  test.each([
    [{ gtin: '123' }, '123'],
    [{ gtin: ['a', 'b'] }, 'a/b'],
    [{ gtin: ['', ''] }, '/'],
    [{ gtin: undefined }, ''],
    [{}, ''],
  ])('%j - is %j', (parameters, value) => {
    expect(getParameter(parameters, 'gtin')).toBe(value)
  })
})

describe('query of a request', () => {
  test.each([
    ['/a', []],
    ['/a?', []],
    ['/a?x=1&x=2', ['x=1', 'x=2']],
    ['/a?x=1?y=2', ['x=1?y=2']],
    ['/a?x[]=1&x[y]=2', ['x[]=1', 'x[y]=2']],
    ['/a?x', ['x=']],
    ['/a??x=1&y=2', ['?x=1', 'y=2']],
    ['/a???x=1', ['??x=1']],
  ])('%s - is %j', (url, pairs) => {
    expect([...parseQuery(toRequest(url))].map((pair) => pair.join('='))).toEqual(pairs)
  })

  test('any pairs - are parsed as they were sent', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 10 })
    fc.assert(
      fc.property(fc.array(fc.tuple(text, text), { maxLength: 5 }), (pairs) => {
        const url = `/a/b?${new URLSearchParams(pairs).toString()}`
        expect([...parseQuery(toRequest(url))]).toEqual(pairs)
      }),
    )
  })
})
