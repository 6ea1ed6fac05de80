const GTIN_DIGITS = 14

/** EAN and UPC codes are shorter than 14 digits. */
const GTIN_PATTERN = /^\d{1,14}$/

/** Pad a code of 1 to 14 digits with zeros to 14 digits; `undefined` for any other text. */
export function normalizeGtin(text: string): string | undefined {
  return GTIN_PATTERN.test(text) ? text.padStart(GTIN_DIGITS, '0') : undefined
}

/** `true` when a padded GTIN ends in its check digit (GS1 General Specifications, section 7.9: weights 3 and 1 from the left). */
export function isCheckDigitValid(gtin: string): boolean {
  return gtin.length === GTIN_DIGITS && Number(gtin.at(-1)) === computeCheckDigit(gtin.slice(0, -1))
}

/** Return a padded GTIN with the correct check digit; `undefined` when it is already correct. */
export function findCorrectedGtin(gtin: string): string | undefined {
  const first13Digits = gtin.slice(0, -1)
  const corrected = `${first13Digits}${computeCheckDigit(first13Digits)}`
  return corrected === gtin ? undefined : corrected
}

export function computeCheckDigit(first13Digits: string): number {
  let sum = 0
  for (let index = 0; index < first13Digits.length; index++) {
    sum += Number(first13Digits[index]) * (index % 2 === 0 ? 3 : 1)
  }
  return (10 - (sum % 10)) % 10
}
