import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import proxyaddr from 'proxy-addr'
import type { Config } from '../config/config.ts'
import type { Visitor } from '../lib/fair-queue.ts'
import { parseUrl } from '../lib/urls.ts'

type TrustProxy = Config['trustProxy']

/** Return the limiter key of a visitor. If every proxy is trusted, clients can forge X-Forwarded-For, so that it is ignored. */
export function findClientAddress(request: IncomingMessage, trustProxy: TrustProxy): string {
  const socketAddress = request.socket.remoteAddress ?? ''
  const isReported = typeof trustProxy !== 'boolean'
  const address = isReported ? proxyaddr(request, getTrust(trustProxy)) : socketAddress
  return toLimiterKey(address) ?? toLimiterKey(socketAddress) ?? ''
}

/** Compiled values of the setting: there is one. */
const trusts = new Map<TrustProxy, ReturnType<typeof proxyaddr.compile>>()

/** Return whether a proxy is trusted, as `trust proxy` of Express. */
function getTrust(trustProxy: Exclude<TrustProxy, boolean>): ReturnType<typeof proxyaddr.compile> {
  const known = trusts.get(trustProxy)
  if (known !== undefined) return known
  const trust =
    typeof trustProxy === 'number'
      ? (_address: string, hops: number): boolean => hops < trustProxy
      : proxyaddr.compile(trustProxy.split(',').map((part) => part.trim()))
  trusts.set(trustProxy, trust)
  return trust
}

/** Return who waits for a response. */
export function toVisitor(request: IncomingMessage, trustProxy: TrustProxy): Required<Visitor> {
  return { visitor: findClientAddress(request, trustProxy), isGone: () => request.socket.destroyed }
}

/** Return a limiter key: the IPv4 address, or the /64 of IPv6, without port and zone. `undefined`: invalid. */
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

/** Return the eight groups of an IPv6 address without leading zeros. */
function listGroups(address: string): readonly string[] {
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const first = head === '' ? [] : head.split(':')
  const last = tail === undefined || tail === '' ? [] : tail.split(':')
  return [...first, ...Array<string>(8 - first.length - last.length).fill('0'), ...last]
}

/** Whether a host name of a setting or an address is reachable only from this machine. */
export function isLoopback(host: string): boolean {
  return /^(?:localhost|::1|\[::1\]|127(?:\.\d{1,3}){3})$/i.test(host)
}

/** Headers that only a proxy sets. With one of them, a loopback connection may come from any client. */
const FORWARDING_HEADERS = [
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
  'via',
]

/** Whether a request has a host name of this machine and no proxy header. The name matters because of DNS rebinding. */
export function isLocalRequest(headers: IncomingHttpHeaders): boolean {
  const address = parseUrl(`http://${headers.host ?? ''}`)
  const isOwnName = address !== undefined && isLoopback(address.hostname)
  return isOwnName && !FORWARDING_HEADERS.some((name) => headers[name] !== undefined)
}

/** Whether this is a local demo: the embedded catalog on a loopback address. */
export function isLocalDemo(config: Pick<Config, 'catalog' | 'host'>): boolean {
  return config.catalog.kind === 'embedded' && isLoopback(config.host)
}

/** Whether local pages may frame widgets: a local demo without another public address. */
export function isLocalFramingAllowed(config: Config, publicUrl: string): boolean {
  return isLocalDemo(config) && isLoopback(new URL(publicUrl).hostname)
}
