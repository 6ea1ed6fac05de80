import type { DropReason } from '../catalog/contract.ts'
import type { Drops } from '../catalog/parse.ts'
import { formatCount } from './format.ts'

/** Why an offer or a product was left out, in words. */
const DROP_WORDS: Readonly<Record<DropReason, string>> = {
  product: 'products without GTIN, title or offers',
  merchant: 'offers without a shop’s name',
  price: 'offers without a usable price',
  currency: 'offers without a currency',
  link: 'offers without a usable link',
  shape: 'offers that cannot be read',
  too_many: 'offers beyond what one product may have',
}

/** What was left out, a text for each reason. */
export function describeDrops(drops: Readonly<Drops>): readonly string[] {
  const words = new Map<string, string>(Object.entries(DROP_WORDS))
  return Object.entries(drops).map(
    ([reason, count]) => `${formatCount(count, 'en')} ${words.get(reason) ?? `left out: ${reason}`}`,
  )
}

/** How many products or offers were left out. */
export function countDrops(drops: Readonly<Drops>): number {
  return Object.values(drops).reduce((sum, count) => sum + count, 0)
}
