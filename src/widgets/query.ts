import { OPTION_LIST } from './option-list.ts'

const OPTION_NAMES: ReadonlySet<string> = new Set(OPTION_LIST.map(({ name }) => name))

/** Return what follows the first `?` of a request target. */
export function findQuery(target: string): string {
  const start = target.indexOf('?')
  return start === -1 ? '' : target.slice(start + 1)
}

/** Parse a query string, given without its `?`, the way shared caches read one: a further `?` belongs to the first name. */
export function parseQueryString(query: string): URLSearchParams {
  // `URLSearchParams` drops a leading "?", so the text must not begin with one.
  return new URLSearchParams(`&${query}`)
}

/**
 * Is the name of an option percent-encoded? Some caches decode names and others do not, so that a response to such an address
 * must not be stored: a cache that sees another option than this server would serve it to everybody.
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
