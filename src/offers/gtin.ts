/** Digits of a padded GTIN. */
const GTIN_DIGITS = 14

/** A GTIN as it may be asked for: EAN and UPC codes are shorter than 14 digits. */
const GTIN_PATTERN = /^\d{1,14}$/

/** `01234567890128` from a code of 1 to 14 digits, padded with zeros; `undefined` for anything else. */
export function normalizeGtin(text: string): string | undefined {
  return GTIN_PATTERN.test(text) ? text.padStart(GTIN_DIGITS, '0') : undefined
}

/**
 * Is the last digit of a padded GTIN its GS1 check digit (GS1 General Specifications, section 7.9: weights 3 and 1
 * from the left of 14 digits)?
 */
export function isCheckDigitValid(gtin: string): boolean {
  return gtin.length === GTIN_DIGITS && Number(gtin.at(-1)) === computeCheckDigit(gtin.slice(0, -1))
}

/** A padded GTIN with the check digit that its other digits ask for; `undefined` where it has it. */
export function findCorrectedGtin(gtin: string): string | undefined {
  const first13Digits = gtin.slice(0, -1)
  const corrected = `${first13Digits}${computeCheckDigit(first13Digits)}`
  return corrected === gtin ? undefined : corrected
}

/** The check digit for the first 13 digits of a padded GTIN. */
export function computeCheckDigit(first13Digits: string): number {
  let sum = 0
  for (let index = 0; index < first13Digits.length; index++) {
    sum += Number(first13Digits[index]) * (index % 2 === 0 ? 3 : 1)
  }
  return (10 - (sum % 10)) % 10
}
