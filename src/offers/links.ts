import { LOCAL_HOSTNAME, isPublicHost, parseUrl } from '../lib/urls.ts'

/** Affiliate links carry long query strings. */
export const MAX_LINK_CHARACTERS = 4_096

/**
 * White space, controls and delimiters that a URL must percent-encode (RFC 3986, appendix A), and noncharacters, which are invalid
 * in XML. An apostrophe is allowed.
 */
// oxlint-disable-next-line no-control-regex -- rejects control characters
const FORBIDDEN_CHARACTERS = /[\u0000-\u0020\u007f-\u00a0"<>`\\\p{Noncharacter_Code_Point}]/u
const FORBIDDEN_GLOBAL = new RegExp(FORBIDDEN_CHARACTERS, 'gu')

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

const SPACE = 0x20

/** Scheme and host of an absolute http(s) address, and the rest. */
const ADDRESS_PARTS = /^(https?:\/\/[^/?#\\]+)(.*)$/is

/**
 * Return the link with the characters that a URL must percent-encode encoded as a browser does (URL Standard: spaces, quotes, angle
 * brackets), and what this server refuses besides (backslashes, backticks). All other bytes stay. `undefined`: not usable.
 */
export function toUsableLink(address: string): string | undefined {
  if (isUsableLink(address)) return address
  const encoded = encodeLikeBrowser(address)
  return encoded !== undefined && isUsableLink(encoded) ? encoded : undefined
}

/** Return a picture's address, encoded like a link; `undefined` when a page may not load it. */
export function toUsableImage(address: string, ownOrigin: string): string | undefined {
  if (isUsableImage(address, ownOrigin)) return address
  const encoded = encodeLikeBrowser(address)
  return encoded !== undefined && isUsableImage(encoded, ownOrigin) ? encoded : undefined
}

/** Remove spaces and control characters at both ends. A loop, because a regular expression would be quadratic. */
function trimControls(address: string): string {
  let [start, end] = [0, address.length]
  while (start < end && address.charCodeAt(start) <= SPACE) start += 1
  while (end > start && address.charCodeAt(end - 1) <= SPACE) end -= 1
  return address.slice(start, end)
}

/** `undefined` when it is not an absolute http(s) address, or too long. Scheme and host are never changed. */
function encodeLikeBrowser(address: string): string | undefined {
  if (address.length > MAX_LINK_CHARACTERS) return undefined
  const [, origin, rest] = ADDRESS_PARTS.exec(trimControls(address)) ?? []
  if (origin === undefined || rest === undefined) return undefined
  const queryAt = rest.search(/[?#]/)
  const path = (queryAt === -1 ? rest : rest.slice(0, queryAt)).replaceAll('\\', '/')
  const end = queryAt === -1 ? '' : rest.slice(queryAt)
  return origin + `${path}${end}`.replaceAll(/[\t\n\r]/g, '').replaceAll(FORBIDDEN_GLOBAL, encodeURIComponent)
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
