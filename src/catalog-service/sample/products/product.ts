import { computeCheckDigit } from '../../../offers/gtin.ts'
import type { PictureKind } from '../pictures/pictures.ts'

/** Prefix of GTIN-13 that GS1 sets aside for demonstrations (952), with the padding zero of 14 digits. */
const DEMONSTRATION_PREFIX = '0952'

/** Digits between that prefix and the check digit. */
const ITEM_DIGITS = 9

/**
 * A fictional product. Rows are `[item, picture, tone, brand, name, price]`: `item` is the number in its GTIN and never
 * changes, `tone` the variant of its picture (0: it has none), `price` the usual one in euros, in cents.
 */
export type ProductRow = readonly [
  item: number,
  picture: PictureKind,
  tone: number,
  brand: string,
  name: string,
  priceCents: number,
]

/** A fictional product, with its GTIN. */
export type SampleProduct = Readonly<{
  gtin: string
  title: string
  brand: string
  /** Name of its picture; `null` when it has none. */
  pictureName: string | null
  /** The usual price in euros, in cents; shops differ from it. */
  priceCents: number
}>

/** The 14 digits of the demonstration GTIN with this item number. */
export function makeSampleGtin(item: number): string {
  const digits = DEMONSTRATION_PREFIX + String(item).padStart(ITEM_DIGITS, '0')
  return `${digits}${computeCheckDigit(digits)}`
}

/** Makes the product of a row. */
export function makeSampleProduct(row: ProductRow): SampleProduct {
  const [item, picture, tone, brand, name, priceCents] = row
  return {
    gtin: makeSampleGtin(item),
    title: `${brand} ${name}`,
    brand,
    pictureName: tone === 0 ? null : `${picture}-${tone}.svg`,
    priceCents,
  }
}
