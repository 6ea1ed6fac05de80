import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { type FetchFeedOptions, fetchFeed } from '../../src/catalog-service/feeds/fetch-feed.ts'
import { systemClock } from '../../src/clock.ts'
import { type Proxies, Secret } from '../../src/config/secrets.ts'
import { createEventSender } from '../../src/events/send-event.ts'
import type { NameResolver } from '../../src/outgoing/addresses.ts'
import { createPictureFetcher } from '../../src/pictures/fetch-picture.ts'
import { createClient, OPERATIONS, startCatalog } from '../catalog/client-harness.ts'
import { type FeedHandler, redirect, send, startFeedServer } from '../catalog-service/feeds/feed-server.ts'
import { createFolder } from '../catalog-service/harness.ts'
import { EVENT_SECRET, startEventReceiver } from '../helpers/event-receiver.ts'
import { type ForwardProxy, startForwardProxy } from '../helpers/forward-proxy.ts'
import { useProxy } from '../helpers/proxies.ts'
import { sendBody, startPictureHost } from '../pictures/picture-host.ts'

const BODY = 'gtin,title\n09521234567899,Lamp\n'

/** The same server under a name that only the proxy knows. */
const rename = (url: string, name = 'server.example'): string => url.replace('127.0.0.1', name)

/** This machine knows the name, by other addresses than the proxy; `undefined`: not at all. */
const createResolver = (address?: string): NameResolver => ({
  resolve: () =>
    address === undefined
      ? Promise.reject(Object.assign(new Error('unknown'), { code: 'ENOTFOUND' }))
      : Promise.resolve([{ address, family: 4 }]),
  toSocketAddress: (known) => known,
})

function runFeed(
  url: string,
  proxies: Proxies,
  options: Pick<FetchFeedOptions, 'resolver' | 'signal' | 'onProgress' | 'idleTimeoutMs'> = {},
) {
  const path = join(createFolder(), 'feed.download')
  const files = { headerFile: null, secrets: new Map(), validators: null, path }
  return fetchFeed({ ...files, ...options, url, proxies, clock: systemClock }).then(
    () => readFileSync(path, 'utf8'),
    (error: Error) => error.message,
  )
}

async function sendPing(url: string, proxies: Proxies): Promise<string | null> {
  const webhook = { url: new Secret(url), secret: new Secret(EVENT_SECRET) }
  const sender = createEventSender(webhook, proxies, systemClock)
  onTestFinished(() => sender.close())
  return sender.send({ id: 'id', body: '{}' })
}

async function startPictures(proxy: ForwardProxy) {
  const host = await startPictureHost()
  onTestFinished(() => host.close())
  const fetcher = createPictureFetcher(systemClock, host.network, useProxy(proxy.url))
  onTestFinished(() => fetcher.close())
  const fetch = async (address: string): Promise<unknown> =>
    fetcher.fetch(address, null).then(
      ({ body }) => body?.toString(),
      (error: { failure?: string; cause?: { code?: string } }) => error.cause?.code ?? error.failure,
    )
  return { host, fetch }
}

describe('catalog', () => {
  it('each operation - goes through the proxy', async () => {
    const [proxy, catalog] = [await startForwardProxy(), await startCatalog()]
    const { client } = createClient(rename(catalog.url), { proxies: useProxy(proxy.url) })
    for (const call of Object.values(OPERATIONS)) await call(client).catch(() => {})
    expect(catalog.calls).toHaveLength(3)
    const base = `GET ${rename(catalog.url)}`
    expect(proxy.requests).toEqual(catalog.calls.map(({ path }) => base + path))
  })

  it('embedded, on this machine - is direct', async () => {
    const [proxy, catalog] = [await startForwardProxy(), await startCatalog()]
    const { client } = createClient(catalog.url, { proxies: useProxy(proxy.url) })
    expect((await client.fetchChannels()).value).toHaveLength(1)
    expect(proxy.requests).toEqual([])
  })

  it.each([
    [407, {}, 'the connection failed: the proxy demands a user and password (PROXY_STATUS_407)'],
    [403, { 'X-Squid-Error': 'ERR_ACCESS_DENIED 0' }, 'the proxy refused the connection (PROXY_STATUS_403)'],
    [502, { 'Proxy-Status': 'proxy.example; error=dns_error' }, 'the proxy refused the connection'],
    [502, { 'Proxy-Status': 'proxy.example; received-status=502' }, 'the catalog responded with status 502'],
    [502, {}, 'the catalog responded with status 502'],
  ])('proxy with status %d, %j - the error says so', async (status, headers, message) => {
    const proxy = await startForwardProxy()
    Object.assign(proxy, { mode: status, refusalHeaders: headers })
    const { client } = createClient('http://server.example', { proxies: useProxy(proxy.url) })
    await expect(client.fetchChannels()).rejects.toThrow(message)
  })
})

describe('webhook', () => {
  it('event - goes through the proxy with its body and signature', async () => {
    const [proxy, receiver] = [await startForwardProxy(), await startEventReceiver()]
    expect(await sendPing(rename(receiver.url), useProxy(proxy.url))).toBeNull()
    expect(receiver.received).toMatchObject([
      { body: '{}', headers: { 'vitrine-signature': expect.stringMatching(/^sha256=/) as string } },
    ])
    expect(proxy.requests).toEqual([`POST ${rename(receiver.url)}`])
  })

  it('proxy that is away - the failure names the proxy', async () => {
    expect(await sendPing('https://server.example/', useProxy('http://127.0.0.1:1'))).toBe(
      'the proxy failed: connection refused (PROXY_ECONNREFUSED)',
    )
  })
})

describe('feed', () => {
  it.each([
    ['to an address of the internet', '93.184.215.14'],
    ['to nothing', undefined],
  ])('name that resolves here %s - goes through the proxy', async (_, address) => {
    const [proxy, server] = [await startForwardProxy(), await startFeedServer(send(BODY))]
    const url = `${rename(server.url)}/feed?key=1`
    expect(await runFeed(url, useProxy(proxy.url), { resolver: createResolver(address) })).toBe(BODY)
    expect(proxy.requests).toEqual([`GET ${url}`])
    expect(server.requests[0]?.headers).toMatchObject({ host: new URL(url).host, connection: 'close' })
  })

  it.each(['http://10.0.0.1/', 'http://127.0.0.1:1/', 'http://intranet/', 'http://[fd00::1]/'])(
    'redirect of a public host to %s - is refused without a request',
    async (target) => {
      const [proxy, server] = [await startForwardProxy(), await startFeedServer(redirect(target))]
      const url = `${rename(server.url)}/`
      expect(
        await runFeed(url, useProxy(proxy.url), { resolver: createResolver('93.184.215.14') }),
      ).toContain('redirects to a private address')
      expect(proxy.requests).toEqual([`GET ${url}`])
    },
  )

  it('redirect to a name that resolves here to a private address - is refused without a request', async () => {
    const [proxy, server] = [await startForwardProxy(), await startFeedServer()]
    server.respond = redirect(`${rename(server.url, 'inside.example')}/feed`)
    const addresses = new Map([['inside.example', '10.0.0.7']])
    const resolver: NameResolver = {
      resolve: (name) => Promise.resolve([{ address: addresses.get(name) ?? '93.184.215.14', family: 4 }]),
      toSocketAddress: (known) => known,
    }
    expect(await runFeed(`${rename(server.url)}/`, useProxy(proxy.url), { resolver })).toContain(
      'redirects to a private address',
    )
    expect(proxy.requests).toHaveLength(1)
  })

  it.each([
    ['http', 407, 'the proxy demands a user and password'],
    ['https', 407, 'the proxy demands a user and password'],
    ['https', 403, 'the proxy refused the connection'],
    ['https', 'close', 'the proxy failed: the connection was closed before the end'],
  ] as const)('%s, proxy that answers %s - the error says so', async (scheme, mode, reason) => {
    const proxy = await startForwardProxy()
    proxy.mode = mode
    const message = await runFeed(`${scheme}://server.example/`, useProxy(proxy.url), {
      resolver: createResolver(),
    })
    expect(message).toBe(`${scheme}://server.example cannot be fetched (${reason})`)
    expect(proxy.requests).toHaveLength(1)
  })

  it('https with a certificate that is unknown here - the error names NODE_EXTRA_CA_CERTS', async () => {
    const [proxy, host] = [await startForwardProxy(), await startPictureHost()]
    onTestFinished(() => host.close())
    const url = `https://pictures.example:${host.port}/`
    expect(await runFeed(url, useProxy(proxy.url), { resolver: createResolver() })).toBe(
      `https://pictures.example:${host.port} cannot be fetched (this machine does not trust the authority of the certificate; NODE_EXTRA_CA_CERTS can name its certificate)`,
    )
  })

  it.each(['http', 'https'])('%s, stopped while the proxy does not answer - ends at once', async (scheme) => {
    const stopping = new AbortController()
    const proxy = await startForwardProxy()
    proxy.mode = 'silent'
    proxy.onRequest = () => stopping.abort()
    const options = { signal: stopping.signal, resolver: createResolver() }
    expect(await runFeed(`${scheme}://server.example/`, useProxy(proxy.url), options)).toBe(
      'the run was stopped',
    )
    await vi.waitFor(async () => expect(await proxy.countConnections()).toBe(0))
  })

  it.each(['http', 'https'])('%s, stopped before - ends without a request', async (scheme) => {
    const proxy = await startForwardProxy()
    proxy.mode = 'silent'
    const options = { signal: AbortSignal.abort(), resolver: createResolver() }
    expect(await runFeed(`${scheme}://server.example/`, useProxy(proxy.url), options)).toBe(
      'the run was stopped',
    )
    expect(proxy.requests).toEqual([])
  })

  it('stopped while the body arrives - ends at once', async () => {
    const stopping = new AbortController()
    const proxy = await startForwardProxy()
    const server = await startFeedServer((_request, response) => void response.writeHead(200).write('a'))
    const options = {
      signal: stopping.signal,
      resolver: createResolver(),
      onProgress: () => stopping.abort(),
    }
    expect(await runFeed(rename(server.url), useProxy(proxy.url), options)).toBe('the run was stopped')
  })

  it('stopped while this machine resolves the name - ends at once', async () => {
    const stopping = new AbortController()
    const proxy = await startForwardProxy()
    const resolver: NameResolver = {
      resolve() {
        stopping.abort()
        return new Promise(() => {})
      },
      toSocketAddress: (known) => known,
    }
    const options = { signal: stopping.signal, resolver }
    expect(await runFeed('https://server.example/', useProxy(proxy.url), options)).toBe('the run was stopped')
    expect(proxy.requests).toEqual([])
  })

  it.each([
    ['headers', () => {}],
    ['the rest of the body', (_request, response) => void response.writeHead(200).write('a')],
  ] satisfies [string, FeedHandler][])('server that never sends %s - fails as idle', async (_, respond) => {
    const [proxy, server] = [await startForwardProxy(), await startFeedServer(respond)]
    const options = { resolver: createResolver(), idleTimeoutMs: 100 }
    expect(await runFeed(rename(server.url), useProxy(proxy.url), options)).toContain(
      'cannot be fetched (the server sent nothing for a minute)',
    )
    expect(proxy.requests).toHaveLength(1)
  })
})

describe('pictures', () => {
  it.each([
    ['to a public address', () => [{ address: '93.184.216.34', family: 4 }]],
    ['to nothing', () => Promise.reject(Object.assign(new Error('unknown'), { code: 'ENOTFOUND' }))],
  ])('name that resolves here %s - goes through the proxy', async (_, resolve) => {
    const proxy = await startForwardProxy()
    const { host, fetch } = await startPictures(proxy)
    host.setAddresses('pictures.example', resolve)
    expect(await fetch(host.serve('/a.png', sendBody('picture')))).toBe('picture')
    expect(proxy.requests).toEqual([`CONNECT pictures.example:${host.port}`])
  })

  it('name that resolves here to a private address, private address - refused without a request', async () => {
    const proxy = await startForwardProxy()
    const { host, fetch } = await startPictures(proxy)
    host.setAddresses('pictures.example', () => [{ address: '10.0.0.1', family: 4 }])
    expect(await fetch(host.serve('/a.png', sendBody('picture')))).toBe('private_address')
    expect(await fetch(`https://10.0.0.1:${host.port}/a.png`)).toBe('private_address')
    expect(proxy.requests).toEqual([])
  })

  it('proxy that demands a password - unreachable, with the code as the cause', async () => {
    const proxy = await startForwardProxy()
    proxy.mode = 407
    const { host, fetch } = await startPictures(proxy)
    expect(await fetch(host.serve('/a.png', sendBody('picture')))).toBe('PROXY_STATUS_407')
  })
})
