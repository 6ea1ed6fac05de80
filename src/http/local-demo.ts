import type { IncomingHttpHeaders } from 'node:http'
import type { Config } from '../config/config.ts'
import { parseUrl } from '../lib/urls.ts'

/** Does nobody but this machine reach a listener of that name? The name as in settings or in an address. */
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
export function isAskedLocally(headers: IncomingHttpHeaders): boolean {
  const address = parseUrl(`http://${headers.host ?? ''}`)
  const isOwnName = address !== undefined && isLoopback(address.hostname)
  return isOwnName && !FORWARDING_HEADERS.some((name) => headers[name] !== undefined)
}

/** The embedded catalog on a loopback listener: somebody is trying Vitrine on their own machine. */
export function isLocalDemo(config: Pick<Config, 'catalog' | 'host'>): boolean {
  return config.catalog.kind === 'embedded' && isLoopback(config.host)
}

/** The same, and no other address is given to the outside: pages of this machine may frame the widgets, to try them. */
export function isFramedLocally(config: Config, publicUrl: string): boolean {
  return isLocalDemo(config) && isLoopback(new URL(publicUrl).hostname)
}
