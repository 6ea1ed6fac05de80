import { createHash } from 'node:crypto'
import type { Offer } from '../catalog/contract.ts'
import { toOfferKey } from '../offers/deals.ts'

/** What makes an offer the same one over time: prices and links change. */
export type OfferIdentity = Pick<Offer, 'network' | 'merchant' | 'currency'>

/** Characters of an offer's id. */
const ID_CHARACTERS = 16

/** The offer in `/go/{channel}/{gtin}/{offer}`: the beginning of a SHA-256 over network, merchant and currency. */
export function computeOfferId(offer: OfferIdentity): string {
  return createHash('sha256').update(toOfferKey(offer)).digest('hex').slice(0, ID_CHARACTERS)
}
