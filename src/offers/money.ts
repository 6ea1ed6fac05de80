/** Maximum decimals of a price. Prices are compared as integers in ten-thousandths. */
const DECIMALS = 4

/** Maximum digits before the decimal point. */
const INTEGER_DIGITS = 12

/** Enough digits to distinguish any two ratios of 16-digit prices (ADR 0003). */
const RATIO_DIGITS = 34

/** Also matches zero. */
const PRICE_PATTERN: RegExp = /^\d{1,12}(?:\.\d{1,4})?$/

/** Return a known ISO 4217 code in upper case; `undefined` for any other text. */
export function normalizeCurrency(text: string): string | undefined {
  const code = text.toUpperCase()
  return Intl.supportedValuesOf('currency').includes(code) ? code : undefined
}

/** `true` for a usable catalog price: one to twelve digits, up to four decimals, above zero. */
export function isPrice(text: string): boolean {
  return PRICE_PATTERN.test(text) && /[1-9]/.test(text)
}

/** Integers with at most this many digits are exact as `number`, which is faster than `bigint`. */
const SAFE_NUMBER_DIGITS = 15

/** Convert `12.9` to `129000n`: ten-thousandths, exact. The text must be a price. */
export function toScaledPrice(price: string): bigint {
  return BigInt(toDigits(price))
}

/** Convert `12.9` to `129000`: ten-thousandths, possibly with leading zeros. */
function toDigits(price: string): string {
  const point = price.indexOf('.')
  if (point === -1) return price + '0'.repeat(DECIMALS)
  return price.slice(0, point) + price.slice(point + 1).padEnd(DECIMALS, '0')
}

/** Compare exactly; the result is for `sort`. */
export function comparePrices(a: string, b: string): number {
  // Fast path: texts of the same form sort like their numbers.
  if (a.length === b.length && a.indexOf('.') === b.indexOf('.')) return a < b ? -1 : a > b ? 1 : 0
  const [digitsA, digitsB] = [toDigits(a), toDigits(b)]
  if (Math.max(digitsA.length, digitsB.length) <= SAFE_NUMBER_DIGITS)
    return Math.sign(Number(digitsA) - Number(digitsB))
  const difference = BigInt(digitsA) - BigInt(digitsB)
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

/** Return a text that every database sorts like the prices. */
export function toPriceKey(price: string): string {
  return toDigits(price).padStart(INTEGER_DIGITS + DECIMALS, '0')
}

/** Return a text that sorts exactly like `price / oldPrice`: the smaller, the higher the discount. */
export function toRatioKey(price: string, oldPrice: string): string {
  const scaled = (toScaledPrice(price) * 10n ** BigInt(RATIO_DIGITS)) / toScaledPrice(oldPrice)
  return scaled.toString().padStart(RATIO_DIGITS + 1, '0')
}

/** Return the largest ratio key whose discount, rounded to whole percent, reaches the minimum. */
export function toLargestRatioKey(minDiscountPercent: number): string {
  const tenths = BigInt(1_005 - 10 * minDiscountPercent)
  return ((tenths * 10n ** BigInt(RATIO_DIGITS)) / 1_000n).toString().padStart(RATIO_DIGITS + 1, '0')
}

/** Return a text that sorts like the saved amount. `oldPrice` must be above `price`. */
export function toSavingKey(price: string, oldPrice: string): string {
  return (toScaledPrice(oldPrice) - toScaledPrice(price)).toString().padStart(INTEGER_DIGITS + DECIMALS, '0')
}
