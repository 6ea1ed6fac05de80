import { describe, expect, it } from 'vitest'
import { parseFeedGtin, parseIsbn, cleanCode } from '../../../src/catalog-service/import/feed-values.ts'

describe('gtin of a feed', () => {
  it.each([
    ['9520001001024', '09520001001024'],
    ['952-0001 00102\u00a04', '09520001001024'],
    ['96385074', '00000096385074'],
    ['36000291452', '00036000291452'],
    ["'9520001001024", '09520001001024'],
    ['="9520001001024"', '09520001001024'],
    ['9520001001024.0', '09520001001024'],
    ['\u200e9520001001024\u202c\ufeff', '09520001001024'],
    ['00000000000017', '00000000000017'],
    ['19520001001021', '19520001001021'],
  ])('%j - is %j', (text, gtin) => {
    expect(parseFeedGtin(cleanCode(text))).toEqual({ gtin })
  })

  it.each([
    ['LNG11ENCH', 'not 8, 12, 13 or 14 digits'],
    ['17', 'not 8, 12, 13 or 14 digits'],
    ['952000102', 'not 8, 12, 13 or 14 digits'],
    ['123456789012345', 'not 8, 12, 13 or 14 digits'],
    ['1.23E+11', 'rounded by a spreadsheet: its last digits are lost'],
    ['4,26E+12', 'rounded by a spreadsheet: its last digits are lost'],
    ['642015000000', 'the check digit is wrong'],
    ['0000000000000', 'only zeros'],
  ])('%j - is rejected: %s', (text, reason) => {
    expect(parseFeedGtin(text)).toBe(reason)
  })

  it.each([
    '2001234567893',
    '0212345678909',
    '0412345678903',
    '0512345678900',
    '9812345678902',
    '20000011',
    '02000008',
    '00000020000011',
    '12001234567890',
  ])('%j - restricted or coupon - is rejected', (text) => {
    expect(parseFeedGtin(text)).toBe('a number for one shop only, or a coupon')
  })

  it.each([
    ['0306406152', '09780306406157'],
    ['043942089X', '09780439420891'],
    ['043942089x', '09780439420891'],
    ['9780306406157', '09780306406157'],
  ])('ISBN %j - becomes the GTIN %j', (text, gtin) => {
    expect(parseIsbn(text)).toEqual({ gtin })
  })

  it.each([
    ['0306406153', 'the check digit is wrong'],
    ['X306406152', 'not 8, 12, 13 or 14 digits'],
  ])('isbn %j - is rejected: %s', (text, reason) => {
    expect(parseIsbn(text)).toBe(reason)
  })
})
