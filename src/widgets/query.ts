import { BadOptionError } from '../errors.ts'
import { OPTION_LIST } from './option-list.ts'

const OPTION_NAMES: ReadonlySet<string> = new Set(OPTION_LIST.map(({ name }) => name))

/** Return what follows the first `?` of a request target. */
export function findQuery(target: string): string {
  const start = target.indexOf('?')
  return start === -1 ? '' : target.slice(start + 1)
}

/**
 * Parse a query string, given without its `?`, the way shared caches read one: a further `?` belongs to the first name, and
 * an option has its name as it is documented. A cache that saw another option than this server would serve the wrong response.
 * @throws BadOptionError when the name of an option is percent-encoded: some caches decode names and others do not.
 */
export function parseQueryString(query: string): URLSearchParams {
  if (query.includes('%')) refuseEncodedNames(query)
  // `URLSearchParams` drops a leading "?", so the text must not begin with one.
  return new URLSearchParams(`&${query}`)
}

function refuseEncodedNames(query: string): void {
  for (const pair of query.split('&')) {
    const [name = ''] = pair.split('=', 1)
    if (!name.includes('%')) continue
    const [decoded = ''] = new URLSearchParams(`&${name}`).keys()
    if (OPTION_NAMES.has(decoded)) throw new BadOptionError(decoded, 'its name without percent-encoding')
  }
}
