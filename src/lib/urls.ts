import type { LookupAddress } from 'node:dns'

/** Parse a URL, absolute or relative to `base`, or return `undefined`. (`URL.canParse` of Node 20 and 22 rejects "ü" in hosts once optimized.) */
export function parseUrl(address: string, base?: URL): URL | undefined {
  try {
    return new URL(address, base)
  } catch {
    return undefined
  }
}

// oxlint-disable-next-line no-restricted-imports -- compares addresses, opens no connection
import { BlockList, isIPv4, isIPv6 } from 'node:net'

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
export const LOCAL_HOSTNAME =
  /(?:^|[./])(?:localhost|localdomain|local|internal|intranet|lan|home|corp|home\.arpa)(?=[:/]|$)/

/** `true` for a host of the public internet. `hostname`: as in `URL`, IPv6 in brackets. */
export function isPublicHost(hostname: string): boolean {
  if (hostname.startsWith('[')) return PUBLIC_IPV6.test(hostname)
  if (isIPv4(hostname)) return !PRIVATE_NETWORKS.check(hostname)
  const name = hostname.replace(/\.+$/, '')
  return name.includes('.') && !LOCAL_HOSTNAME.test(name)
}

/** `true` for an address of the public internet. */
export function isPublicAddress({ address }: LookupAddress): boolean {
  return isPublicHost(isIPv6(address) ? `[${address.toLowerCase()}]` : address)
}
