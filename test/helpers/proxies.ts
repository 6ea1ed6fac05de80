import { type Proxies, Secret } from '../../src/config/secrets.ts'

/** No proxies: all requests are direct. */
export const NO_PROXIES = { http: null, https: null, noProxy: '' } as const

/** One proxy for all requests. */
export function useProxy(url: string, noProxy = ''): Proxies {
  const { href } = new URL(url)
  return { http: new Secret(href), https: new Secret(href), noProxy }
}
