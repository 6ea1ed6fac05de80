import { LRUCache } from 'lru-cache'
import { InvalidGtinError } from '../errors.ts'
import { normalizeGtin } from '../offers/gtin.ts'
import { OPTION_LIST } from './option-list.ts'
import {
  type BoxOptions,
  type GridOptions,
  type OptionDefaults,
  type Surface,
  parseBoxOptions,
  parseGridOptions,
  toQuery,
  withQuery,
} from './options.ts'
import { parseQueryString } from './parameters.ts'

/** The normalized address of a widget. */
export type WidgetAddress<Options = BoxOptions | GridOptions, Gtin = string | null> = Readonly<{
  surface: Surface
  /** In lower case. */
  channelId: string
  /** 14 digits; `null` for a grid. */
  gtin: Gtin
  options: Options
  /** Path and query below `/fragments` or `/embeds`. Equal only for equal widgets of a surface. */
  path: string
}>

export type BoxAddress = WidgetAddress<BoxOptions, string>
export type GridAddress = WidgetAddress<GridOptions, null>

/** The parts of a request's address; `query` without "?". */
type AddressParts = Readonly<{ surface: Surface; channelId: string; query: string }>
type BoxAddressParts = AddressParts & Readonly<{ gtin: string }>

/** Cached options: few different query strings occur. */
const MAX_QUERIES = 500
const MAX_QUERY_CHARACTERS = 200

/** Address parsers. */
export type AddressParsers = ReturnType<typeof createAddressParsers>

/** Create the parsers of one server. Each throws `BadOptionError`. */
export function createAddressParsers(defaults: OptionDefaults) {
  const parseBoxQuery = createQueryParser(parseBoxOptions, defaults)
  const parseGridQuery = createQueryParser(parseGridOptions, defaults)
  return {
    /** @throws InvalidGtinError */
    parseBoxAddress({ surface, channelId, gtin, query }: BoxAddressParts): BoxAddress {
      const { options, normalizedQuery } = parseBoxQuery(query, surface)
      const padded = normalizeGtin(gtin)
      if (padded === undefined) throw new InvalidGtinError('the address contains no GTIN')
      const id = channelId.toLowerCase()
      const path = withQuery(`${id}/where-to-buy/${padded}`, normalizedQuery)
      return { surface, channelId: id, gtin: padded, options, path }
    },
    parseGridAddress({ surface, channelId, query }: AddressParts): GridAddress {
      const { options, normalizedQuery } = parseGridQuery(query, surface)
      const id = channelId.toLowerCase()
      return { surface, channelId: id, gtin: null, options, path: withQuery(`${id}/deals`, normalizedQuery) }
    },
  }
}

function createQueryParser<Options extends BoxOptions | GridOptions>(
  parse: (query: URLSearchParams, defaults: OptionDefaults, surface: Surface) => Options,
  defaults: OptionDefaults,
) {
  const parsedQueries = new LRUCache<string, Readonly<{ options: Options; normalizedQuery: string }>>({
    max: MAX_QUERIES,
  })
  return (query: string, surface: Surface) => {
    const key = `${surface} ${query}`
    const cached = parsedQueries.get(key)
    if (cached !== undefined) return cached
    const options = parse(parseQueryString(query), defaults, surface)
    const parsed = { options, normalizedQuery: toQuery(options, defaults, surface) }
    if (query.length <= MAX_QUERY_CHARACTERS) parsedQueries.set(key, parsed)
    return parsed
  }
}

const OPTION_NAMES: ReadonlySet<string> = new Set(OPTION_LIST.map(({ name }) => name))

/**
 * Whether an option name is percent-encoded. Some caches decode names and others do not, so such a response must not be
 * stored: a cache that does not see the option would serve it for other requests.
 */
export function hasEncodedOptionName(query: string): boolean {
  if (!query.includes('%')) return false
  return query.split('&').some((pair) => {
    const [name = ''] = pair.split('=', 1)
    if (!name.includes('%')) return false
    const [decoded = ''] = parseQueryString(name).keys()
    return OPTION_NAMES.has(decoded)
  })
}
