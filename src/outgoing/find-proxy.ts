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
  return splitEntries(noProxy).some((entry) => matches(entry, target))
}

/** Return the entries of `NO_PROXY` that can match no host, such as an address with a path. */
export function findUnusableEntries(noProxy: string): readonly string[] {
  return splitEntries(noProxy).filter((entry) => {
    const { pattern } = parseEntry(entry)
    const [address = '', prefixBits] = pattern.split('/')
    if (isIP(address) !== 0) return createNetwork(address, prefixBits) === undefined
    return pattern !== '*' && !/^[\w.-]+$/.test(toName(pattern))
  })
}

function splitEntries(noProxy: string): readonly string[] {
  return noProxy
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
}

/** An entry is `*`, a name (which includes its subdomains), an address or a network; the first three also with a port. */
function parseEntry(entry: string): Readonly<{ pattern: string; port: string | undefined }> {
  const text = entry.replace(/^\[(.*)\]\//, '$1/')
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(text) ?? []
  // Without brackets, an IPv6 address has no port.
  return { pattern: bracketed ?? plain ?? text, port }
}

function matches(entry: string, { host, port }: Target): boolean {
  const { pattern, port: entryPort = port } = parseEntry(entry)
  return entryPort === port && (pattern === '*' || matchesHost(pattern, host))
}

function matchesHost(pattern: string, host: string): boolean {
  const [address = '', prefixBits] = pattern.split('/')
  if (isIP(address) !== 0) {
    const network = createNetwork(address, prefixBits)
    return network !== undefined && isInList(network, host)
  }
  const name = toName(pattern)
  return name !== '' && (host === name || host.endsWith(`.${name}`))
}

function toName(pattern: string): string {
  return domainToASCII(pattern.replace(/^\*?\.?/, '').replace(/\.+$/, ''))
}

/** Return `undefined` for an invalid network. */
function createNetwork(address: string, prefixBits: string | undefined): BlockList | undefined {
  const isVersion4 = isIP(address) === 4
  const maxBits = isVersion4 ? 32 : 128
  const bits = Number(prefixBits ?? maxBits)
  if (!Number.isInteger(bits) || bits < 0 || bits > maxBits || prefixBits === '') return undefined
  const list = new BlockList()
  list.addSubnet(address, bits, isVersion4 ? 'ipv4' : 'ipv6')
  return list
}

function isInList(list: BlockList, host: string): boolean {
  const version = isIP(host)
  return version !== 0 && list.check(host, version === 4 ? 'ipv4' : 'ipv6')
}
