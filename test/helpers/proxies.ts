import { type Proxies, Secret } from '../../src/config/secrets.ts'

/** No proxies: all requests are direct. */
export const NO_PROXIES = { http: null, https: null, noProxy: '' } as const

/** One proxy for all requests. */
export function useProxy(url: string, noProxy = ''): Proxies {
  return { http: new Secret(url), https: new Secret(url), noProxy }
}
