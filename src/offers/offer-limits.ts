import { type RankableOffer, compareForBox, compareTexts, pickOnePerMerchant } from './ranking.ts'

/** Offers per product beyond this limit are dropped. */
export const MAX_OFFERS = 500

/** Offers that are read of one row of a feed, of which the cheapest are kept. */
export const MAX_READ_OFFERS = 10_000

/** Bytes of the offers of one product. 500 offers with links of 400 characters fit; longer ones lose the most expensive offers. */
export const MAX_OFFERS_BYTES: number = 256 * 1024

/**
 * Bytes of the offers that the catalog service stores of a product per feed, and sends of one: more than a client keeps, so that the
 * client chooses the cheapest and counts the others.
 */
export const MAX_PUBLISHED_BYTES: number = 2 * MAX_OFFERS_BYTES

/** Bytes of an offer besides its texts. */
const OFFER_BYTES = 60

/** Estimate the bytes of an offer with a link. */
export function computeOfferBytes(
  { merchant, network, availability }: Pick<RankableOffer, 'merchant' | 'network' | 'availability'>,
  link: string,
): number {
  const nameBytes = Buffer.byteLength(merchant) + Buffer.byteLength(network)
  return OFFER_BYTES + nameBytes + Buffer.byteLength(availability) + Buffer.byteLength(link)
}

/** `offers`: in the same order as before. `tooMany` and `tooLarge`: offers dropped by number and by bytes. */
type LimitedOffers<T> = Readonly<{ offers: readonly T[]; tooMany: number; tooLarge: number }>

/** Drop the most expensive offers of a product that has more than `MAX_OFFERS`, or more bytes than `maxBytes`. */
export function limitOffers<T extends RankableOffer>(
  offers: readonly T[],
  maxBytes: number = MAX_OFFERS_BYTES,
): LimitedOffers<T> {
  const isWithinBytes = offers.reduce((sum, offer) => sum + toBytes(offer), 0) <= maxBytes
  if (isWithinBytes && offers.length <= MAX_OFFERS) return { offers, tooMany: 0, tooLarge: 0 }
  const ranked = rankForLimit(offers)
  const candidates = ranked.slice(0, MAX_OFFERS)
  let bytes = 0
  const end = candidates.findIndex((offer) => (bytes += toBytes(offer)) > maxBytes)
  const kept = new Set(end === -1 ? candidates : candidates.slice(0, end))
  return {
    offers: offers.filter((offer) => kept.has(offer)),
    tooMany: ranked.length - candidates.length,
    tooLarge: candidates.length - kept.size,
  }
}

function toBytes(offer: RankableOffer): number {
  return computeOfferBytes(offer, offer.affiliateUrl)
}

/**
 * Order by what is worth keeping: the best offer of each merchant first, as a box shows no other, then by price. Currencies keep
 * their proportion, because the one with the most offers is shown.
 */
function rankForLimit<T extends RankableOffer>(offers: readonly T[]): readonly T[] {
  const best = new Set(pickOnePerMerchant(offers))
  return [true, false].flatMap((isBest) => interleave(offers.filter((offer) => best.has(offer) === isBest)))
}

/** Sort the offers of each currency, and mix the currencies evenly. */
function interleave<T extends RankableOffer>(offers: readonly T[]): readonly T[] {
  const currencies = [...new Set(offers.map(({ currency }) => currency))]
  return currencies
    .flatMap((currency) => {
      const group = offers.filter((offer) => offer.currency === currency).sort(compareForBox)
      return group.map((offer, index) => ({ offer, share: index / group.length }))
    })
    .sort((a, b) => a.share - b.share || compareTexts(a.offer.currency, b.offer.currency))
    .map(({ offer }) => offer)
}
