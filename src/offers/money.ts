/** Decimals that a price may have; prices are compared as whole numbers of this smallest step. */
const DECIMALS = 4

/** Digits before the point that a price may have. */
const INTEGER_DIGITS = 12

/** Digits of the exact price ratio, enough to tell any two prices of 16 digits apart (ADR 0003). */
const RATIO_DIGITS = 34

/** The form of a price: one to twelve digits, up to four decimals. Zero has it, too. */
const PRICE_PATTERN: RegExp = /^\d{1,12}(?:\.\d{1,4})?$/

/** The upper-case form of an ISO 4217 code that Intl knows; `undefined` for any other text. */
export function normalizeCurrency(text: string): string | undefined {
  const code = text.toUpperCase()
  return Intl.supportedValuesOf('currency').includes(code) ? code : undefined
}

/** A price of the catalog as it may be used: one to twelve digits, up to four decimals, above zero. */
export function isPrice(text: string): boolean {
  return PRICE_PATTERN.test(text) && /[1-9]/.test(text)
}

/** Whole numbers of so many digits are exact as numbers, too, which are faster than `bigint`. */
const SAFE_NUMBER_DIGITS = 15

/** `12.9` as whole ten-thousandths (`129000n`), exact. The text must be a price. */
export function toScaledPrice(price: string): bigint {
  return BigInt(toDigits(price))
}

/** `12.9` as `129000`: the price in ten-thousandths, perhaps with zeros in front. */
function toDigits(price: string): string {
  const point = price.indexOf('.')
  if (point === -1) return price + '0'.repeat(DECIMALS)
  return price.slice(0, point) + price.slice(point + 1).padEnd(DECIMALS, '0')
}

/** Negative, zero or positive as `a` is below, equal to or above `b`; exact. */
export function comparePrices(a: string, b: string): number {
  const [digitsA, digitsB] = [toDigits(a), toDigits(b)]
  if (Math.max(digitsA.length, digitsB.length) <= SAFE_NUMBER_DIGITS)
    return Math.sign(Number(digitsA) - Number(digitsB))
  const difference = BigInt(digitsA) - BigInt(digitsB)
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

/** A text that sorts as the price does, byte by byte, in every database. */
export function toPriceKey(price: string): string {
  return toDigits(price).padStart(INTEGER_DIGITS + DECIMALS, '0')
}

/** A text that sorts as `price / oldPrice` does, exactly: the smaller, the higher the discount. */
export function toRatioKey(price: string, oldPrice: string): string {
  const scaled = (toScaledPrice(price) * 10n ** BigInt(RATIO_DIGITS)) / toScaledPrice(oldPrice)
  return scaled.toString().padStart(RATIO_DIGITS + 1, '0')
}

/** No ratio with at least this discount, rounded to whole percent, has a key above this one. */
export function toLargestRatioKey(minDiscountPercent: number): string {
  const tenths = BigInt(1_005 - 10 * minDiscountPercent)
  return ((tenths * 10n ** BigInt(RATIO_DIGITS)) / 1_000n).toString().padStart(RATIO_DIGITS + 1, '0')
}

/** A text that sorts as the saved amount does. `oldPrice` must be above `price`. */
export function toSavingKey(price: string, oldPrice: string): string {
  return (toScaledPrice(oldPrice) - toScaledPrice(price)).toString().padStart(INTEGER_DIGITS + DECIMALS, '0')
}
