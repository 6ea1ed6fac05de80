import { type Rankable, compareForBox } from '../../offers/ranking.ts'
import type { FeedProduct } from './feed-product.ts'

/** What a product shows beside its offers. */
export type ProductHead = Pick<FeedProduct, 'gtin' | 'title' | 'brand' | 'images'>

/** An offer with the head of its row. `key` tells offers apart: of two with one key the later one replaces the earlier. */
export type Candidate = Readonly<{ key: string; offer: Rankable; head: ProductHead }>

/**
 * Pick one head for each GTIN: that of the row whose offer a box shows first. So title, pictures and link come from one row,
 * whatever the order of the rows. A brand or pictures that this row lacks are taken from another one.
 */
export function pickHeads(candidates: readonly Candidate[]): ProductHead[] {
  const products = new Map<string, Map<string, Candidate>>()
  for (const candidate of candidates) {
    const { gtin } = candidate.head
    const own = products.get(gtin)
    if (own === undefined) products.set(gtin, new Map([[candidate.key, candidate]]))
    else own.set(candidate.key, candidate)
  }
  return [...products.values()].map((own) => mergeHeads([...own.values()]))
}

function mergeHeads(candidates: readonly Candidate[]): ProductHead {
  const heads = candidates
    .toSorted((one, other) => compareForBox(one.offer, other.offer))
    .map(({ head }) => head)
  const [first] = heads as [ProductHead]
  return {
    ...first,
    brand: heads.find(({ brand }) => brand !== null)?.brand ?? null,
    images: heads.find(({ images }) => images.length > 0)?.images ?? [],
  }
}
