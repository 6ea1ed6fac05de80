/** Longest address that is used; affiliate links carry long query strings. */
export const MAX_LINK_CHARACTERS = 4_096

/**
 * White space, controls, double quotes, angle brackets, back-ticks and backslashes: no well-formed address has them raw
 * (RFC 3986, appendix A). An apostrophe is a letter like others there.
 */
// oxlint-disable-next-line no-control-regex -- these are what it refuses
const FORBIDDEN = /[\u0000-\u0020\u007f-\u00a0"<>`\\]/

/**
 * An address that needs no parser: a host of letters, digits, hyphens and dots that ends in letters (so that it is no number
 * and no IP address) and has no label of another script (`xn--`), perhaps a port, then a path without anything forbidden.
 */
const PLAIN =
  /^https?:\/\/(?:(?!xn--)[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?\.){1,8}(?!xn--)[a-z]{2,30}(?::[1-9]\d{0,3})?\/[!#-;=?-[\]_a-z{-~]*$/

/**
 * May a reader be sent there? Only absolute `https:` and `http:` addresses without credentials. The address itself
 * stays unchanged: affiliate links are tracked byte by byte.
 */
export function isUsableLink(address: string): boolean {
  return isPlain(address) || parseAddress(address) !== undefined
}

/** May a page load this picture: `https:`, or this server's own origin (`https://host` or `http://host:port`)? */
export function isUsableImage(address: string, ownOrigin: string): boolean {
  if (address.startsWith('https:') && isPlain(address)) return true
  const url = parseAddress(address)
  return url !== undefined && (url.protocol === 'https:' || url.origin === ownOrigin)
}

function isPlain(address: string): boolean {
  return address.length <= MAX_LINK_CHARACTERS && PLAIN.test(address)
}

function parseAddress(address: string): URL | undefined {
  if (address.length > MAX_LINK_CHARACTERS || FORBIDDEN.test(address)) return undefined
  if (!/^https?:\/\/[^/]/i.test(address) || !URL.canParse(address)) return undefined
  const url = new URL(address)
  return url.username === '' && url.password === '' && url.hostname !== '' ? url : undefined
}
