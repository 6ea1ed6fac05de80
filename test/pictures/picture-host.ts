import type { LookupAddress } from 'node:dns'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Server, createServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { PictureNetwork } from '../../src/pictures/fetch-picture.ts'
import { makeCertificate } from '../helpers/certificate.ts'

/** The names of the host. Each resolves to `PUBLIC_ADDRESS`, unless a test changes it. */
export const HOSTNAME = 'pictures.example'
const HOSTNAMES = [HOSTNAME, 'cdn.example', 'rebind.example', 'localhost']

/** An address of the public internet. The network of the tests leads from there to the host. */
export const PUBLIC_ADDRESS: LookupAddress = { address: '93.184.216.34', family: 4 }

export type Handler = (request: IncomingMessage, response: ServerResponse) => void

type Resolve = () => readonly LookupAddress[] | Promise<readonly LookupAddress[]>

/** A public host of pictures: a local https server, and a network in which its names are public. */
export type PictureHost = Readonly<{
  network: PictureNetwork
  port: number
  /** Respond to a path; return its address. */
  serve(path: string, handler: Handler): string
  /** Set what a name resolves to. */
  setAddresses(hostname: string, resolve: Resolve): void
  /** Paths that were requested, in order. */
  requests: string[]
  /** Names that were resolved, and addresses that were checked before connecting to one of them. */
  resolved: string[]
  checked: string[]
  /** Connections that the server has seen. */
  connectionCount(): number
  /** Bytes that were sent on all connections. */
  sentBytes(): number
  close(): Promise<void>
}>

const certificate = makeCertificate(HOSTNAMES)

export async function startPictureHost(): Promise<PictureHost> {
  const handlers = new Map<string, Handler>()
  const names = new Map<string, Resolve>()
  const requests: string[] = []
  const resolved: string[] = []
  const checked: string[] = []
  const sockets: Socket[] = []
  const server: Server = createServer(certificate, (request, response) => {
    requests.push(request.url ?? '')
    const handler = handlers.get(request.url ?? '')
    if (handler === undefined) response.writeHead(404).end()
    else handler(request, response)
  })
  server.on('connection', (socket: Socket) => sockets.push(socket))
  // Clients that refuse a response break the connection.
  server.on('tlsClientError', () => {})
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    requests,
    resolved,
    checked,
    network: {
      async resolve(hostname) {
        resolved.push(hostname)
        return (await names.get(hostname)?.()) ?? [PUBLIC_ADDRESS]
      },
      toSocketAddress({ address }) {
        checked.push(address)
        return { address: '127.0.0.1', family: 4 }
      },
      port,
      certificateAuthorities: certificate.cert,
    },
    serve(path, handler) {
      handlers.set(path, handler)
      return `https://${HOSTNAME}:${port}${path}`
    },
    setAddresses: (hostname, resolve) => void names.set(hostname, resolve),
    connectionCount: () => sockets.length,
    sentBytes: () => sockets.reduce((sum, socket) => sum + socket.bytesWritten, 0),
    async close() {
      server.closeAllConnections()
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Respond with a body. */
export function sendBody(body: Buffer | string, headers: Readonly<Record<string, string>> = {}): Handler {
  return (_request, response) => void response.writeHead(200, headers).end(body)
}

/** Respond with a redirect. */
export function redirectTo(location: string, headers: Readonly<Record<string, string>> = {}): Handler {
  const bytes = Buffer.from(location).toString('latin1')
  return (_request, response) => void response.writeHead(302, { location: bytes, ...headers }).end()
}
