import { type Drops, addDrops } from '../catalog/parse.ts'
import { CatalogInvalidError } from '../errors.ts'
import type { ReadPage } from './page-source.ts'
import type { PageProduct } from '../storage/rows.ts'
import type { WalkPlace } from '../storage/store.ts'

/**
 * A page must go on: ordered by GTIN, after the page before it. Otherwise gaps would be taken for gone products. A GTIN
 * that comes again costs that product alone.
 */
export function toUsablePage(page: ReadPage, place: WalkPlace): ReadPage {
  const products: PageProduct[] = []
  const drops: Drops = { ...page.drops }
  let last = place.afterGtin
  for (const product of page.products) {
    const { gtin } = product
    if (gtin < last) throw new CatalogInvalidError('the page of products is not in the order of their GTINs')
    if (gtin === last) addDrops(drops, { product: 1 })
    else products.push(product)
    last = gtin
  }
  const { nextCursor, droppedGtins } = page
  const isEmpty = page.products.length === 0 && (page.drops.product ?? 0) === 0
  if (nextCursor !== null && (isEmpty || nextCursor === place.cursor)) throw createStuck()
  return { products, nextCursor, drops, droppedGtins }
}

/** A walk that would go on for ever. */
export function createStuck(): CatalogInvalidError {
  return new CatalogInvalidError('the page of products leads nowhere')
}
