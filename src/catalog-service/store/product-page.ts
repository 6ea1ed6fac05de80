import type { WireProduct } from '../../catalog/contract.ts'
import { computeOfferBytes } from '../../offers/offer-limits.ts'
import type { VisibleProduct } from './catalog-store.ts'

/** Products that the first statement of a page reads: it tells how large they are. */
const FIRST_READ_PRODUCTS = 50

/** A page that has this many bytes ends, so that clients can limit a response to 8 MB. */
const MAX_PAGE_BYTES: number = 4 * 1024 * 1024

/** Bytes of a product's or offer's JSON besides its texts. */
const PRODUCT_BYTES = 100
const OFFER_BYTES = 200

/** A page that is filled in GTIN order. */
export type Page = ReturnType<typeof createPage>

/** Create a page for `limit` products. It ends earlier when it has `MAX_PAGE_BYTES`, but has at least one product. */
export function createPage(limit: number) {
  const items: VisibleProduct[] = []
  let bytes = 0
  let hasMore = false
  return {
    items: items as readonly VisibleProduct[],
    /** Add the next product, unless the page is full: then another page follows. */
    add(found: VisibleProduct): void {
      if (items.length === limit || bytes >= MAX_PAGE_BYTES) hasMore = true
      else {
        items.push(found)
        bytes += computeProductBytes(found.product)
      }
    },
    hasMore: (): boolean => hasMore,
    /** Count the products until `limit`, and one to know whether another page follows. */
    countMissing: (): number => limit + 1 - items.length,
    /** Estimate how many of the missing products the next statement should read. */
    countNextRead(): number {
      const missing = limit + 1 - items.length
      if (items.length === 0) return Math.min(missing, FIRST_READ_PRODUCTS)
      const fitting = Math.ceil((MAX_PAGE_BYTES - bytes) / (bytes / items.length)) + 1
      return Math.max(1, Math.min(missing, fitting))
    },
  }
}

function computeProductBytes({ title, brand = '', images, offers }: WireProduct): number {
  let bytes = PRODUCT_BYTES + Buffer.byteLength(title) + Buffer.byteLength(brand)
  for (const { url } of images) bytes += PRODUCT_BYTES + Buffer.byteLength(url)
  for (const { affiliate_url: link, merchant, ...offer } of offers)
    bytes += OFFER_BYTES + computeOfferBytes({ ...offer, merchant: merchant.name }, link)
  return bytes
}
