import * as fc from 'fast-check'

/** Any price: one to twelve digits, up to four decimals, above zero. */
export const anyPrice: fc.Arbitrary<string> = fc
  .stringMatching(/^\d{1,12}(?:\.\d{1,4})?$/)
  .filter((text) => /[1-9]/.test(text))

/** Prices that are likely to meet: few digits, so that ties and neighbours occur. */
export const closePrice: fc.Arbitrary<string> = fc
  .stringMatching(/^\d{1,2}(?:\.\d{1,2})?$/)
  .filter((text) => /[1-9]/.test(text))

/** The price in ten-thousandths by another way than that of the code. */
export function toExactSteps(price: string): bigint {
  const point = price.indexOf('.')
  const decimals = point === -1 ? 0 : price.length - point - 1
  return BigInt(price.replace('.', '')) * 10n ** BigInt(4 - decimals)
}

/** The sign of a number of any kind. */
export function signOf(value: bigint | number): number {
  return value < 0 ? -1 : value > 0 ? 1 : 0
}
