import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'

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
