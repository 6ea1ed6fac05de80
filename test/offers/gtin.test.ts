import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { computeCheckDigit, normalizeGtin, isCheckDigitValid } from '../../src/offers/gtin.ts'

const digits = (count: number): fc.Arbitrary<string> => fc.stringMatching(new RegExp(`^\\d{${count}}$`))

describe('GTIN: normalization', () => {
  it.each([
    ['1', '00000000000001'],
    ['4006381333931', '04006381333931'],
    ['04006381333931', '04006381333931'],
    ['00000000000000', '00000000000000'],
  ])('%s - %s', (text, expected) => {
    expect(normalizeGtin(text)).toBe(expected)
  })

  it.each([
    '',
    ' 1',
    '1 ',
    '123456789012345',
    '40063813-33931',
    '4006381333931\n',
    '١٢٣',
    '１２３',
    '1e3',
    '-1',
    '+1',
    '0x1',
    '__proto__',
  ])('"%s" - not a GTIN', (text) => {
    expect(normalizeGtin(text)).toBeUndefined()
  })

  it('any 1 to 14 digits - padded to 14, same number, idempotent', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 14 }).chain(digits), (text) => {
        const gtin = normalizeGtin(text) ?? ''
        expect(gtin).toMatch(/^\d{14}$/)
        expect(BigInt(gtin)).toBe(BigInt(text))
        expect(normalizeGtin(gtin)).toBe(gtin)
      }),
    )
  })
})

describe('GTIN: check digit', () => {
  it.each(['04006381333931', '00012345678905', '09780306406157', '00000096385074', '10614141000415'])(
    '%s, a real GTIN - is valid',
    (gtin) => {
      expect(isCheckDigitValid(gtin)).toBe(true)
    },
  )

  it('computed digit - always verifies, and no other does', () => {
    fc.assert(
      fc.property(digits(13), fc.integer({ min: 1, max: 9 }), (first, off) => {
        const correct = computeCheckDigit(first)
        expect(isCheckDigitValid(`${first}${correct}`)).toBe(true)
        expect(isCheckDigitValid(`${first}${(correct + off) % 10}`)).toBe(false)
      }),
    )
  })

  it('one mistyped digit - is detected', () => {
    fc.assert(
      fc.property(digits(13), fc.nat(12), fc.integer({ min: 1, max: 9 }), (first, index, off) => {
        const gtin = `${first}${computeCheckDigit(first)}`
        const other = String((Number(gtin[index]) + off) % 10)
        expect(isCheckDigitValid(gtin.slice(0, index) + other + gtin.slice(index + 1))).toBe(false)
      }),
    )
  })

  it.each(['', '4006381333931', '004006381333931', 'abcdefghijklmn'])(
    '"%s" - not padded - is invalid',
    (text) => {
      expect(isCheckDigitValid(text)).toBe(false)
    },
  )
})
