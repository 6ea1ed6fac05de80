import { LOCAL_HOSTNAME, isPublicHost } from '../lib/public-hosts.ts'
import { parseUrl } from '../lib/urls.ts'

/** Affiliate links carry long query strings. */
export const MAX_LINK_CHARACTERS = 4_096

/**
 * White space, controls and delimiters that a URL must percent-encode (RFC 3986, appendix A), and noncharacters, which are invalid
 * in XML. An apostrophe is allowed.
 */
// oxlint-disable-next-line no-control-regex -- rejects control characters
const FORBIDDEN_CHARACTERS = /[\u0000-\u0020\u007f-\u00a0"<>`\\\p{Noncharacter_Code_Point}]/u

/**
 * Fast path for URLs that need no parser: an ASCII host name that ends in letters (so no IP address) and has no `xn--` label, an
 * optional port, and a path without forbidden characters.
 */
const PLAIN_URL =
  /^https?:\/\/(?:(?!xn--)[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?\.){1,8}(?!xn--)[a-z]{2,30}(?::[1-9]\d{0,3})?\/[!#-;=?-[\]_a-z{-~]*$/

/** `true` for absolute http(s) URLs without credentials. Never normalize such a link: affiliate tracking depends on its bytes. */
export function isUsableLink(address: string): boolean {
  return isPlainUrl(address) || findWebUrl(address) !== undefined
}

/**
 * `true` when a page may load this picture: `https:` from a public host, or from `ownOrigin`. Names are not resolved, because the
 * reader's browser loads the picture.
 */
export function isUsableImage(address: string, ownOrigin: string): boolean {
  // Fast path, unless a part looks like a local name.
  if (address.startsWith('https:') && isPlainUrl(address) && !LOCAL_HOSTNAME.test(address)) return true
  const url = findWebUrl(address)
  if (url === undefined) return false
  return url.origin === ownOrigin || (url.protocol === 'https:' && isPublicHost(url.hostname))
}

function isPlainUrl(address: string): boolean {
  return address.length <= MAX_LINK_CHARACTERS && PLAIN_URL.test(address)
}

function findWebUrl(address: string): URL | undefined {
  if (address.length > MAX_LINK_CHARACTERS || FORBIDDEN_CHARACTERS.test(address)) return undefined
  if (!/^https?:\/\/[^/]/i.test(address)) return undefined
  const url = parseUrl(address)
  const isUsable = url?.username === '' && url.password === '' && url.hostname !== ''
  return isUsable ? url : undefined
}
