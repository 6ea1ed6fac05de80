import { type NameResolver, isPublicHost, systemResolver } from '../lib/public-hosts.ts'

/** How pictures are reached. Tests replace it. */
export type PictureNetwork = NameResolver &
  Readonly<{
    /** The only port that is called: pictures must not make this server probe others. */
    port: number
    /** Trusted certificate authorities in PEM; `undefined`: those of Node. */
    certificateAuthorities: string | undefined
  }>

const HTTPS_PORT = 443

export const publicNetwork: PictureNetwork = {
  ...systemResolver,
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
