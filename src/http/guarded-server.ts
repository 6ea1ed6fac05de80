import {
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
  createServer,
} from 'node:http'
import type { Socket } from 'node:net'
import { SECOND_MS } from '../clock.ts'
import { type Connections, createConnections } from './connections.ts'
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

const NO_HOST: Refusal = { status: 400, message: 'The request has no Host header. HTTP/1.1 requires one.' }
const MALFORMED: Refusal = { status: 400, message: 'The request is malformed.' }

/** Refusals of requests that Node could not parse, by its error codes. */
const UNPARSED: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: { status: 431, message: 'The address or the headers are too long.' },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: 413, message: 'The extensions of a chunk are too long.' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, message: 'The request took too long to arrive.' },
}

/** What a guarded server does with requests. */
export type GuardedServerDetails = Readonly<{
  options: ServerOptions
  answer: RequestListener
  /** Called for requests with an `Expect` header other than `100-continue`. */
  answerExpectation: RequestListener
  formatRefusal: FormatRefusal
  stallTimeoutMs?: number
}>

/** Create an HTTP server that bounds what one connection may cost and formats the refusals that Node sends without a body. */
export function createGuardedServer(
  details: GuardedServerDetails,
): Readonly<{ server: Server; connections: Connections }> {
  const { options, formatRefusal, stallTimeoutMs = STALL_TIMEOUT_MS } = details
  const guard =
    (answer: RequestListener): RequestListener =>
    (request, response) => {
      const { socket } = request
      // A response without a socket is queued behind an earlier one of its connection that has not been sent.
      if (response.socket === null && isFull(socket)) socket.destroy()
      else {
        route(request, response, answer)
        // A cached response has been handed to the kernel by now, unless it is queued.
        if (!response.writableEnded || response.socket === null) connections.noteAnswer(socket, response)
      }
    }
  const isFull = (socket: Socket): boolean =>
    socket.destroyed || connections.countPending(socket) >= MAX_PENDING_REQUESTS
  const route = (request: IncomingMessage, response: ServerResponse, answer: RequestListener): void => {
    if (request.headers.host === undefined && request.httpVersion === '1.1')
      return sendRefusal(request, response, { refusal: NO_HOST, format: formatRefusal })
    // A body is never read. If it does not arrive, Node would send a 408 that belongs to no request.
    if (announcesBody(request.headers)) response.setHeader('Connection', 'close')
    answer(request, response)
  }
  const server = createServer(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: SECOND_MS,
      requireHostHeader: false,
      ...options,
    },
    guard(details.answer),
  )
  server.timeout = stallTimeoutMs
  const connections = createConnections(server)
  server.on('checkExpectation', guard(details.answerExpectation))
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    // Bytes written now would be taken for the response that is still to come.
    const isUnusable = !socket.writable || error.code === 'ECONNRESET' || connections.countPending(socket) > 0
    if (isUnusable) socket.destroy()
    else writeRefusal(socket, UNPARSED[error.code ?? ''] ?? MALFORMED, formatRefusal)
  })
  return { server, connections }
}

function announcesBody(headers: IncomingHttpHeaders): boolean {
  const { 'content-length': length } = headers
  return (length !== undefined && length !== '0') || headers['transfer-encoding'] !== undefined
}
