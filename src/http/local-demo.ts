import type { Config } from '../config/config.ts'

/** Does nobody but this machine reach the listener? */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host)
}

/** The embedded catalog on a loopback listener: somebody is trying Vitrine on their own machine. */
export function isLocalDemo(config: Config): boolean {
  return config.catalog.kind === 'embedded' && isLoopback(config.host)
}
