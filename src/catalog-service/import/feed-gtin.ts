import { computeCheckDigit, findGtin, isCheckDigitRight } from '../../offers/gtin.ts'

/**
 * Numbers that name a product in one shop only, and coupons (GS1 General Specifications, section 1.4: prefixes 02, 04,
 * 05, 2, 98, 99), padded to 14 digits.
 */
const RESTRICTED = /^0(?:0[245]|2|9[89])/

/** `1.23457E+11`: the other digits are lost. */
const ROUNDED = /^\d+(?:[.,]\d+)?e\+?\d+$/i

const CHECK_DIGIT = 'the check digit is wrong'

/** Blanks and hyphens stand between the digits of some feeds. */
export function trimCode(text: string): string {
  return text.replace(/[\s\u2010-\u2013-]+/g, '')
}

/**
 * The padded GTIN of a code without blanks and hyphens (`trimCode`). Gives the reason, in words, when it is none.
 */
export function parseFeedGtin(code: string): Readonly<{ gtin: string }> | string {
  if (ROUNDED.test(code)) return 'rounded by a spreadsheet: its last digits are lost'
  const gtin = findGtin(code)
  if (gtin === undefined) return 'not 1 to 14 digits'
  if (/^0+$/.test(gtin)) return 'only zeros'
  if (!isCheckDigitRight(gtin)) return CHECK_DIGIT
  return RESTRICTED.test(gtin) ? 'a number for one shop only, or a coupon' : { gtin }
}

/** The same for a book: ten digits become the thirteen that begin with 978, with a check digit of their own. */
export function parseIsbn(code: string): Readonly<{ gtin: string }> | string {
  if (!/^\d{9}[\dx]$/i.test(code)) return parseFeedGtin(code)
  if (!isIsbn10(code)) return CHECK_DIGIT
  const first13Digits = `0978${code.slice(0, 9)}`
  return { gtin: `${first13Digits}${computeCheckDigit(first13Digits)}` }
}

/** Weights 10 to 1, a sum that 11 divides; X stands for ten (ISO 2108:1992). */
function isIsbn10(code: string): boolean {
  let sum = 0
  for (let index = 0; index < code.length; index++) {
    const digit = /x/i.test(code.charAt(index)) ? 10 : Number(code.charAt(index))
    sum += digit * (10 - index)
  }
  return sum % 11 === 0
}
