import { once } from 'node:events'
import { type IncomingHttpHeaders, type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { addCleanup } from '../../helpers/cleanup.ts'

export type FeedHandler = (request: IncomingMessage, response: ServerResponse) => void

export type FeedServer = {
  /** Without a trailing slash. */
  readonly url: string
  readonly requests: readonly Readonly<{ url: string; headers: IncomingHttpHeaders }>[]
  /** Handles the next requests. */
  respond: FeedHandler
}

/** Start a server for feeds on any free port; it stops after the test. */
export async function startFeedServer(respond: FeedHandler = send('')): Promise<FeedServer> {
  const requests: { url: string; headers: IncomingHttpHeaders }[] = []
  const server = createServer((request, response) => {
    requests.push({ url: request.url ?? '', headers: request.headers })
    fixture.respond(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  addCleanup(async () => {
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  })
  const { port } = server.address() as AddressInfo
  const fixture: FeedServer = { url: `http://127.0.0.1:${port}`, requests, respond }
  return fixture
}

/** Respond with a body of known length. */
export function send(
  body: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
  status = 200,
): FeedHandler {
  return (_request, response) =>
    void response.writeHead(status, { 'content-length': Buffer.byteLength(body), ...headers }).end(body)
}

/** Respond as a server that knows its version: 304 to a request that has it. */
export function sendVersion(
  body: string | Buffer,
  validators: Readonly<{ etag?: string; 'last-modified'?: string }>,
): FeedHandler {
  return (request, response) => {
    const { 'if-none-match': etag, 'if-modified-since': time } = request.headers
    const isKnown = etag === undefined ? time !== undefined : etag === validators.etag
    if (isKnown && (etag !== undefined || time === validators['last-modified']))
      response.writeHead(304, validators).end()
    else send(body, validators)(request, response)
  }
}

export function redirect(location: string): FeedHandler {
  return send('', { location }, 302)
}

/** Send bytes as they are, then close the connection. */
export function sendRaw(head: readonly string[], body: string | Buffer): FeedHandler {
  return ({ socket }) => {
    socket.write(`${head.join('\r\n')}\r\n\r\n`)
    socket.end(body)
  }
}

/** The responses that are not a complete feed. */
export function createFaults(body: string): Readonly<Record<string, FeedHandler>> {
  const half = body.slice(0, body.length / 2)
  return {
    'status 401': send(body, {}, 401),
    'status 404': send(body, {}, 404),
    'status 500': send(body, {}, 500),
    'status 206': send(half, {}, 206),
    'redirect to itself': (request, response) => redirect(request.url ?? '')(request, response),
    'redirect to a file': redirect('file:///etc/passwd'),
    'redirect to ftp': redirect('ftp://127.0.0.1/feed'),
    'redirect without a target': send('', {}, 302),
    'cut before Content-Length': sendRaw(
      ['HTTP/1.1 200 OK', `Content-Length: ${Buffer.byteLength(body)}`],
      half,
    ),
    'cut between chunks': sendRaw(
      ['HTTP/1.1 200 OK', 'Transfer-Encoding: chunked'],
      `${Buffer.byteLength(half).toString(16)}\r\n${half}\r\n`,
    ),
    'cut within a chunk': sendRaw(
      ['HTTP/1.1 200 OK', 'Transfer-Encoding: chunked'],
      `${Buffer.byteLength(body).toString(16)}\r\n${half}`,
    ),
    'closed in a row, without a length': sendRaw(['HTTP/1.0 200 OK'], body.slice(0, -5)),
    'content encoding that was not requested': send(body, { 'content-encoding': 'br' }),
    'no HTTP': ({ socket }) => void socket.end('220 ftp ready\r\n'),
    'closed without a response': ({ socket }) => void socket.end(),
    'connection reset': ({ socket }) => void socket.resetAndDestroy(),
  }
}
