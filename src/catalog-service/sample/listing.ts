import { formatCents, getSampleOffers, makePageUrl } from './offers.ts'

/** A product as one of the fictional shops shows it. */
export type SampleListing = Readonly<{
  shop: string
  title: string
  /** Decimal text. */
  price: string
  /** The shop's former price; `null` when it names none. */
  oldPrice: string | null
  currency: string
  /** `null` for a product without a picture. */
  pictureUrl: string | null
}>

/** Where the pictures of the sample are, on the server at `base`. */
export function makePictureUrl(base: string, pictureName: string): string {
  return `${base}/demo/pictures/${pictureName}`
}

let listings:
  ReadonlyMap<string, Omit<SampleListing, 'pictureUrl'> & { pictureName: string | null }> | undefined

/**
 * What a fictional shop shows at `pageUrl`, the address that the sample's links carry; `undefined` for any other
 * address. `base` is the public address of the server that has the pictures, without a slash at its end.
 */
export function findSampleListing(pageUrl: string, base: string): SampleListing | undefined {
  listings ??= new Map(
    getSampleOffers().map((offer) => [
      makePageUrl(offer),
      {
        shop: offer.shop.name,
        title: offer.product.title,
        price: formatCents(offer.priceCents),
        oldPrice: offer.oldPriceCents === null ? null : formatCents(offer.oldPriceCents),
        currency: offer.currency,
        pictureName: offer.product.pictureName,
      },
    ]),
  )
  const listing = listings.get(pageUrl)
  if (listing === undefined) return undefined
  const { pictureName, ...rest } = listing
  return { ...rest, pictureUrl: pictureName === null ? null : makePictureUrl(base, pictureName) }
}
