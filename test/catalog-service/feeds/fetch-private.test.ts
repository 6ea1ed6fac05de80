import type { LookupAddress } from 'node:dns'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { fetchFeed } from '../../../src/catalog-service/feeds/fetch-feed.ts'
import type { NameResolver } from '../../../src/outgoing/addresses.ts'
import { createFakeClock } from '../../helpers/fake-clock.ts'
import { createFolder } from '../harness.ts'
import { createTable } from './feed-fixture.ts'
import { redirect, send, startFeedServer } from './feed-server.ts'
import { NO_PROXIES } from '../../helpers/proxies.ts'

const BODY = createTable(3)

/** Addresses by name. Each connection goes to this machine. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  'feeds.example.com': ['93.184.215.14'],
  'other.example.com': ['93.184.215.15', '2606:2800:21f:cb07:6820:80da:af6b:8b2c'],
  'inside.example.com': ['10.0.0.7'],
  'mixed.example.com': ['93.184.215.14', '127.0.0.1'],
  'metadata.example.com': ['169.254.169.254'],
  'mapped.example.com': ['::ffff:10.0.0.7'],
}

const toAddress = (address: string): LookupAddress => ({ address, family: address.includes(':') ? 6 : 4 })

/** Names that resolve to another address each time: the first is for the feed's own request. */
function createResolver(rebound: Readonly<Record<string, readonly string[]>> = {}): NameResolver {
  const seen = new Set<string>()
  return {
    resolve(hostname) {
      const addresses = (seen.has(hostname) ? rebound[hostname] : undefined) ?? NAMES[hostname] ?? []
      seen.add(hostname)
      return Promise.resolve(addresses.map(toAddress))
    },
    toSocketAddress: () => toAddress('127.0.0.1'),
  }
}

/** A server of all hosts: `/` redirects to `target`, and `/feed` is the feed. */
async function fetchVia(host: string, toTarget: (port: string) => string, resolver = createResolver()) {
  const server = await startFeedServer()
  const { port } = new URL(server.url)
  server.respond = (request, response) =>
    (request.url === '/' ? redirect(toTarget(port)) : send(BODY))(request, response)
  const fetched = fetchFeed({
    url: `http://${host}:${port}/`,
    headerFile: null,
    secrets: new Map(),
    proxies: NO_PROXIES,
    validators: null,
    path: join(createFolder(), 'feed.download'),
    clock: createFakeClock(0),
    resolver,
  })
  const outcome = await fetched.then(
    () => 'fetched',
    (error: Error) => error.message,
  )
  return { outcome, requests: server.requests.map(({ url }) => url) }
}

describe('redirect of a public host', () => {
  it.each(['127.0.0.1', '10.0.0.1', '[::1]', '0x7f000001', 'localhost', 'catalog.internal'])(
    'to the private address %s - is refused without a request',
    async (target) => {
      const { outcome, requests } = await fetchVia(
        'feeds.example.com',
        (port) => `http://${target}:${port}/feed`,
      )
      expect(outcome).toContain('redirects to a private address')
      expect(requests).toEqual(['/'])
    },
  )

  it.each(['inside', 'mixed', 'metadata', 'mapped', 'unknown'])(
    'to the name %s.example.com, which resolves to a private address or none - is refused without a request',
    async (name) => {
      const { outcome, requests } = await fetchVia(
        'feeds.example.com',
        (port) => `http://${name}.example.com:${port}/feed`,
      )
      expect(outcome).toContain('redirects to a private address')
      expect(requests).toEqual(['/'])
    },
  )

  it('to itself, when its name now resolves to a private address - is refused without a request', async () => {
    const resolver = createResolver({ 'feeds.example.com': ['10.0.0.7'] })
    const { outcome, requests } = await fetchVia(
      'feeds.example.com',
      (port) => `http://feeds.example.com:${port}/feed`,
      resolver,
    )
    expect([outcome, requests]).toEqual([expect.stringContaining('private address'), ['/']])
  })

  it('to another public host - is followed', async () => {
    const { outcome, requests } = await fetchVia(
      'feeds.example.com',
      (port) => `http://other.example.com:${port}/feed`,
    )
    expect([outcome, requests]).toEqual(['fetched', ['/', '/feed']])
  })
})

describe('redirect of a host that the operator has in the private network', () => {
  it.each(['127.0.0.1', 'inside.example.com'])('%s - is followed to a private address', async (host) => {
    const { outcome } = await fetchVia(host, (port) => `http://metadata.example.com:${port}/feed`)
    expect(outcome).toBe('fetched')
  })
})
