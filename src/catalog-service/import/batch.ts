import type { FeedProduct } from './feed-product.ts'

/** An offer as it is written, without the number of the import. The first six values are its key. */
export type OfferRow = readonly [
  gtin: string,
  networkId: number,
  merchantId: number,
  networkChannelId: number,
  currency: string,
  variant: number,
  price: string,
  oldPrice: string | null,
  availability: string,
  url: string,
]

const KEY_VALUES = 6

/** What tells offers apart. */
export function nameOffer(row: OfferRow): string {
  return row.slice(0, KEY_VALUES).join(' ')
}

/** One statement a batch, whatever its size, for each of these. Rows come in the order of their GTINs. */
export type BatchStatements = Readonly<{
  /** How many offers this import has brought so far, for each of these products. */
  countOffers(gtins: readonly string[]): Promise<ReadonlyMap<string, number>>
  /** How many of these offers this import has brought before. */
  countKnown(rows: readonly OfferRow[]): Promise<number>
  /** A GTIN that is there already is merged: newest title, the brand and images that are given. */
  writeProducts(products: readonly FeedProduct[]): Promise<void>
  writeOffers(rows: readonly OfferRow[]): Promise<void>
}>
