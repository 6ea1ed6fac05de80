import type { CacheTagHeader } from '../config/settings.ts'
import type { Headers } from './answer.ts'

/** On every tagged answer: whoever purges it empties the cache of all widgets. */
const EVERYTHING = 'vitrine'

/**
 * Whose answer it is. Both come from what was looked up or checked and never from a visitor's text: `channelId` is a uuid in
 * lower case (`null`: of no channel), `gtin` has 14 digits (`null`: not of one product).
 */
export type Tagged = Readonly<{ channelId: string | null; gtin: string | null; isGrid: boolean }>

/** The tags of an answer as a header; `Surrogate-Key` and `xkey` part tags by a space, the others by a comma. `null`: no header. */
export function toCacheTags(header: CacheTagHeader | null, tagged: Tagged): Headers {
  if (header === null) return {}
  const isSpaced = header === 'Surrogate-Key' || header === 'xkey'
  return { [header]: listTags(tagged).join(isSpaced ? ' ' : ',') }
}

function listTags({ channelId, gtin, isGrid }: Tagged): readonly string[] {
  const tags = [EVERYTHING]
  if (channelId !== null) tags.push(`channel-${channelId}`)
  if (gtin !== null) tags.push(`product-${gtin}`)
  if (channelId !== null && gtin !== null) tags.push(`box-${channelId}-${gtin}`)
  if (channelId !== null && isGrid) tags.push(`deals-${channelId}`)
  return tags
}

/** A channel's id in the place where addresses have it. */
const CHANNEL = /^\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\//i

/**
 * The channel that a path below `/fragments` or `/embeds` names, in lower case; `null` where its form is not that of an id. The
 * channel need not exist.
 */
export function findChannelId(path: string): string | null {
  return CHANNEL.exec(path)?.[1]?.toLowerCase() ?? null
}
