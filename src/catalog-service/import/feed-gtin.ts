import { computeCheckDigit, normalizeGtin, isCheckDigitValid } from '../../offers/gtin.ts'

/**
 * Numbers that name a product in one shop only, and coupons (GS1 General Specifications, section 1.4: prefixes 02, 04,
 * 05, 2, 98, 99), padded to 14 digits; the digit before them tells packages apart.
 */
const RESTRICTED_PREFIX = /^\d(?:0[245]|2|9[89])/

/** The same of eight digits, perhaps padded (section 1.4.3: prefixes 0 and 2). */
const RESTRICTED_SHORT_PREFIX = /^(?:0{6}2\d{7}|[02]\d{7})$/

/** Lengths of GTINs, and eleven: the first zero of a UPC that a spreadsheet took for a number. */
const GTIN_LENGTHS: ReadonlySet<number> = new Set([8, 11, 12, 13, 14])

/** What nobody sees, and what stands for blanks and hyphens. */
const SEPARATORS = /[\s\u00ad\u061c\u200b-\u200f\u2010-\u2013\u202a-\u202e\u2060-\u2069\ufeff-]+/g

/** `1.23457E+11`: the other digits are lost. */
const SCIENTIFIC_NOTATION = /^\d+(?:[.,]\d+)?e\+?\d+$/i

const INVALID_CHECK_DIGIT = 'the check digit is wrong'

/**
 * The code without the blanks, hyphens and invisible characters that some feeds have between the digits, and without what
 * spreadsheets need to take digits for text (`'95…`, `="95…"`) or make of them (`95….0`).
 */
export function cleanCode(text: string): string {
  return text
    .replace(SEPARATORS, '')
    .replace(/^(?:'|="([^"]*)"$)/, '$1')
    .replace(/^(\d{8,14})\.0$/, '$1')
}

/**
 * The padded GTIN of a code as `trimCode` leaves it. Gives the reason, in words, when it is none.
 */
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

/** The same for a book: ten digits become the thirteen that begin with 978, with a check digit of their own. */
export function parseIsbn(code: string): Readonly<{ gtin: string }> | string {
  if (!/^\d{9}[\dx]$/i.test(code)) return parseFeedGtin(code)
  if (!isIsbn10(code)) return INVALID_CHECK_DIGIT
  const first13Digits = `0978${code.slice(0, 9)}`
  return { gtin: `${first13Digits}${computeCheckDigit(first13Digits)}` }
}

/** Weights 10 to 1, a sum that 11 divides; X stands for ten (ISO 2108:1992). */
function isIsbn10(code: string): boolean {
  const digits = Array.from(code, (digit) => (/x/i.test(digit) ? 10 : Number(digit)))
  return digits.reduce((sum, digit, index) => sum + digit * (10 - index), 0) % 11 === 0
}
