import type { ChannelView } from './channel-view.ts'
import type { PageStep, StepAnswer, Steps } from './page-steps.ts'
import { PAGE_OF_SHOP } from './schema.ts'

/** Which GTINs: the first `limit` after `afterGtin` that the channel may show. */
export type GtinQuery = Readonly<{ view: ChannelView; afterGtin: string; limit: number }>

/** Offers of one shop that the channel may show, as the index has them. */
export type StrandKey = readonly [merchantId: number, networkId: number, networkChannelId: number]

/** A shop whose GTINs are read on, after one of them. */
export type StrandRest = Readonly<{ key: StrandKey; after: string }>

/** What was read of them and not yet taken, in the order of their GTINs; `length` is how many are read next. */
type Strand = {
  readonly key: StrandKey
  gtins: string[]
  /** The last GTIN that was read: what follows begins after it. */
  after: string
  length: number
  /** Is there anything after it? */
  hasMore: boolean
}

/** How much more is read of a strand each time that it runs out. */
const GROWTH = 4

/** How many strands a channel has: what it costs at least to find its GTINs shop by shop. */
export function countStrands(view: ChannelView): number {
  return [...view.values()].reduce((sum, { merchants, linkTemplate }) => {
    return sum + merchants.size * (linkTemplate === null ? 1 : 2)
  }, 0)
}

/**
 * Finds them shop by shop: each shop's offers are in the order of their GTINs in the index, and what all shops have up to
 * the nearest end of what was read is complete. A shop is read again only when all that was read of it is taken; so it
 * costs about as much as the channel has shops, however many products it does not show.
 * @yields what it asks of the database
 */
export function* findGtins({ view, afterGtin, limit }: GtinQuery): Steps<string[]> {
  const keys = listKeys(view)
  const length = Math.ceil((2 * limit) / Math.max(1, keys.length)) + 1
  let strands = keys.map((key): Strand => ({ key, gtins: [], after: afterGtin, length, hasMore: true }))
  const found: string[] = []
  while (found.length < limit && strands.length > 0) {
    yield* readOn(strands, limit)
    found.push(...takeComplete(strands))
    strands = strands.filter(({ gtins, hasMore }) => gtins.length > 0 || hasMore)
  }
  return found.slice(0, limit)
}

/**
 * Reads what follows of each strand that has run out.
 * @yields what it asks of the database
 */
function* readOn(strands: readonly Strand[], limit: number): Generator<PageStep, void, StepAnswer> {
  const empty = strands.filter(({ gtins, hasMore }) => gtins.length === 0 && hasMore)
  const length = empty.reduce((longest, strand) => Math.max(longest, strand.length), 0)
  const { gtins } = yield { want: 'strands', strands: empty, length }
  for (const [index, strand] of empty.entries()) {
    strand.gtins = [...(gtins[index] ?? [])]
    strand.after = strand.gtins.at(-1) ?? strand.after
    strand.hasMore = strand.gtins.length >= length
    strand.length = Math.min(limit, length * GROWTH)
  }
}

/** Takes what is complete: up to the nearest end of a strand that goes on. */
function takeComplete(strands: readonly Strand[]): string[] {
  let end: string | undefined
  for (const { after, hasMore } of strands) {
    if (hasMore && (end === undefined || after < end)) end = after
  }
  const taken = new Set<string>()
  for (const strand of strands) {
    const isTaken = (gtin: string): boolean => end === undefined || gtin <= end
    const firstLeft = strand.gtins.findIndex((gtin) => !isTaken(gtin))
    const count = firstLeft === -1 ? strand.gtins.length : firstLeft
    for (const gtin of strand.gtins.splice(0, count)) taken.add(gtin)
  }
  return [...taken].toSorted()
}

function listKeys(view: ChannelView): StrandKey[] {
  return [...view].flatMap(([networkId, { networkChannelId, linkTemplate, merchants }]) => {
    const channels = linkTemplate === null ? [networkChannelId] : [networkChannelId, PAGE_OF_SHOP]
    return [...merchants.keys()].flatMap((merchantId) =>
      channels.map((channel): StrandKey => [merchantId, networkId, channel]),
    )
  })
}
