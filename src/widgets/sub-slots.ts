import type { Offer } from '../catalog/contract.ts'
import { createSubSlot } from '../lib/sub-template.ts'
import { type SubRules, insertSub } from '../offers/sub-ids.ts'

/** Return the link of an offer, with a slot where a rule applies. */
export function toLinkWithSlot({ network, affiliateUrl }: Offer, rules: SubRules): string {
  const place = rules.findPlace({ network, affiliateUrl })
  if (place === undefined) return affiliateUrl
  const slot = createSubSlot(place.before, place.after, place.maxCharacters)
  return `${affiliateUrl.slice(0, place.index)}${slot}${affiliateUrl.slice(place.index)}`
}

/** Return the link of an offer for a placement; `null`: none. */
export function toLinkOfPlacement(
  { network, affiliateUrl }: Offer,
  rules: SubRules,
  sub: string | null,
): string {
  const place = sub === null ? undefined : rules.findPlace({ network, affiliateUrl })
  return place === undefined || sub === null ? affiliateUrl : insertSub(affiliateUrl, place, sub)
}
