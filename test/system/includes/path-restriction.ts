import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { expect, it } from 'vitest'
import type { FaultProxy } from './fault-proxy.ts'
import type { Reload } from './outage-cases.ts'

/** What lies beside the fragments, and spellings that a proxy might take for a fragment. */
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

/** A consumer, and where it answers to the outside. */
export type RestrictedConsumer = Readonly<{
  faultProxy(): FaultProxy
  /** Its address with the path below which fragments are, such as `http://127.0.0.1:1234/vitrine`. */
  base(): string
  /** How it refuses. */
  statuses: readonly number[]
}>

/** One test for each path: it is refused by the consumer itself, and the server is never asked. */
export function itForwardsFragmentsOnly(
  row: string,
  { faultProxy, base, statuses }: RestrictedConsumer,
): void {
  it.each(NON_FRAGMENT_PATHS)(
    `${row} - %s, asked for from outside - never reaches the server`,
    async (path) => {
      await faultProxy().setMode('shown')
      const before = faultProxy().requests.length
      for (const headers of [{}, { 'x-forwarded-for': '127.0.0.1', 'x-forwarded-proto': 'https' }]) {
        const answer = await requestRaw(base(), path, headers)
        expect(statuses).toContain(answer.status)
        expect(answer.body).not.toMatch(/vitrine/i)
      }
      expect(faultProxy().requests.slice(before)).toEqual([])
    },
  )
}

/** One test for each path: a page that includes it shows nothing there, and the server is never asked. */
export function itIncludesFragmentsOnly(
  row: string,
  { faultProxy, open }: Readonly<{ faultProxy(): FaultProxy; open(path: string): Promise<Reload> }>,
): void {
  it.each(['/studio', '/metrics', '/healthz'])(
    `${row} - %s, in an include of a page - shows nothing and never reaches the server`,
    async (path) => {
      await faultProxy().setMode('shown')
      const before = faultProxy().requests.length
      expect(await (await open(path))()).toBe('nothing')
      expect(faultProxy().requests.slice(before)).toEqual([])
    },
  )
}

/** `fetch` would tidy the path up. */
async function requestRaw(
  base: string,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<Readonly<{ status: number; body: string }>> {
  const { hostname, port, pathname } = new URL(base)
  const prefix = pathname === '/' ? '' : pathname
  const asking = request({ hostname, port, path: prefix + path, headers, agent: false }).end()
  const [answer] = (await once(asking, 'response')) as [IncomingMessage]
  const parts = (await answer.toArray()) as Buffer[]
  return { status: answer.statusCode ?? 0, body: Buffer.concat(parts).toString('utf8') }
}
