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

/** How long a client may take for its headers and for a whole request; a slow one costs its own connection. */
const HEADERS_TIMEOUT_MS: number = 5 * SECOND_MS
const REQUEST_TIMEOUT_MS: number = 8 * SECOND_MS
/**
 * How long a connection with a request may stand still, so that a client that never reads keeps no memory. Node counts
 * every byte that the client takes as progress and looks once a period, so that a connection ends after one or two of them.
 * Idle connections between requests have `keepAliveTimeout` instead.
 */
const STALL_TIMEOUT_MS: number = 15 * SECOND_MS
/** How many pipelined requests of one connection may wait for their responses. Each costs about 6 kB. */
const MAX_PENDING_REQUESTS = 64
/** A connection without a pending response may bring a request that was sent before the end for this long. */
const CLOSE_GRACE_MS: number = SECOND_MS / 2
/** How often idle connections are closed while the server ends. */
const CLOSE_POLL_MS = 50

const NO_HOST: Refusal = { status: 400, message: 'The request has no Host header. HTTP/1.1 requires one.' }
const MALFORMED: Refusal = { status: 400, message: 'The request is malformed.' }

/** Refusals of requests that Node could not parse, by its error codes. */
const PARSE_REFUSALS: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: { status: 431, message: 'The address or the headers are too long.' },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: 413, message: 'The extensions of a chunk are too long.' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, message: 'The request took too long to arrive.' },
}

/** What a guarded server does with requests. */
export type GuardedServerDetails = Readonly<{
  options: ServerOptions
  handleRequest: RequestListener
  /** Called for requests with an `Expect` header other than `100-continue`. */
  handleExpectation: RequestListener
  formatRefusal: FormatRefusal
  stallTimeoutMs?: number
}>

/** A server that bounds what one connection may cost. */
export type GuardedServer = Readonly<{
  server: Server
  /**
   * Take no new connection, let pending responses end, also on their way to a slow reader, close the other connections, and cut
   * what is left after `withinMs`. Resolves when none is open.
   */
  end(clock: Clock, withinMs: number): Promise<void>
}>

/** Pending responses by open connection. */
type Pending = Map<Duplex, number>

/** Create an HTTP server that also formats the refusals that Node sends without a body. */
export function createGuardedServer(details: GuardedServerDetails): GuardedServer {
  const { options, formatRefusal, stallTimeoutMs = STALL_TIMEOUT_MS } = details
  const pending: Pending = new Map()
  const limitPipelining =
    (handler: RequestListener): RequestListener =>
    (request, response) => {
      const { socket } = request
      // A response without a socket is queued behind an earlier one of its connection that has not been sent.
      if (
        response.socket === null &&
        (socket.destroyed || countPending(pending, socket) >= MAX_PENDING_REQUESTS)
      )
        socket.destroy()
      else {
        dispatch(request, response, handler)
        // A cached response has been handed to the kernel by now, unless it is queued.
        if (!response.writableEnded || response.socket === null) trackPending(pending, socket, response)
      }
    }
  const dispatch = (request: IncomingMessage, response: ServerResponse, handler: RequestListener): void => {
    if (request.headers.host === undefined && request.httpVersion === '1.1')
      return sendRefusal(request, response, { refusal: NO_HOST, format: formatRefusal })
    // A body is never read. If it does not arrive, Node would send a 408 that belongs to no request.
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
    pending.set(socket, 0)
    socket.once('close', () => pending.delete(socket))
  })
  server.on('checkExpectation', limitPipelining(details.handleExpectation))
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    // Bytes written now would be taken for the response that is still to come.
    const isUnusable = !socket.writable || error.code === 'ECONNRESET' || countPending(pending, socket) > 0
    if (isUnusable) socket.destroy()
    else writeRefusal(socket, PARSE_REFUSALS[error.code ?? ''] ?? MALFORMED, formatRefusal)
  })
  return { server, end: (clock, withinMs) => endServer({ server, pending }, clock, withinMs) }
}

function countPending(pending: Pending, socket: Duplex): number {
  return pending.get(socket) ?? 0
}

/** Until the response closes, its connection is not quiet. */
function trackPending(pending: Pending, socket: Duplex, response: ServerResponse): void {
  const add = (change: number): void => {
    const before = pending.get(socket)
    if (before !== undefined) pending.set(socket, before + change)
  }
  add(1)
  response.once('close', () => add(-1))
}

async function endServer(
  { server, pending }: Readonly<{ server: Server; pending: Pending }>,
  clock: Clock,
  withinMs: number,
): Promise<void> {
  const closed = once(server, 'close')
  const done = new AbortController()
  const startedMs = clock.nowMs()
  // An HTTP server's own `close` also cuts idle connections, and takes one for idle whose response waits for a slow reader.
  NetServer.prototype.close.call(server)
  void closed.then(() => done.abort())
  while (!done.signal.aborted && isWithin(startedMs, withinMs, clock.nowMs())) {
    const sockets = [...pending.keys()]
    if (sockets.every((socket) => socket.writableLength === 0)) server.closeIdleConnections()
    // Node takes no connection for idle that never sent a request, and browsers open such ones ahead of need.
    if (!isWithin(startedMs, CLOSE_GRACE_MS, clock.nowMs())) closeIdleSockets(pending)
    await clock.wait(CLOSE_POLL_MS, done.signal)
  }
  server.closeAllConnections()
  await closed
  // Ends the timer of an HTTP server, too.
  server.close()
}

function closeIdleSockets(pending: Pending): void {
  for (const [socket, count] of pending) if (count === 0 && socket.writableLength === 0) socket.destroy()
}

function hasBody(headers: IncomingHttpHeaders): boolean {
  const { 'content-length': length } = headers
  return (length !== undefined && length !== '0') || headers['transfer-encoding'] !== undefined
}
