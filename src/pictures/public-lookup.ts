import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import { type LookupFunction, isIPv6 } from 'node:net'
import { callbackify } from 'node:util'
import { isPublicHost } from '../offers/links.ts'
import { PictureError } from '../errors.ts'

/** How names become addresses, and where connections go. Tests replace it. */
export type PictureNetwork = Readonly<{
  /** Return all addresses of a name, from the hosts file or DNS. */
  resolve(hostname: string): Promise<readonly LookupAddress[]>
  /** Return where to connect for an address that was checked. */
  toSocketAddress(address: LookupAddress): LookupAddress
  /** The only port that is called: pictures must not make this server probe others. */
  port: number
  /** Trusted certificate authorities in PEM; `undefined`: those of Node. */
  certificateAuthorities: string | undefined
}>

const HTTPS_PORT = 443

export const publicNetwork: PictureNetwork = {
  resolve: (hostname) => lookup(hostname, { all: true }),
  toSocketAddress: (address) => address,
  port: HTTPS_PORT,
  certificateAuthorities: undefined,
}

/** `true` for an `https:` address on the port of the network, with a public host. Its name is checked again when it is resolved. */
export function isFetchableAddress(url: URL, network: Pick<PictureNetwork, 'port'>): boolean {
  const { protocol, username, password, hostname, port } = url
  const isExpectedPort = Number(port || HTTPS_PORT) === network.port
  return (
    protocol === 'https:' && username === '' && password === '' && isExpectedPort && isPublicHost(hostname)
  )
}

/**
 * Create the look-up function of a connection, which then goes to exactly the addresses that were checked. A name is refused if
 * any of its addresses is private: such a name is meant to reach both.
 */
export function createPublicLookup({ resolve, toSocketAddress }: PictureNetwork): LookupFunction {
  const resolveChecked = callbackify(async (hostname: string): Promise<LookupAddress[]> => {
    const addresses = await resolve(hostname)
    if (addresses.length === 0 || !addresses.every(isPublicAddress)) throw new PictureError('private_address')
    return addresses.map(toSocketAddress)
  })
  return (hostname, options, callback) => {
    resolveChecked(hostname, (error: NodeJS.ErrnoException | null, addresses) => {
      if (error !== null) return callback(error, [])
      if (options.all === true) return callback(null, addresses)
      const [first] = addresses
      callback(null, first?.address ?? '', first?.family)
    })
  }
}

function isPublicAddress({ address }: LookupAddress): boolean {
  return isPublicHost(isIPv6(address) ? `[${address.toLowerCase()}]` : address)
}
