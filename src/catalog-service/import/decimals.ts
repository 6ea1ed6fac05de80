/** More decimals than a price has. */
const LONG_DECIMALS = /^(.*\d)([.,])(\d{5,})$/

/** From this number of decimals on, a text may be a floating-point number. */
const MIN_FLOAT_DECIMALS = 9
/** In cents: that of numbers of 32 bits. */
const MAX_FLOAT_NOISE = 1e-3

/**
 * Remove trailing zeros, and the noise of floating-point numbers: `16.510000` gives `16.51`, and `27.989999999999998` gives `27.99`.
 * Three decimals become four, so that they are not taken for thousands.
 */
export function simplifyDecimals(number: string): string {
  const [, whole = '', sign = '', decimals = ''] = LONG_DECIMALS.exec(number) ?? []
  if (decimals === '' || whole.includes(sign)) return number
  const significant = decimals.replace(/0+$/, '')
  if (significant.length > 4) return removeNoise(number, { whole, sign, decimals })
  return `${whole}${sign}${significant.padEnd(significant.length === 3 ? 4 : 2, '0')}`
}

type NumberParts = Readonly<{ whole: string; sign: string; decimals: string }>

/** Round to cents when the rest is far below what any price has. */
function removeNoise(number: string, { whole, sign, decimals }: NumberParts): string {
  const cents = Number(`0.${decimals}`) * 100
  const rounded = Math.round(cents)
  if (decimals.length < MIN_FLOAT_DECIMALS || Math.abs(cents - rounded) > MAX_FLOAT_NOISE) return number
  if (rounded < 100) return `${whole}${sign}${String(rounded).padStart(2, '0')}`
  return /^\d+$/.test(whole) ? String(BigInt(whole) + 1n) : number
}
