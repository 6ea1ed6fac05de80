import type { WireProduct } from '../../src/catalog/contract.ts'
import { makeWireOffer, makeWireProduct } from './fake-catalog.ts'

/** A link of 3.6 kB, with as many parameters as such links have. */
export const LONG_LINK = `https://links.example/c?${'parameter=0123456789&'.repeat(175)}`.slice(0, 3_600)

/** Make a product with offers of different shops, whose names are long; the cheapest is the last. */
export function makeHeavyProduct(gtin: string, offerCount: number, link: string = LONG_LINK): WireProduct {
  const offers = Array.from({ length: offerCount }, (_, index) => {
    const name = `Shop ${index} ${'with a long name '.repeat(6)}`.slice(0, 95).trim()
    const price = (10 + offerCount - index).toFixed(2)
    return makeWireOffer({ merchant: { name }, price, affiliate_url: `${link}${index}` })
  })
  return makeWireProduct({ gtin, title: `Heavy lamp ${gtin}`, offers })
}

/** Make addresses of pictures of 3.9 kB. */
export function makeLongPictureUrls(count: number): string[] {
  return Array.from(
    { length: count },
    (_, index) => `https://pictures.example/${index}/${'p'.repeat(3_850)}.jpg`,
  )
}
