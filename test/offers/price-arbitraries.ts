import * as fc from 'fast-check'

/** Any price: one to twelve digits, up to four decimals, above zero. */
export const anyPrice: fc.Arbitrary<string> = fc
  .stringMatching(/^\d{1,12}(?:\.\d{1,4})?$/)
  .filter((text) => /[1-9]/.test(text))

/** Prices with few digits, so that ties and neighbours occur often. */
export const closePrice: fc.Arbitrary<string> = fc
  .stringMatching(/^\d{1,2}(?:\.\d{1,2})?$/)
  .filter((text) => /[1-9]/.test(text))

/** Compute the price in ten-thousandths independently of the tested code. */
export function toExactSteps(price: string): bigint {
  const point = price.indexOf('.')
  const decimals = point === -1 ? 0 : price.length - point - 1
  return BigInt(price.replace('.', '')) * 10n ** BigInt(4 - decimals)
}

/** Return the sign of a number or bigint. */
export function signOf(value: bigint | number): number {
  return value < 0 ? -1 : value > 0 ? 1 : 0
}
