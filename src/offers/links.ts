// oxlint-disable-next-line no-restricted-imports -- compares addresses, opens no connection
import { BlockList, isIPv4 } from 'node:net'
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

/** IPv4 ranges outside the public internet: "this" network, private, shared, loopback, link-local, documentation, 6to4, multicast. */
const PRIVATE_NETWORKS = new BlockList()
for (const [network, prefixBits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const)
  PRIVATE_NETWORKS.addSubnet(network, prefixBits)

/**
 * Global unicast IPv6 (2000::/3) without 6to4 (2002::/16), protocols such as Teredo (2001::/23), and documentation (2001:db8::/32,
 * 3fff::/20). Other forms are local or embed IPv4.
 */
const PUBLIC_IPV6 = /^\[(?!2002:|2001:(?:1?[\da-f]{1,2}|db8)?:|3fff:[\da-f]{0,3}:)[23][\da-f]{3}:/

/** Names that resolve only in a local network (RFC 6761, 6762, 8375, ICANN's `.internal`, router defaults), up to the port or path. */
const LOCAL_HOSTNAME =
  /(?:^|[./])(?:localhost|localdomain|local|internal|intranet|lan|home|corp|home\.arpa)(?=[:/]|$)/

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

/** `true` for a host of the public internet. `hostname`: as in `URL`, IPv6 in brackets. */
export function isPublicHost(hostname: string): boolean {
  if (hostname.startsWith('[')) return PUBLIC_IPV6.test(hostname)
  if (isIPv4(hostname)) return !PRIVATE_NETWORKS.check(hostname)
  const name = hostname.replace(/\.+$/, '')
  return name.includes('.') && !LOCAL_HOSTNAME.test(name)
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
