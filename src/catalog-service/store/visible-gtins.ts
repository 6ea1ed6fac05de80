import type { ChannelView } from './channel-view.ts'
import type { RunNow } from './open-store.ts'
import { PAGE_OF_SHOP } from './schema.ts'

/** Which GTINs: the first `limit` after `afterGtin` that the channel may show. */
export type GtinQuery = Readonly<{ view: ChannelView; afterGtin: string; limit: number }>

/** Offers of one shop that the channel may show, as the index has them: in the order of their GTINs. */
type Strand = readonly [merchantId: number, networkId: number, networkChannelId: number]

/** How much longer each look is than the one before. */
const GROWTH = 4

/** The next GTINs of each strand; `distinct`, because a shop may offer a product several times. */
const SELECT_NEXT = `
  select (select json_group_array(gtin) from (
    select distinct gtin from offers
    where merchant_id = s.value ->> 0 and network_id = s.value ->> 1 and network_channel_id = s.value ->> 2 and gtin > ?
    order by gtin limit ?)) as gtins
  from json_each(?) s`

/**
 * Finds them shop by shop: each shop's offers are in the order of their GTINs in the index, and what all shops have up to
 * the nearest end is complete. Costs as much as the channel has shops, however many products it does not show.
 */
export function findVisibleGtins(read: RunNow, query: GtinQuery): string[] {
  const { limit } = query
  const found: string[] = []
  let strands = listStrands(query.view)
  let after = query.afterGtin
  let length = Math.ceil((2 * limit) / Math.max(1, strands.length)) + 1
  while (found.length < limit && strands.length > 0) {
    const rows = read<{ gtins: string }>(SELECT_NEXT, [after, length, JSON.stringify(strands)])
    const lists = rows.map(({ gtins }) => JSON.parse(gtins) as string[])
    const end = findNearestEnd(lists, length)
    const complete = new Set(
      lists.flatMap((gtins) => gtins.filter((gtin) => end === undefined || gtin <= end)),
    )
    found.push(...[...complete].sort())
    if (end === undefined) break
    // A strand whose list was not full has nothing after it but what lies beyond the nearest end.
    strands = strands.filter((_, index) => (lists[index]?.at(-1) ?? '') > end || isFull(lists[index], length))
    after = end
    length = Math.min(limit, length * GROWTH)
  }
  return found.slice(0, limit)
}

function listStrands(view: ChannelView): Strand[] {
  return [...view].flatMap(([networkId, { networkChannelId, linkTemplate, merchants }]) => {
    const channels = linkTemplate === null ? [networkChannelId] : [networkChannelId, PAGE_OF_SHOP]
    return [...merchants.keys()].flatMap((merchantId) =>
      channels.map((channel): Strand => [merchantId, networkId, channel]),
    )
  })
}

/** Up to where every list is complete; `undefined`: to the end of the catalog. */
function findNearestEnd(lists: readonly (readonly string[])[], length: number): string | undefined {
  let end: string | undefined
  for (const gtins of lists) {
    const last = gtins.at(-1)
    if (last !== undefined && isFull(gtins, length) && (end === undefined || last < end)) end = last
  }
  return end
}

function isFull(gtins: readonly string[] | undefined, length: number): boolean {
  return gtins !== undefined && gtins.length >= length
}
