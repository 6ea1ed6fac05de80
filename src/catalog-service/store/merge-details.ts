import { type RankableOffer, compareForBox, findMainCurrency } from '../../offers/ranking.ts'

export type ProductDetails = Readonly<{ title: string; brand: string | null; images: readonly string[] }>

/** An offer, and what its row or feed says about the product. */
export type DetailedOffer = Readonly<{ offer: RankableOffer; details: ProductDetails }>

/** Use the details of the offer that a box shows first, so that title, pictures and link agree. Others fill in missing fields. */
export function mergeDetails(offers: readonly DetailedOffer[]): ProductDetails {
  const [first, ...others] = offers as readonly [DetailedOffer, ...DetailedOffer[]]
  if (others.every(({ details }) => details === first.details)) return first.details
  const currency = findMainCurrency(offers.map(({ offer }) => offer))
  const ranked = offers
    .toSorted(
      ({ offer: one }, { offer: other }) =>
        Number(other.currency === currency) - Number(one.currency === currency) || compareForBox(one, other),
    )
    .map(({ details }) => details)
  const [best] = ranked as [ProductDetails]
  return {
    ...best,
    brand: ranked.find(({ brand }) => brand !== null)?.brand ?? null,
    images: ranked.find(({ images }) => images.length > 0)?.images ?? [],
  }
}
