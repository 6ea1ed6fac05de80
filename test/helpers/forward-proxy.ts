import { once } from 'node:events'
import { type IncomingMessage, type RequestListener, type Server, createServer, request } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, type Socket, connect } from 'node:net'
import { promisify } from 'node:util'
import type { Certificate } from './certificate.ts'
import { addCleanup } from './cleanup.ts'

/** A proxy as companies have them. It knows all names: each leads to this machine. */
export type ForwardProxy = {
  /** Without credentials. */
  readonly url: string
  readonly port: number
  /** Such as `CONNECT shop.example:443` and `GET http://shop.example/feed`. */
  readonly requests: string[]
  /** `Proxy-Authorization` of each request. */
  readonly authorizations: (string | undefined)[]
  /** `forward`, `close` the connection, be `silent`, or refuse with a status. */
  mode: 'forward' | 'close' | 'silent' | number
  /** Of a refusal, besides the status. */
  refusalHeaders: Record<string, string>
  /** Status of a tunnel that is open. */
  tunnelStatus: number
  /** Called with each request. */
  onRequest: () => void
  countConnections(): Promise<number>
}

/** Start a proxy on any free port; it stops after the test. `certificate`: it speaks TLS. */
export async function startForwardProxy(certificate?: Certificate): Promise<ForwardProxy> {
  const requests: string[] = []
  const authorizations: (string | undefined)[] = []
  const sockets = new Set<Socket>()
  /** Return `false` when the request is refused. */
  const accept = ({ method, url, headers }: IncomingMessage): boolean => {
    requests.push(`${method} ${url}`)
    authorizations.push(headers['proxy-authorization'])
    proxy.onRequest()
    return proxy.mode === 'forward'
  }
  const forward: RequestListener = (incoming, response) => {
    if (!accept(incoming)) {
      if (proxy.mode === 'close') incoming.socket.destroy()
      else if (proxy.mode !== 'silent')
        response.writeHead(Number(proxy.mode), proxy.refusalHeaders).end('refused by the proxy')
      return
    }
    const { port, pathname, search } = new URL(incoming.url ?? '')
    const { 'proxy-authorization': _, ...headers } = incoming.headers
    const target = { host: '127.0.0.1', port, path: pathname + search, method: incoming.method, headers }
    const sent = request(target, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.rawHeaders)
      answer.pipe(response)
    })
    sent.on('error', () => response.destroy())
    incoming.pipe(sent)
  }
  const server: Server = certificate ? createTlsServer(certificate, forward) : createServer(forward)
  server.on('connection', (socket: Socket) => sockets.add(socket))
  server.on('connect', (incoming: IncomingMessage, client: Socket) => {
    client.on('error', () => {})
    if (!accept(incoming)) {
      if (proxy.mode === 'close') client.destroy()
      else if (proxy.mode === 'silent') client.resume().on('end', () => client.end())
      else client.end(`HTTP/1.1 ${proxy.mode} Refused\r\ncontent-length: 0\r\n\r\n`)
      return
    }
    const target = connect(Number(incoming.url?.split(':').at(-1)), '127.0.0.1', () => {
      client.write(`HTTP/1.1 ${proxy.tunnelStatus} Connection established\r\n\r\n`)
      target.pipe(client)
      client.pipe(target)
    })
    sockets.add(target)
    target.on('error', () => client.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  addCleanup(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  })
  const { port } = server.address() as AddressInfo
  const url = `http${certificate ? 's' : ''}://127.0.0.1:${port}`
  const proxy: ForwardProxy = {
    url,
    port,
    requests,
    authorizations,
    mode: 'forward',
    tunnelStatus: 200,
    refusalHeaders: {},
    onRequest() {},
    countConnections: () => promisify(server.getConnections.bind(server))(),
  }
  return proxy
}
