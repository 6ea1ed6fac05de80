import { LRUCache } from 'lru-cache'
import { GtinCountError, InvalidGtinError } from '../errors.ts'
import { normalizeGtin } from '../offers/gtin.ts'
import { OPTION_LIST, type WidgetKind } from './option-list.ts'
import {
  type AnyOptions,
  type BoxOptions,
  type GridOptions,
  type OptionDefaults,
  type PicksOptions,
  type Surface,
  type WidgetOptions,
  OPTION_PARSERS,
  toQuery,
  withQuery,
} from './options.ts'
import { parseQueryString, trimLabels } from './parameters.ts'

/** The normalized address of a widget. */
export type WidgetAddress<Kind extends WidgetKind = WidgetKind, Options = AnyOptions> = Readonly<{
  kind: Kind
  surface: Surface
  /** In lower case. */
  channelId: string
  /** Padded GTINs without repetitions: the variants of a box, the products of a round-up; empty for a grid. */
  gtins: readonly string[]
  /** Without the id of the placement: it is added when the response is sent. */
  options: Options & Readonly<{ sub: null }>
  /** Path and query below the prefix of the surface, without the id of the placement. Equal only for equal widgets of a surface. */
  path: string
  /** The id of the placement; `null`: none. */
  sub: string | null
}>

export type BoxAddress = WidgetAddress<'where-to-buy', BoxOptions>
export type PicksAddress = WidgetAddress<'picks', PicksOptions>
export type GridAddress = WidgetAddress<'deals', GridOptions>
export type AnyAddress = BoxAddress | PicksAddress | GridAddress

/** The parts of a request's address; `query` without "?". */
type AddressParts = Readonly<{ surface: Surface; channelId: string; query: string }>
/** `gtin`: GTINs separated by "~" in a box, and by "," in a round-up; none of deals. */
export type ProductAddressParts = AddressParts & Readonly<{ gtin: string }>

/** Maximum number of variants of a product in a box. */
export const MAX_VARIANTS = 8
/** Numbers of products in a round-up. */
export const PICKS_COUNT = { min: 2, max: 20 } as const

/** Cached options: most pages of a site have the same few query strings. */
const MAX_QUERIES = 500
const MAX_QUERY_CHARACTERS = 200

/** Address parsers. */
export type AddressParsers = ReturnType<typeof createAddressParsers>

/** Create the parsers of one server. Each throws `BadOptionError`. */
export function createAddressParsers(defaults: OptionDefaults) {
  const parseBoxQuery = createQueryParser('where-to-buy', defaults)
  const parsePicksQuery = createQueryParser('picks', defaults)
  const parseGridQuery = createQueryParser('deals', defaults)
  return {
    /** @throws InvalidGtinError; GtinCountError above 8 variants */
    parseBoxAddress({ gtin, ...parts }: ProductAddressParts): BoxAddress {
      const parsed = parseBoxQuery(parts.query, parts.surface)
      const gtins = [...new Set(parseGtins(gtin, '~'))].filter((one) => one !== '')
      if (gtins.length > MAX_VARIANTS)
        throw new GtinCountError(`A box shows at most ${MAX_VARIANTS} variants, separated by "~".`)
      return toAddress('where-to-buy', {
        ...parts,
        ...parsed,
        gtins,
        resource: `where-to-buy/${gtins.join('~')}`,
      })
    },
    /** @throws InvalidGtinError; GtinCountError for fewer than 2 or more than 20 products */
    parsePicksAddress({ gtin, ...parts }: ProductAddressParts): PicksAddress {
      const { options: parsedOptions, sub } = parsePicksQuery(parts.query, parts.surface)
      const allGtins = parseGtins(gtin, ',')
      const seen = new Set([''])
      const positions: number[] = []
      for (const [position, one] of allGtins.entries())
        if (seen.size < seen.add(one).size) positions.push(position)
      if (positions.length < PICKS_COUNT.min || positions.length > PICKS_COUNT.max)
        throw new GtinCountError(
          `A round-up has ${PICKS_COUNT.min} to ${PICKS_COUNT.max} different GTINs, separated by commas.`,
        )
      const gtins = positions.map((position) => allGtins[position] ?? '')
      const labels = trimLabels(positions.map((position) => parsedOptions.labels[position] ?? ''))
      const options = { ...parsedOptions, labels }
      const normalizedQuery = toQuery('picks', options, defaults, parts.surface)
      const resource = `picks/${gtins.join(',')}`
      return toAddress('picks', { ...parts, gtins, options, normalizedQuery, sub, resource })
    },
    parseGridAddress(parts: AddressParts): GridAddress {
      const parsed = parseGridQuery(parts.query, parts.surface)
      return toAddress('deals', { ...parts, ...parsed, gtins: [], resource: 'deals' })
    },
  }
}

/** `normalizedQuery`: without the id of the placement. */
type ParsedQuery<Options> = Readonly<{
  options: Options & Readonly<{ sub: null }>
  normalizedQuery: string
  sub: string | null
}>

type AddressOptions<Options> = AddressParts &
  ParsedQuery<Options> &
  Readonly<{ gtins: readonly string[]; resource: string }>

function toAddress<Kind extends WidgetKind, Options>(
  kind: Kind,
  { surface, channelId, gtins, options, normalizedQuery, sub, resource }: AddressOptions<Options>,
): WidgetAddress<Kind, Options> {
  const id = channelId.toLowerCase()
  const path = withQuery(`${id}/${resource}`, normalizedQuery)
  return { kind, surface, channelId: id, gtins, options, path, sub }
}

/** Parse and pad GTINs. An empty part, from an empty field of a CMS, stays empty. @throws InvalidGtinError */
function parseGtins(text: string, separator: string): readonly string[] {
  const gtins = text.split(separator).map((part) => (part === '' ? '' : normalizeGtin(part)))
  if (gtins.every((gtin) => gtin === '')) throw new InvalidGtinError('the address contains no GTIN')
  return gtins.map((gtin, index) => {
    if (gtin === undefined)
      throw new InvalidGtinError('invalid GTIN in the address', text.split(separator)[index])
    return gtin
  })
}

function createQueryParser<Kind extends WidgetKind>(kind: Kind, defaults: OptionDefaults) {
  const parsedQueries = new LRUCache<string, ParsedQuery<WidgetOptions<Kind>>>({ max: MAX_QUERIES })
  return (query: string, surface: Surface) => {
    const key = `${surface} ${query}`
    const cached = parsedQueries.get(key)
    if (cached !== undefined) return cached
    const given = OPTION_PARSERS[kind](parseQueryString(query), defaults, surface)
    const options = { ...given, sub: null } as WidgetOptions<Kind> & Readonly<{ sub: null }>
    const parsed = { options, normalizedQuery: toQuery(kind, options, defaults, surface), sub: given.sub }
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

/** Add the id of the placement to the path of an address, or to any address without one. */
export function withSub(address: string, sub: string | null): string {
  if (sub === null) return address
  return `${address}${address.includes('?') ? '&' : '?'}sub=${sub}`
}
