import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createCursor, parseGtin, parsePageRequest } from '../../src/catalog-service/requests.ts'
import { CatalogServiceError } from '../../src/errors.ts'

const GTIN = '00000000000017'
const CURSOR = 'Z3RpbjowMDAwMDAwMDAwMDAxNw'
const LIMIT_REJECTED = 'limit must be a whole number from 1 to 200'
const CURSOR_REJECTED = 'cursor must be the next_cursor of an earlier response, unchanged'

const anyGtin = fc.stringMatching(/^\d{14}$/)

/** Return the status and message of a rejection; `undefined` when the request is accepted. */
function findRejection(read: () => unknown): unknown {
  try {
    read()
    return undefined
  } catch (error) {
    return error instanceof CatalogServiceError ? [error.statusCode, error.publicMessage] : error
  }
}

describe('page request, limit', () => {
  test('empty query - 50 products from the start', () => {
    expect(parsePageRequest({})).toEqual({ limit: 50, afterGtin: '' })
  })

  test.each([
    ['1', 1],
    ['9', 9],
    ['10', 10],
    ['199', 199],
    ['200', 200],
  ])('"%s" - %i products', (limit, expected) => {
    expect(parsePageRequest({ limit })).toEqual({ limit: expected, afterGtin: '' })
  })

  test.each([
    ['201'],
    ['999'],
    ['1000'],
    ['0'],
    ['01'],
    ['+1'],
    [' 1'],
    ['1\n'],
    ['0x10'],
    ['1e1'],
    ['١'],
    ['Infinity'],
    [50],
    [null],
    [['1', '2']],
    [['1']],
    [{ a: '1' }],
  ])('%j - 400', (limit) => {
    expect(findRejection(() => parsePageRequest({ limit }))).toEqual([400, LIMIT_REJECTED])
  })

  test('any whole number - accepted from 1 to 200 only', () => {
    fc.assert(
      fc.property(fc.integer({ min: -300, max: 1_300 }), (limit) => {
        const isRejected = findRejection(() => parsePageRequest({ limit: String(limit) })) !== undefined
        expect(isRejected).toBe(limit < 1 || limit > 200)
      }),
    )
  })
})

describe('page request, cursor', () => {
  test('cursor of a known GTIN - has the format of 1.0, so that a walk survives an update', () => {
    expect(createCursor(GTIN)).toBe(CURSOR)
    expect(parsePageRequest({ cursor: CURSOR, limit: '7' })).toEqual({ limit: 7, afterGtin: GTIN })
  })

  test('cursor of any GTIN - can be parsed, and needs no escaping in an address', () => {
    fc.assert(
      fc.property(anyGtin, (gtin) => {
        expect(parsePageRequest({ cursor: createCursor(gtin) }).afterGtin).toBe(gtin)
        expect(encodeURIComponent(createCursor(gtin))).toBe(createCursor(gtin))
      }),
    )
  })

  test('cursor with any change - 400', () => {
    const change = fc.record({ at: fc.nat(CURSOR.length), cut: fc.nat(2), put: fc.string({ maxLength: 2 }) })
    fc.assert(
      fc.property(anyGtin, change, (gtin, { at, cut, put }) => {
        const cursor = createCursor(gtin)
        const changed = cursor.slice(0, at) + put + cursor.slice(at + cut)
        // Cursors are not signed: the canonical cursor of another GTIN is valid.
        const bytes = Buffer.from(changed, 'base64url')
        const isCursor = /^gtin:\d{14}$/.test(bytes.toString('latin1'))
        fc.pre(!isCursor || bytes.toString('base64url') !== changed)
        expect(findRejection(() => parsePageRequest({ cursor: changed }))).toEqual([400, CURSOR_REJECTED])
      }),
    )
  })

  test.each([
    ['padding', `${CURSOR}==`],
    ['white space', ` ${CURSOR}`],
    ['other bits at the end, the same bytes', `${CURSOR.slice(0, -1)}x`],
    ['no prefix', Buffer.from(GTIN).toString('base64url')],
    ['GTIN of 13 digits', Buffer.from('gtin:0000000000017').toString('base64url')],
    ['GTIN of 15 digits', Buffer.from('gtin:000000000000017').toString('base64url')],
    ['GTIN with a letter', Buffer.from('gtin:0000000000001x').toString('base64url')],
    ['prefix in upper case', Buffer.from(`GTIN:${GTIN}`).toString('base64url')],
    ['twice', [CURSOR, CURSOR]],
    ['an object', { a: CURSOR }],
    ['null', null],
  ])('%s - 400', (_name, cursor) => {
    expect(findRejection(() => parsePageRequest({ cursor }))).toEqual([400, CURSOR_REJECTED])
  })
})

describe('GTIN of an address', () => {
  test.each([
    ['17', GTIN],
    ['0', '00000000000000'],
    ['12345678901234', '12345678901234'],
  ])('%s - %s', (text, expected) => {
    expect(parseGtin(text)).toBe(expected)
  })

  test.each([[''], ['123456789012345'], ['1-7'], ['17 '], ['١٧'], [17], [undefined], [null], [['17']]])(
    '%j - 400',
    (text) => {
      expect(findRejection(() => parseGtin(text))).toEqual([400, 'gtin must be 1 to 14 digits'])
    },
  )
})
