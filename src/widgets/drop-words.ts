import type { DropReason } from '../catalog/contract.ts'
import type { Drops } from '../catalog/parse.ts'
import { pluralize } from '../lib/plural.ts'
import { formatCount } from './format.ts'

/** What was left out and why, in words. */
const DROP_WORDS: Readonly<Record<DropReason, readonly [noun: string, why: string]>> = {
  product: ['product', 'without GTIN, title or offers'],
  merchant: ['offer', 'without a shop’s name'],
  price: ['offer', 'without a usable price'],
  currency: ['offer', 'without a currency'],
  link: ['offer', 'without a usable link'],
  shape: ['offer', 'that cannot be read'],
  too_many: ['offer', 'beyond what one product may have'],
}

/** What was left out, a text for each reason. */
export function describeDrops(drops: Readonly<Drops>): readonly string[] {
  const words = new Map(Object.entries(DROP_WORDS))
  return Object.entries(drops).map(([reason, dropped]) => {
    const [noun, why] = words.get(reason) ?? []
    return noun === undefined
      ? `${formatCount(dropped, 'en')} left out: ${reason}`
      : `${pluralize(dropped, noun)} ${why}`
  })
}

/** How many products or offers were left out. */
export function countDrops(drops: Readonly<Drops>): number {
  return Object.values(drops).reduce((sum, dropped) => sum + dropped, 0)
}
