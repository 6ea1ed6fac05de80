import type { Lookup } from './store.ts'

/** Look-ups in a transaction, and the offers in them: its statements let nobody else have event loop and database. */
const WRITTEN_TOGETHER = 16
const OFFERS_TOGETHER = 200
/** Look-ups that wait, and the offers in them; what comes while there are more is not written. */
const MAX_WAITING = 1_000
const MAX_WAITING_OFFERS = 20_000

/** Equal for look-ups of one product. */
export function toKey({ channelId, gtin }: Pick<Lookup, 'channelId' | 'gtin'>): string {
  return `${channelId} ${gtin}`
}

function countOffers(lookup: Lookup | undefined): number {
  return lookup?.entry.product?.offers.length ?? 0
}

/** Look-ups in the order in which they came, one for a product; bounded. */
export type LookupQueue = Readonly<{
  get(key: string): Lookup | undefined
  /** In the place of an older one for the same product; `false` when there is no room. */
  add(lookup: Lookup): boolean
  /** The first ones, as many as may be written together; one at least. */
  takeSome(): readonly Lookup[]
  isEmpty(): boolean
  clear(): void
}>

/** Makes an empty one. */
export function createLookupQueue(): LookupQueue {
  const waiting = new Map<string, Lookup>()
  let offers = 0
  return {
    get: (key) => waiting.get(key),
    isEmpty: () => waiting.size === 0,
    add(lookup) {
      const key = toKey(lookup)
      const before = waiting.get(key)
      const offersThen = offers - countOffers(before) + countOffers(lookup)
      const isFull = before === undefined && waiting.size >= MAX_WAITING
      if (isFull || offersThen > MAX_WAITING_OFFERS) return false
      waiting.set(key, lookup)
      offers = offersThen
      return true
    },
    takeSome() {
      const some: Lookup[] = []
      let offersTaken = 0
      for (const [key, lookup] of waiting) {
        const offersThen = offersTaken + countOffers(lookup)
        if (some.length === WRITTEN_TOGETHER || (some.length > 0 && offersThen > OFFERS_TOGETHER)) break
        some.push(lookup)
        waiting.delete(key)
        offersTaken = offersThen
      }
      offers -= offersTaken
      return some
    },
    clear() {
      waiting.clear()
      offers = 0
    },
  }
}
