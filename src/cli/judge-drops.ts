import { countMalformedOffers } from '../catalog/parse.ts'
import type { CopyState } from '../storage/store.ts'
import { describeDrops } from '../widgets/drop-words.ts'

/** A larger share of malformed products or offers is a broken feed, and not a few bad rows. */
const MAX_MALFORMED_SHARE = 0.2

/** Whether the last walk left out offers, so that they have to be counted. */
export function hasMalformedOffers({ drops }: CopyState): boolean {
  return countMalformedOffers(drops) > 0
}

/** What is wrong when too much of a channel was malformed at the last walk; `null`: nothing. */
export function judgeDrops({ productCount, drops }: CopyState, offerCount: number): string | null {
  const products = drops.product ?? 0
  const share = Math.max(toShare(products, productCount), toShare(countMalformedOffers(drops), offerCount))
  if (share <= MAX_MALFORMED_SHARE) return null
  return `${Math.round(share * 100)} % of what the last walk found was malformed: ${describeDrops(drops).join(', ')}`
}

function toShare(malformed: number, usable: number): number {
  return malformed === 0 ? 0 : malformed / (malformed + usable)
}
