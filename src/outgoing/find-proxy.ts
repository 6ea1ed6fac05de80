import { BlockList, isIP } from 'node:net'
import { domainToASCII } from 'node:url'
import type { Proxies } from '../config/secrets.ts'

/** Systems connect to 0.0.0.0 and :: on this machine, too. */
const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8)
LOOPBACK.addAddress('::1', 'ipv6')
LOOPBACK.addAddress('0.0.0.0')
LOOPBACK.addAddress('::', 'ipv6')

/** Return the proxy for a target; `undefined` when the connection is direct. This machine is never called through a proxy. */
export function findProxy({ http, https, noProxy }: Proxies, target: URL): URL | undefined {
  const proxy = target.protocol === 'https:' ? https : http
  if (proxy === null || isDirect(noProxy, target)) return undefined
  return new URL(proxy.reveal())
}

type Target = Readonly<{ host: string; port: string }>

function isDirect(noProxy: string, { hostname, port, protocol }: URL): boolean {
  const host = hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.+$/, '')
  if (host === 'localhost' || host.endsWith('.localhost') || isInList(LOOPBACK, host)) return true
  const target = { host, port: port === '' ? (protocol === 'https:' ? '443' : '80') : port }
  const entries = noProxy.toLowerCase().split(/[\s,]+/)
  return entries.some((entry) => entry !== '' && matches(entry.replace(/^\[(.*)\]\//, '$1/'), target))
}

/** `entry`: `*`, a name (which includes its subdomains), an address or a network; the first three also with a port. */
function matches(entry: string, { host, port }: Target): boolean {
  const withPort = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(entry)
  const entryPort = withPort?.[3] ?? port
  // Without brackets, an IPv6 address has no port.
  const pattern = withPort?.[1] ?? withPort?.[2] ?? entry
  return entryPort === port && (pattern === '*' || matchesHost(pattern, host))
}

function matchesHost(pattern: string, host: string): boolean {
  const [address = '', prefixBits] = pattern.split('/')
  if (isIP(address) !== 0) return isInNetwork(host, address, prefixBits)
  const name = domainToASCII(pattern.replace(/^\*?\.?/, '').replace(/\.+$/, ''))
  return name !== '' && (host === name || host.endsWith(`.${name}`))
}

/** An invalid network matches nothing. */
function isInNetwork(host: string, address: string, prefixBits: string | undefined): boolean {
  const isVersion4 = isIP(address) === 4
  const maxBits = isVersion4 ? 32 : 128
  const bits = Number(prefixBits ?? maxBits)
  if (!Number.isInteger(bits) || bits < 0 || bits > maxBits || prefixBits === '') return false
  const list = new BlockList()
  list.addSubnet(address, bits, isVersion4 ? 'ipv4' : 'ipv6')
  return isInList(list, host)
}

function isInList(list: BlockList, host: string): boolean {
  const version = isIP(host)
  return version !== 0 && list.check(host, version === 4 ? 'ipv4' : 'ipv6')
}
