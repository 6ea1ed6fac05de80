import { once } from 'node:events'
import { type RequestListener, createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, type Server, type Socket, createServer as createTcpServer } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { text } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { type Proxies, redactSecrets } from '../../src/config/secrets.ts'
import { createDispatcher, createOriginDispatcher } from '../../src/outgoing/dispatcher.ts'
import { makeCertificate } from '../helpers/certificate.ts'
import { addCleanup } from '../helpers/cleanup.ts'
import { type ForwardProxy, startForwardProxy } from '../helpers/forward-proxy.ts'
import { NO_PROXIES, useProxy } from '../helpers/proxies.ts'

const certificate = makeCertificate(['shop.example', 'localhost'])

const OPTIONS = {
  connections: 10,
  headersTimeout: 20_000,
  bodyTimeout: 20_000,
  connect: { timeout: 20_000, ca: certificate.cert },
}

const respond: RequestListener = ({ url, headers }, response) =>
  void response.end(JSON.stringify([url, headers.host, headers['proxy-authorization']]))

/** A server that answers with what it was asked for. Its name is known to the proxy alone. */
async function startTarget(scheme: 'http' | 'https'): Promise<string> {
  const server = scheme === 'https' ? createTlsServer(certificate, respond) : createServer(respond)
  server.on('tlsClientError', () => {})
  return `${scheme}://shop.example:${await listen(server)}`
}

async function listen(server: Server): Promise<number> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => sockets.add(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  addCleanup(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  })
  return (server.address() as AddressInfo).port
}

/** Return the response, or the code of the error. */
async function call(origin: string, proxies: Proxies): Promise<unknown> {
  const dispatcher = createOriginDispatcher(new URL(origin), proxies, OPTIONS)
  onTestFinished(() => dispatcher.destroy())
  const request = dispatcher.request({ origin, path: '/a?b', method: 'GET', headers: { accept: '*/*' } })
  return request.then(
    async ({ body }) => JSON.parse(await text(body)) as unknown,
    (error: { code?: unknown }) => error.code,
  )
}

const countRequests = ({ requests }: ForwardProxy): number => requests.length

describe.each(['http', 'https'] as const)('request to %s', (scheme) => {
  it('through a proxy - the target gets its own path and host, and no password of the proxy', async () => {
    const [proxy, origin] = [await startForwardProxy(), await startTarget(scheme)]
    const { host } = new URL(origin)
    const proxies = useProxy(`http://us%40er:p%3Aw%25%C3%BC@127.0.0.1:${proxy.port}`)
    expect(await call(origin, proxies)).toEqual(['/a?b', host, null])
    expect(proxy.requests).toEqual([scheme === 'http' ? `GET ${origin}/a?b` : `CONNECT ${host}`])
    const credentials = Buffer.from('us@er:p:w%ü').toString('base64')
    expect(proxy.authorizations).toEqual([`Basic ${credentials}`])
    expect(redactSecrets(credentials)).toBe('[redacted]')
  })

  it('through a proxy that speaks TLS, with a user alone - works', async () => {
    const [proxy, origin] = [await startForwardProxy(certificate), await startTarget(scheme)]
    const proxies = useProxy(`https://user@localhost:${proxy.port}`)
    expect(await call(origin, proxies)).toEqual(['/a?b', new URL(origin).host, null])
    expect(proxy.authorizations).toEqual([`Basic ${Buffer.from('user:').toString('base64')}`])
  })

  it('ten at once, twice - each gets its response, on at most ten connections', async () => {
    const [proxy, origin] = [await startForwardProxy(), await startTarget(scheme)]
    const dispatcher = createDispatcher(useProxy(proxy.url), OPTIONS)
    onTestFinished(() => dispatcher.destroy())
    const send = async (path: string): Promise<unknown> =>
      JSON.parse(await text((await dispatcher.request({ origin, path, method: 'GET' })).body))
    const paths = Array.from({ length: 10 }, (_, number) => `/${number}`)
    for (const _ of [1, 2]) {
      const responses = await Promise.all(paths.map(send))
      expect(responses).toEqual(paths.map((path) => [path, new URL(origin).host, null]))
    }
    expect(proxy.requests.length).toBeLessThanOrEqual(scheme === 'http' ? 20 : 10)
  })

  it('host in NO_PROXY - is direct', async () => {
    const proxy = await startForwardProxy()
    expect(await call(`${scheme}://shop.invalid`, useProxy(proxy.url, '.invalid'))).toMatch(/^E/)
    expect(countRequests(proxy)).toBe(0)
  })

  it('proxy that demands a password, or has no connection for this machine - fails with its code', async () => {
    const [proxy, origin] = [await startForwardProxy(), await startTarget(scheme)]
    proxy.mode = 407
    expect(await call(origin, useProxy(proxy.url))).toBe('PROXY_STATUS_407')
    expect(await call(origin, useProxy('http://127.0.0.1:1'))).toBe('PROXY_ECONNREFUSED')
    expect(await call(origin, useProxy('http://proxy.invalid:1'))).toMatch(/^PROXY_E(?:NOTFOUND|AI_AGAIN)$/)
  })

  it('proxy that closes the connection - fails after one request, without an endless loop', async () => {
    const [proxy, origin] = [await startForwardProxy(), await startTarget(scheme)]
    proxy.mode = 'close'
    expect(await call(origin, useProxy(proxy.url))).toMatch(/^(?:PROXY_)?(?:ECONNRESET|UND_ERR_SOCKET)$/)
    expect(countRequests(proxy)).toBe(1)
  })
})

it('tunnel that the proxy refuses - fails with the status', async () => {
  const [proxy, origin] = [await startForwardProxy(), await startTarget('https')]
  proxy.mode = 403
  expect(await call(origin, useProxy(proxy.url))).toBe('PROXY_STATUS_403')
})

it('tunnel that the proxy opens with another status of success - works', async () => {
  const [proxy, origin] = [await startForwardProxy(), await startTarget('https')]
  proxy.tunnelStatus = 204
  expect(await call(origin, useProxy(proxy.url))).toEqual(['/a?b', new URL(origin).host, null])
})

it('tunnels one after another - resume the TLS session of the server', async () => {
  const resumed: boolean[] = []
  const server = createTlsServer(certificate, (_, response) => {
    response.setHeader('connection', 'close')
    response.end()
  })
  server.on('secureConnection', (socket: TLSSocket) => resumed.push(socket.isSessionReused()))
  const origin = `https://shop.example:${await listen(server)}`
  const proxy = await startForwardProxy()
  const dispatcher = createOriginDispatcher(new URL(origin), useProxy(proxy.url), OPTIONS)
  onTestFinished(() => dispatcher.destroy())
  for (const path of ['/1', '/2', '/3'])
    await text((await dispatcher.request({ origin, path, method: 'GET' })).body)
  expect(resumed).toEqual([false, true, true])
})

it('tunnel that opens at the deadline, to a server that is silent - fails at once', async () => {
  const proxy = await startForwardProxy()
  const origin = `https://shop.example:${await listen(createTcpServer())}`
  proxy.onRequest = () => {
    const endMs = Date.now() + OPTIONS.connect.timeout
    vi.spyOn(systemClock, 'nowMs').mockReturnValue(endMs)
  }
  onTestFinished(() => void vi.restoreAllMocks())
  expect(await call(origin, useProxy(proxy.url))).toBe('UND_ERR_CONNECT_TIMEOUT')
})

it('tunnel to a server whose certificate is unknown here - the code is that of the certificate', async () => {
  const [proxy, origin] = [await startForwardProxy(), await startTarget('https')]
  const dispatcher = createDispatcher(useProxy(proxy.url), { ...OPTIONS, connect: { timeout: 20_000 } })
  onTestFinished(() => dispatcher.destroy())
  await expect(dispatcher.request({ origin, path: '/', method: 'GET' })).rejects.toMatchObject({
    code: 'DEPTH_ZERO_SELF_SIGNED_CERT',
  })
})

it('no proxy - the request is direct', async () => {
  const origin = (await startTarget('http')).replace('shop.example', '127.0.0.1')
  expect(await call(origin, NO_PROXIES)).toEqual(['/a?b', new URL(origin).host, null])
})
