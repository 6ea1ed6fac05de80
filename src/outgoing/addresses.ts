import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import type { LookupFunction } from 'node:net'
import { callbackify } from 'node:util'
import { isPublicAddress, isPublicHost } from '../lib/urls.ts'
import { RequestError } from './connection-failures.ts'

/** How names become addresses. Tests replace it. */
export type NameResolver = Readonly<{
  /** Return all addresses of a name, from the hosts file or DNS. */
  resolve(hostname: string): Promise<readonly LookupAddress[]>
  /** Return where to connect for an address that was checked. */
  toSocketAddress(address: LookupAddress): LookupAddress
}>

export const systemResolver: NameResolver = {
  resolve: (hostname) => lookup(hostname, { all: true }),
  toSocketAddress: (address) => address,
}

/**
 * Create the look-up function of a connection, which then goes to exactly the addresses that were checked. `check` throws to refuse
 * a name.
 */
function createLookup(
  { resolve, toSocketAddress }: NameResolver,
  check: (addresses: readonly LookupAddress[]) => void,
): LookupFunction {
  const resolveChecked = callbackify(async (hostname: string): Promise<LookupAddress[]> => {
    const addresses = await resolve(hostname)
    check(addresses)
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

/**
 * Create a look-up function that refuses a name if any of its addresses is private: such a name is meant to reach both.
 * It fails with a `RequestError`.
 */
export function createPublicLookup(resolver: NameResolver): LookupFunction {
  return createLookup(resolver, (addresses) => {
    if (addresses.length === 0 || !addresses.every(isPublicAddress)) throw createRefusal()
  })
}

const createRefusal = (): RequestError =>
  new RequestError('PRIVATE_ADDRESS', 'redirects to a private address')

/** Decides to which addresses the request for one URL and its redirects connect. */
export type AddressGuard = Readonly<{
  /** Return the look-up function of the next connection. */
  getLookup(isRedirect: boolean): LookupFunction
  /** @throws RequestError for the target of a redirect that may not be called */
  check(target: URL): void
}>

/**
 * Create the guard of an address that the operator has set. A public host must not redirect into the private network, neither by
 * the name of the target nor by the addresses that it resolves to. A private host may redirect anywhere.
 */
export function createRedirectGuard({ hostname }: URL, resolver: NameResolver): AddressGuard {
  let isPublic = isPublicHost(hostname)
  return {
    getLookup(isRedirect) {
      if (isRedirect && isPublic) return createPublicLookup(resolver)
      return createLookup(resolver, (addresses) => {
        isPublic &&= addresses.some(isPublicAddress)
      })
    },
    check(target) {
      if (isPublic && !isPublicHost(target.hostname)) throw createRefusal()
    },
  }
}
