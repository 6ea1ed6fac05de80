import type { Lookup } from './store.ts'

/** `bytes`: what its product takes in memory, about two for each character of its JSON; 0 without one. */
export type WaitingLookup = Lookup & Readonly<{ bytes: number }>

/** Look-ups in a transaction, and the offers in them: its statements let nobody else have event loop and database. */
const WRITTEN_TOGETHER = 16
const OFFERS_TOGETHER = 200
/** Look-ups that wait, and the offers and bytes in them; what comes while there are more is not written. */
const MAX_WAITING = 1_000
const MAX_WAITING_OFFERS = 20_000
/** One that is larger waits alone. */
const MAX_WAITING_BYTES: number = 8 * 1024 * 1024

/** Equal for look-ups of one product. */
export function toKey({ channelId, gtin }: Pick<Lookup, 'channelId' | 'gtin'>): string {
  return `${channelId} ${gtin}`
}

function countOffers(lookup: Lookup | undefined): number {
  return lookup?.entry.product?.offers.length ?? 0
}

/** Look-ups in the order in which they came, one for a product; bounded. */
export type LookupQueue = Readonly<{
  get(key: string): WaitingLookup | undefined
  /** In the place of an older one for the same product; `false` when there is no room. */
  add(lookup: WaitingLookup): boolean
  /** The first ones, as many as may be written together; one at least. */
  takeSome(): readonly WaitingLookup[]
  isEmpty(): boolean
  clear(): void
}>

/** Makes an empty one. */
export function createLookupQueue(): LookupQueue {
  const waiting = new Map<string, WaitingLookup>()
  let offers = 0
  let bytes = 0
  return {
    get: (key) => waiting.get(key),
    isEmpty: () => waiting.size === 0,
    add(lookup) {
      const key = toKey(lookup)
      const before = waiting.get(key)
      const offersThen = offers - countOffers(before) + countOffers(lookup)
      const bytesThen = bytes - (before?.bytes ?? 0) + lookup.bytes
      const isFull = before === undefined && waiting.size >= MAX_WAITING
      const isTooLarge = bytesThen > Math.max(MAX_WAITING_BYTES, lookup.bytes)
      if (isFull || isTooLarge || offersThen > MAX_WAITING_OFFERS) return false
      waiting.set(key, lookup)
      offers = offersThen
      bytes = bytesThen
      return true
    },
    takeSome() {
      const some: WaitingLookup[] = []
      let offersTaken = 0
      for (const [key, lookup] of waiting) {
        const offersThen = offersTaken + countOffers(lookup)
        if (some.length === WRITTEN_TOGETHER || (some.length > 0 && offersThen > OFFERS_TOGETHER)) break
        some.push(lookup)
        waiting.delete(key)
        offersTaken = offersThen
        bytes -= lookup.bytes
      }
      offers -= offersTaken
      return some
    },
    clear() {
      waiting.clear()
      offers = 0
      bytes = 0
    },
  }
}
