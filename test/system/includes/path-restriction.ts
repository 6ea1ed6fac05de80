import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { expect, it } from 'vitest'
import type { FaultProxy } from './fault-proxy.ts'
import type { Reload } from './outage-cases.ts'

/** Other paths of the server, and spellings that a proxy might accept as a fragment. */
const NON_FRAGMENT_PATHS: readonly string[] = [
  '/studio',
  '/metrics',
  '/healthz',
  '/embeds/x/deals',
  '/fragments',
  '//studio',
  '/fragments/../studio',
  '/fragments/%2e%2e/metrics',
  '/fragments/x/..%2f..%2fhealthz',
]

/** A consumer and its public address. */
export type RestrictedConsumer = Readonly<{
  faultProxy(): FaultProxy
  /** Its address with the parent path of the fragments, such as `http://127.0.0.1:1234/vitrine`. */
  base(): string
  /** Expected statuses of a rejection. */
  statuses: readonly number[]
}>

/** Define one test per path: the consumer rejects it without a request to the server. */
export function itForwardsFragmentsOnly(
  row: string,
  { faultProxy, base, statuses }: RestrictedConsumer,
): void {
  it.each(NON_FRAGMENT_PATHS)(
    `${row} - %s, requested from outside - does not reach the server`,
    async (path) => {
      await faultProxy().setMode('shown')
      const before = faultProxy().requests.length
      for (const headers of [{}, { 'x-forwarded-for': '127.0.0.1', 'x-forwarded-proto': 'https' }]) {
        const response = await requestRaw(base(), path, headers)
        expect(statuses).toContain(response.status)
        expect(response.body).not.toMatch(/vitrine/i)
      }
      expect(faultProxy().requests.slice(before)).toEqual([])
    },
  )
}

/** Define one test per path: a page that includes it shows nothing, without a request to the server. */
export function itIncludesFragmentsOnly(
  row: string,
  { faultProxy, open }: Readonly<{ faultProxy(): FaultProxy; open(path: string): Promise<Reload> }>,
): void {
  it.each(['/studio', '/metrics', '/healthz'])(
    `${row} - %s, in an include of a page - shows nothing and does not reach the server`,
    async (path) => {
      await faultProxy().setMode('shown')
      const before = faultProxy().requests.length
      expect(await (await open(path))()).toBe('nothing')
      expect(faultProxy().requests.slice(before)).toEqual([])
    },
  )
}

/** `fetch` would normalize the path. */
async function requestRaw(
  base: string,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<Readonly<{ status: number; body: string }>> {
  const { hostname, port, pathname } = new URL(base)
  const prefix = pathname === '/' ? '' : pathname
  const outgoing = request({ hostname, port, path: prefix + path, headers, agent: false }).end()
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
  const parts = (await response.toArray()) as Buffer[]
  return { status: response.statusCode ?? 0, body: Buffer.concat(parts).toString('utf8') }
}
