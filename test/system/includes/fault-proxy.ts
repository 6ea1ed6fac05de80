import { once } from 'node:events'
import {
  type IncomingMessage,
  type Server,
  type ServerResponse,
  createServer,
  request as sendRequest,
} from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * How the proxy responds. `shown` and `hidden` are responses of the server itself, `unavailable` is its response without data.
 * `text` is a page of another program; `drip` sends single bytes and never ends;
 * `large` is a box above the size limit.
 */
export type FaultMode =
  'shown' | 'hidden' | 'unavailable' | '500' | 'hang' | 'reset' | 'down' | 'text' | 'drip' | 'large'

/** A request that the proxy received. */
export type ProxiedRequest = Readonly<{ url: string; headers: IncomingMessage['headers'] }>

/** How the proxy responds, and the requests that it received. */
export type ProxyRoute = Readonly<{
  /** Every request since the start, except while the proxy was down. */
  requests: readonly ProxiedRequest[]
  readonly mode: FaultMode
  /** `down` closes the port, every other mode opens it again. Existing connections are closed. */
  setMode(mode: FaultMode): Promise<void>
  /** Rewrite `max-age` and, if given, both stale times or only `stale-if-error`. `null` changes nothing. */
  setMaxAge(seconds: number | null, staleSeconds?: number, ifErrorSeconds?: number): void
}>

/** Responses to one page, so that tests with a page each can run concurrently; only `down` applies to all pages. */
export type PageRoute = ProxyRoute &
  Readonly<{
    /** Requests of the page have `?page=` with this name. */
    name: string
    /** Aborts when a request of the page has hung for the time of the route; slow starts do not count. */
    hangTimeout(): AbortSignal
    /** Close the connections of hanging requests. */
    close(): void
  }>

/** A proxy between a consumer and the real server that injects faults. Its own mode applies to pages without a route. */
export type FaultProxy = ProxyRoute &
  Readonly<{
    port: number
    origin: string
    openRoute(name: string, hangTimeoutMs: number): PageRoute
    stop(): Promise<void>
  }>

/** The error page of the proxy, which a reader must never see. */
export const ERROR_PAGE = '<html><body><h1>500 PROXY-ERROR-PAGE</h1></body></html>'

/** A well-formed GTIN that the sample data does not have. */
const HIDDEN_GTIN = '09521234500005'

/** The target server, and the path prefix of the proxy, which it removes. */
export type FaultProxyDetails = Readonly<{ target: string; prefix?: string }>

/** Start a fault proxy on a free port. */
export async function startFaultProxy(details: FaultProxyDetails): Promise<FaultProxy> {
  const common = createState(details)
  const routes = new Map<string, RouteState>()
  const server = createServer((request, response) => {
    const state = routes.get(readPageName(request.url ?? '')) ?? common
    state.requests.push({ url: request.url ?? '', headers: request.headers })
    respond(state, request, response)
  })
  await listen(server, 0)
  const { port } = server.address() as AddressInfo
  return {
    ...createRoute(common),
    get mode() {
      return common.mode
    },
    port,
    origin: `http://127.0.0.1:${port}`,
    async setMode(mode) {
      common.mode = mode
      if (mode === 'down') await close(server)
      else if (server.listening) server.closeAllConnections()
      else await listen(server, port)
    },
    openRoute(name, hangTimeoutMs) {
      const state = createState(details)
      routes.set(name, state)
      return {
        ...createRoute(state),
        get mode() {
          return state.mode
        },
        name,
        async setMode(mode) {
          state.mode = mode
          if (mode === 'down') await close(server)
          else if (!server.listening) await listen(server, port)
        },
        hangTimeout: () => startHangTimeout(state, hangTimeoutMs),
        close() {
          for (const { socket } of state.hanging) socket.destroy()
        },
      }
    },
    stop: () => close(server),
  }
}

type RouteState = FaultProxyDetails & {
  readonly requests: ProxiedRequest[]
  readonly hanging: Set<IncomingMessage>
  readonly onHanging: Set<() => void>
  mode: FaultMode
  maxAgeSeconds: number | null
  staleSeconds: number | null
  ifErrorSeconds: number | null
}

function createState(details: FaultProxyDetails): RouteState {
  return {
    ...details,
    requests: [],
    hanging: new Set(),
    onHanging: new Set(),
    mode: 'shown',
    maxAgeSeconds: null,
    staleSeconds: null,
    ifErrorSeconds: null,
  }
}

function createRoute(state: RouteState): Pick<ProxyRoute, 'requests' | 'setMaxAge'> {
  return {
    requests: state.requests,
    setMaxAge(seconds, staleSeconds, ifErrorSeconds) {
      state.maxAgeSeconds = seconds
      state.staleSeconds = staleSeconds ?? null
      state.ifErrorSeconds = ifErrorSeconds ?? null
    },
  }
}

const readPageName = (url: string): string => /[?&]page=([^&]+)/.exec(url)?.[1] ?? ''

function startHangTimeout({ hanging, onHanging }: RouteState, forMs: number): AbortSignal {
  const done = new AbortController()
  const start = (): void => {
    onHanging.delete(start)
    const timeout = AbortSignal.timeout(forMs)
    timeout.addEventListener('abort', () => done.abort(timeout.reason))
  }
  if (hanging.size > 0) start()
  else onHanging.add(start)
  return done.signal
}

function hang({ hanging, onHanging }: RouteState, request: IncomingMessage): void {
  hanging.add(request)
  request.socket.once('close', () => hanging.delete(request))
  for (const start of onHanging) start()
}

function respond(state: RouteState, request: IncomingMessage, response: ServerResponse): void {
  switch (state.mode) {
    case 'hang':
      hang(state, request)
      return
    case 'reset':
    case 'down':
      request.socket.destroy()
      return
    case '500':
      response.writeHead(500, { 'content-type': 'text/html' }).end(ERROR_PAGE)
      return
    case 'unavailable':
      response.writeHead(200, {
        'content-type': 'text/html; charset=utf-8',
        'content-length': '0',
        'cache-control': 'no-store',
        'vitrine-state': 'unavailable',
      })
      response.end()
      return
    case 'text':
      response.writeHead(200, { 'content-type': 'text/html', 'cache-control': 'max-age=60' })
      response.end('Please log in to this network')
      return
    case 'drip':
      drip(response)
      return
    case 'large':
      response.writeHead(200, { 'content-type': 'text/html', 'cache-control': 'max-age=60' })
      response.end(`<section class="vitrine "> ${' '.repeat(1_048_576)}</section>`)
      return
    default:
      forward(state, request, response)
  }
}

function drip(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/html', 'cache-control': 'max-age=60' })
  const timer = setInterval(() => response.write('<'), 100)
  response.on('close', () => clearInterval(timer))
}

/** Forward the unchanged request, with all headers of the visitor. */
function forward(state: RouteState, request: IncomingMessage, response: ServerResponse): void {
  const path = toServerPath(state, request.url ?? '')
  const outgoing = sendRequest(
    state.target,
    // Not a URL object, which would drop a `#`.
    { path, method: request.method, headers: request.headers },
    (incoming) => {
      const headers = { ...incoming.headers }
      delete headers.connection
      delete headers['keep-alive']
      headers['cache-control'] = toCacheControl(state, headers['cache-control'])
      response.writeHead(incoming.statusCode ?? 500, headers)
      incoming.pipe(response)
    },
  )
  outgoing.on('error', () => response.destroy())
  request.pipe(outgoing)
}

function toCacheControl({ maxAgeSeconds, staleSeconds, ifErrorSeconds }: RouteState, sent = ''): string {
  const aged = maxAgeSeconds === null ? sent : sent.replace(/max-age=\d+/, `max-age=${maxAgeSeconds}`)
  const stale = staleSeconds === null ? aged : aged.replaceAll(/(stale-[a-z-]+)=\d+/g, `$1=${staleSeconds}`)
  return ifErrorSeconds === null ? stale : stale.replace(/(stale-if-error)=\d+/, `$1=${ifErrorSeconds}`)
}

function toServerPath({ prefix, mode }: RouteState, url: string): string {
  if (prefix !== undefined && !url.startsWith(`${prefix}/`)) return '/outside-of-the-prefix'
  const path = url.slice(prefix?.length ?? 0)
  return mode === 'hidden' ? path.replace(/\/where-to-buy\/\d+/, `/where-to-buy/${HIDDEN_GTIN}`) : path
}

async function listen(server: Server, port: number): Promise<void> {
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
}

async function close(server: Server): Promise<void> {
  if (!server.listening) return
  const closed = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await closed
}
