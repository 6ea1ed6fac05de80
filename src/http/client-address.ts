import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import type { Config } from '../config/config.ts'
import { parseUrl } from '../lib/urls.ts'

/**
 * Return the address by which a visitor is limited, of IPv6 its /64; `ip` is the one that Express found. With
 * `VITRINE_TRUST_PROXY=true` that is the address of the connection: the first entry of `X-Forwarded-For`, which Express believes
 * then, may be invented.
 */
export function findClientAddress(
  { ip, socket }: Pick<IncomingMessage, 'socket'> & Readonly<{ ip?: string | undefined }>,
  trustProxy: unknown,
): string {
  const socketAddress = socket.remoteAddress ?? ''
  const address = trustProxy === true ? socketAddress : (ip ?? socketAddress)
  return toLimiterKey(address) ?? toLimiterKey(socketAddress) ?? ''
}

/**
 * Return the key by which an address is limited: an IPv4 address itself, of an IPv6 address its /64, which one customer has.
 * Accepts the port and the zone that some proxies write behind it. `undefined`: the text is no address.
 */
export function toLimiterKey(text: string): string | undefined {
  const address = text
    .replace(/^(\d+(?:\.\d+){3}):\d+$/, '$1')
    .replace(/^\[(.*)\](?::\d+)?$/, '$1')
    .replace(/%.*$/, '')
    .replace(/^::ffff:(?=\d+(?:\.\d+){3}$)/i, '')
  const version = isIP(address)
  if (version === 0) return undefined
  return version === 4 ? address : `${listGroups(address).slice(0, 4).join(':')}::/64`
}

/** The eight groups of an IPv6 address, without leading zeros. */
function listGroups(address: string): readonly string[] {
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const first = head === '' ? [] : head.split(':')
  const last = tail === undefined || tail === '' ? [] : tail.split(':')
  return [...first, ...Array<string>(8 - first.length - last.length).fill('0'), ...last]
}

/** Does only this machine reach a listener of that name? The name as in settings or in an address. */
export function isLoopback(host: string): boolean {
  return /^(?:localhost|::1|\[::1\]|127(?:\.\d{1,3}){3})$/i.test(host)
}

/** Headers that only a proxy sets: then "loopback" says nothing about who is asking. */
const FORWARDING_HEADERS = [
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
  'via',
]

/**
 * Was a listener on loopback asked by a name of this machine, and not through a proxy? A page elsewhere can point a name of its
 * own at this machine.
 */
export function isLocalRequest(headers: IncomingHttpHeaders): boolean {
  const address = parseUrl(`http://${headers.host ?? ''}`)
  const isOwnName = address !== undefined && isLoopback(address.hostname)
  return isOwnName && !FORWARDING_HEADERS.some((name) => headers[name] !== undefined)
}

/** The embedded catalog on a loopback listener: a newcomer tries Vitrine on their own machine. */
export function isLocalDemo(config: Pick<Config, 'catalog' | 'host'>): boolean {
  return config.catalog.kind === 'embedded' && isLoopback(config.host)
}

/** The same, and no other address is given to the outside: pages of this machine may frame the widgets, to try them. */
export function isLocalFramingAllowed(config: Config, publicUrl: string): boolean {
  return isLocalDemo(config) && isLoopback(new URL(publicUrl).hostname)
}
