import type { Offer } from '../catalog/contract.ts'
import { createSubSlot } from '../lib/sub-template.ts'
import { type SubRules, insertSub } from '../offers/sub-ids.ts'

/** Return the link of an offer, with a slot where a rule applies. */
export function toLinkWithSlot({ network, affiliateUrl }: Offer, rules: SubRules): string {
  const position = rules.findPosition({ network, affiliateUrl })
  if (position === undefined) return affiliateUrl
  const slot = createSubSlot(position.before, position.after, position.maxCharacters)
  return `${affiliateUrl.slice(0, position.index)}${slot}${affiliateUrl.slice(position.index)}`
}

/** Return the link of an offer for a placement; `null`: none. */
export function toLinkOfPlacement(
  { network, affiliateUrl }: Offer,
  rules: SubRules,
  sub: string | null,
): string {
  const position = sub === null ? undefined : rules.findPosition({ network, affiliateUrl })
  return position === undefined || sub === null ? affiliateUrl : insertSub(affiliateUrl, position, sub)
}
