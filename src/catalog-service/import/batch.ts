import type { ProductHead } from './product-heads.ts'

/** What tells offers apart. */
export type OfferKey = readonly [
  gtin: string,
  networkId: number,
  merchantId: number,
  networkChannelId: number,
  currency: string,
  variant: number,
]

/** An offer as it is written, without the number of the import. */
export type OfferRow = readonly [
  ...key: OfferKey,
  price: string,
  oldPrice: string | null,
  availability: string,
  url: string,
]

const KEY_VALUES = 6

/** Return the key of an offer as one text. */
export function nameOffer(row: OfferKey | OfferRow): string {
  return row.slice(0, KEY_VALUES).join(' ')
}

/** One statement a batch, whatever its size, for each of these. Rows come in the order of their GTINs. */
export type BatchStatements = Readonly<{
  /** How many offers this import has brought so far, for each of these products. */
  countOffers(gtins: readonly string[]): Promise<ReadonlyMap<string, number>>
  /** How many of these offers this import has brought before. */
  countKnown(rows: readonly OfferRow[]): Promise<number>
  /** Each GTIN once. One that is there already is merged: the title that is given, and brand and images where they are given. */
  writeProducts(products: readonly ProductHead[]): Promise<void>
  writeOffers(rows: readonly OfferRow[]): Promise<void>
}>
