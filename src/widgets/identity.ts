import { LRUCache } from 'lru-cache'
import { findGtin } from '../offers/gtin.ts'
import {
  type OptionDefaults,
  type Surface,
  parseBoxOptions,
  parseGridOptions,
  toOptionsKey,
} from './options.ts'
import { parseQueryString } from './query.ts'

/**
 * The `identity` of the widget that a request asks for; a `gtin` of `null` asks for the grid.
 * @throws BadOptionError
 */
export type Identify = (
  asked: Readonly<{ surface: Surface; channelId: string; gtin: string | null; query: string }>,
) => string

/** Nearly all addresses end in one of a few query strings: what these mean is kept. */
const MAX_QUERIES = 500

/** Makes the reader of one server. */
export function createIdentify(defaults: OptionDefaults): Identify {
  const keys = new LRUCache<string, string>({ max: MAX_QUERIES })
  return ({ gtin, channelId, query, surface }) => {
    const known = `${surface} ${gtin === null ? 'deals' : 'box'} ${query}`
    let optionsKey = keys.get(known)
    if (optionsKey === undefined) {
      const parse = gtin === null ? parseGridOptions : parseBoxOptions
      optionsKey = toOptionsKey(parse(parseQueryString(query), defaults, surface))
      keys.set(known, optionsKey)
    }
    const padded = gtin === null ? null : (findGtin(gtin) ?? null)
    return toIdentity({ surface, channelId: channelId.toLowerCase(), gtin: padded }, optionsKey)
  }
}

/** A text that is equal for equal questions and for nothing else. */
export function toIdentity(
  { surface, channelId, gtin }: Readonly<{ surface: Surface; channelId: string; gtin: string | null }>,
  optionsKey: string,
): string {
  // One text, where a template would keep its pieces: the address that they were cut out of, too.
  return [surface, channelId, gtin ?? 'deals', optionsKey].join(' ')
}
