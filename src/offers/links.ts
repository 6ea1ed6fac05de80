// oxlint-disable-next-line no-restricted-imports -- compares addresses, and opens no connection
import { BlockList, isIPv4 } from 'node:net'
import { parseUrl } from '../lib/urls.ts'

/** Longest address that is used; affiliate links carry long query strings. */
export const MAX_LINK_CHARACTERS = 4_096

/**
 * White space, controls, double quotes, angle brackets, back-ticks and backslashes: no well-formed address has them raw
 * (RFC 3986, appendix A). An apostrophe is a letter like others there.
 */
// oxlint-disable-next-line no-control-regex -- these are what it refuses
const FORBIDDEN_CHARACTERS = /[\u0000-\u0020\u007f-\u00a0"<>`\\]/

/**
 * An address that needs no parser: a host of letters, digits, hyphens and dots that ends in letters (so that it is no number
 * and no IP address) and has no label of another script (`xn--`), perhaps a port, then a path without anything forbidden.
 */
const PLAIN_URL =
  /^https?:\/\/(?:(?!xn--)[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?\.){1,8}(?!xn--)[a-z]{2,30}(?::[1-9]\d{0,3})?\/[!#-;=?-[\]_a-z{-~]*$/

/**
 * May a reader be sent there? Only absolute `https:` and `http:` addresses without credentials. The address itself
 * stays unchanged: affiliate links are tracked byte by byte.
 */
export function isUsableLink(address: string): boolean {
  return isPlainUrl(address) || findWebUrl(address) !== undefined
}

/** IPv4 networks that are not on the public internet: "this" network, private, shared, loopback, link-local, documentation, multicast. */
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
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const)
  PRIVATE_NETWORKS.addSubnet(network, prefixBits)

/** Global unicast IPv6 (2000::/3) without 6to4 (2002::/16) and documentation (2001:db8::/32). Other forms are local, or hold an IPv4 address. */
const PUBLIC_IPV6 = /^\[(?!2002:|2001:db8:)[23][\da-f]{3}:/

/** Names that only resolve inside a network (RFC 6761, 6762, 8375, ICANN's `.internal`, and those that routers use), up to the port or path. */
const LOCAL_HOSTNAME =
  /(?:^|[./])(?:localhost|localdomain|local|internal|intranet|lan|home|corp|home\.arpa)(?=[:/]|$)/

/**
 * May a page load this picture: from a public host by `https:`, or from this server's own origin (`https://host` or
 * `http://host:port`)? Names are not resolved: the reader's browser loads the picture, this server does not.
 */
export function isUsableImage(address: string, ownOrigin: string): boolean {
  // Needs no parser either, unless something in it looks like a local name.
  if (address.startsWith('https:') && isPlainUrl(address) && !LOCAL_HOSTNAME.test(address)) return true
  const url = findWebUrl(address)
  if (url === undefined) return false
  return url.origin === ownOrigin || (url.protocol === 'https:' && isPublicHost(url.hostname))
}

/** Is it a host of the public internet, by its name or address? `hostname` is as `URL` writes it, IPv6 in brackets. */
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
