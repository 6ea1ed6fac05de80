import { computeCheckDigit, normalizeGtin, isCheckDigitValid } from '../../offers/gtin.ts'

/** In-store numbers and coupons (GS1 General Specifications, 1.4: prefixes 02, 04, 05, 2, 98, 99) after the packaging level. */
const RESTRICTED_PREFIX = /^\d(?:0[245]|2|9[89])/

/** The same for GTIN-8, padded or not (section 1.4.3: prefixes 0 and 2). */
const RESTRICTED_SHORT_PREFIX = /^(?:0{6}2\d{7}|[02]\d{7})$/

/** Lengths of GTINs, and 11: a UPC whose leading zero was removed by a spreadsheet. */
const GTIN_LENGTHS: ReadonlySet<number> = new Set([8, 11, 12, 13, 14])

const SEPARATORS = /[\s\u00ad\u061c\u200b-\u200f\u2010-\u2013\u202a-\u202e\u2060-\u2069\ufeff-]+/g

/** `1.23457E+11`: a spreadsheet has rounded the number. */
const SCIENTIFIC_NOTATION = /^\d+(?:[.,]\d+)?e\+?\d+$/i

const INVALID_CHECK_DIGIT = 'the check digit is wrong'

/** Remove separators between the digits, and what spreadsheets add: `'95…`, `="95…"`, `95….00`. */
export function cleanCode(text: string): string {
  return text
    .replace(SEPARATORS, '')
    .replace(/^(?:'|="([^"]*)"$)/, '$1')
    .replace(/^(\d{8,14})\.0+$/, '$1')
}

/** Parse a code from `cleanCode` into a padded GTIN. Return a reason for people when it is invalid. */
export function parseFeedGtin(code: string): Readonly<{ gtin: string }> | string {
  if (SCIENTIFIC_NOTATION.test(code)) return 'rounded by a spreadsheet: its last digits are lost'
  const gtin = GTIN_LENGTHS.has(code.length) ? normalizeGtin(code) : undefined
  if (gtin === undefined) return 'not 8, 12, 13 or 14 digits'
  if (/^0+$/.test(gtin)) return 'only zeros'
  if (!isCheckDigitValid(gtin)) return INVALID_CHECK_DIGIT
  return RESTRICTED_PREFIX.test(gtin) || RESTRICTED_SHORT_PREFIX.test(code)
    ? 'a number for one shop only, or a coupon'
    : { gtin }
}

/** Like `parseFeedGtin`, for books: an ISBN-10 becomes an ISBN-13 with the prefix 978 and a new check digit. */
export function parseIsbn(code: string): Readonly<{ gtin: string }> | string {
  if (!/^\d{9}[\dx]$/i.test(code)) return parseFeedGtin(code)
  if (!isIsbn10(code)) return INVALID_CHECK_DIGIT
  const first13Digits = `0978${code.slice(0, 9)}`
  return { gtin: `${first13Digits}${computeCheckDigit(first13Digits)}` }
}

/** The sum with weights 10 to 1 is divisible by 11; X means ten (ISO 2108:1992). */
function isIsbn10(code: string): boolean {
  const digits = Array.from(code, (digit) => (/x/i.test(digit) ? 10 : Number(digit)))
  return digits.reduce((sum, digit, index) => sum + digit * (10 - index), 0) % 11 === 0
}
