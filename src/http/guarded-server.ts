import { once } from 'node:events'
import {
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
  createServer,
} from 'node:http'
import { Server as NetServer } from 'node:net'
import type { Duplex } from 'node:stream'
import { type Clock, SECOND_MS, isWithin } from '../clock.ts'
import { type FormatRefusal, type Refusal, sendRefusal, writeRefusal } from './refusals.ts'

/** How long a client may take for its headers and for a whole request. */
const HEADERS_TIMEOUT_MS: number = 5 * SECOND_MS
const REQUEST_TIMEOUT_MS: number = 8 * SECOND_MS
/** How long a connection with a request may make no progress. Node checks once per period, so it can take two. */
const STALL_TIMEOUT_MS: number = 15 * SECOND_MS
/** Pipelined requests that may wait for earlier responses of their connection: for each connection, and in all. Each costs about 6 kB. */
const MAX_WAITING_REQUESTS = 63
const MAX_WAITING_IN_ALL = 4_096
/** While the server ends, idle connections stay open this long for requests that are already on their way. */
const CLOSE_GRACE_MS: number = SECOND_MS / 2
const CLOSE_POLL_MS = 50

const NO_HOST: Refusal = { status: 400, message: 'The request has no Host header. HTTP/1.1 requires one.' }
const MALFORMED: Refusal = { status: 400, message: 'The request is malformed.' }

/** Refusals of unparsable requests by error code of Node. */
const PARSE_REFUSALS: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: { status: 431, message: 'The address or the headers are too long.' },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: 413, message: 'The extensions of a chunk are too long.' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, message: 'The request took too long to arrive.' },
}

export type GuardedServerOptions = Readonly<{
  options: ServerOptions
  handleRequest: RequestListener
  /** Handles `Expect` headers other than `100-continue`. */
  handleExpectation: RequestListener
  formatRefusal: FormatRefusal
  stallTimeoutMs?: number
}>

/** A server with limits for each connection. */
export type GuardedServer = Readonly<{
  server: Server
  /** Accept no new connections, send pending responses, close idle connections, and cut the others after `timeoutMs`. */
  end(clock: Clock, timeoutMs: number): Promise<void>
}>

/** A connection answers one request at a time. `current`: the newest response that it has begun. */
type Connection = { current: ServerResponse | undefined; readonly waiting: Exchange[] }
type Exchange = Readonly<{ request: IncomingMessage; response: ServerResponse; handler: RequestListener }>
type Connections = Map<Duplex, Connection>

/** Create an HTTP server that also formats the refusals which Node would send without a body. */
export function createGuardedServer(details: GuardedServerOptions): GuardedServer {
  const { options, formatRefusal, stallTimeoutMs = STALL_TIMEOUT_MS } = details
  const connections: Connections = new Map()
  let waitingCount = 0
  const limitPipelining =
    (handler: RequestListener): RequestListener =>
    (request, response) => {
      const { socket } = request
      const connection = connections.get(socket)
      if (connection === undefined) return
      // A response without a socket is queued behind an earlier response of its connection.
      if (response.socket !== null) {
        connection.current = response
        dispatch(request, response, handler)
      } else if (connection.waiting.length >= MAX_WAITING_REQUESTS || waitingCount >= MAX_WAITING_IN_ALL)
        socket.destroy()
      else {
        if (connection.waiting.length === 0) connection.current?.once('close', () => serveNext(connection))
        connection.waiting.push({ request, response, handler })
        waitingCount += 1
      }
    }
  const serveNext = (connection: Connection): void => {
    const next = connection.waiting.shift()
    if (next === undefined) return
    waitingCount -= 1
    connection.current = next.response
    if (connection.waiting.length > 0) next.response.once('close', () => serveNext(connection))
    dispatch(next.request, next.response, next.handler)
  }
  const dispatch = (request: IncomingMessage, response: ServerResponse, handler: RequestListener): void => {
    if (request.headers.host === undefined && request.httpVersion === '1.1')
      return sendRefusal(request, response, { refusal: NO_HOST, format: formatRefusal })
    // A body is never read. If it does not arrive, Node would send a 408 without a request.
    if (hasBody(request.headers)) response.setHeader('Connection', 'close')
    handler(request, response)
  }
  const server = createServer(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: SECOND_MS,
      requireHostHeader: false,
      ...options,
    },
    limitPipelining(details.handleRequest),
  )
  server.timeout = stallTimeoutMs
  server.on('connection', (socket) => {
    const connection: Connection = { current: undefined, waiting: [] }
    connections.set(socket, connection)
    socket.once('close', () => {
      connections.delete(socket)
      waitingCount -= connection.waiting.splice(0).length
    })
  })
  server.on('checkExpectation', limitPipelining(details.handleExpectation))
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    // The client would take these bytes for its pending response.
    const isUnusable = !socket.writable || error.code === 'ECONNRESET' || isBusy(connections.get(socket))
    if (isUnusable) socket.destroy()
    else writeRefusal(socket, PARSE_REFUSALS[error.code ?? ''] ?? MALFORMED, formatRefusal)
  })
  return { server, end: (clock, timeoutMs) => endServer({ server, connections }, clock, timeoutMs) }
}

/** Whether a response has begun that the client has not received yet. */
function isBusy(connection: Connection | undefined): boolean {
  return connection?.current !== undefined && !connection.current.closed
}

async function endServer(
  { server, connections }: Readonly<{ server: Server; connections: Connections }>,
  clock: Clock,
  timeoutMs: number,
): Promise<void> {
  const closed = once(server, 'close')
  const done = new AbortController()
  const startedMs = clock.nowMs()
  // `close` of an HTTP server would cut connections that still send a response to a slow reader.
  NetServer.prototype.close.call(server)
  void closed.then(() => done.abort())
  while (!done.signal.aborted && isWithin(startedMs, timeoutMs, clock.nowMs())) {
    const sockets = [...connections.keys()]
    if (sockets.every((socket) => socket.writableLength === 0)) server.closeIdleConnections()
    // Node does not count preconnected sockets of browsers as idle, because they never sent a request.
    if (!isWithin(startedMs, CLOSE_GRACE_MS, clock.nowMs())) closeIdleSockets(connections)
    await clock.wait(CLOSE_POLL_MS, done.signal)
  }
  server.closeAllConnections()
  await closed
  // Stop the timer of the HTTP server, too.
  server.close()
}

function closeIdleSockets(connections: Connections): void {
  for (const [socket, connection] of connections)
    if (!isBusy(connection) && socket.writableLength === 0) socket.destroy()
}

function hasBody(headers: IncomingHttpHeaders): boolean {
  const { 'content-length': length } = headers
  return (length !== undefined && length !== '0') || headers['transfer-encoding'] !== undefined
}
