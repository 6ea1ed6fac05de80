import type { IncomingHttpHeaders } from 'node:http'
import { type LookupFunction, type Socket, isIP } from 'node:net'
import { callbackify } from 'node:util'
import { Client, buildConnector } from 'undici'
import { SECOND_MS, systemClock } from '../clock.ts'
import { type Proxies, redactInLog } from '../config/secrets.ts'
import { RequestError } from './connection-failures.ts'
import { findProxy } from './find-proxy.ts'

/** How long the check of a target's addresses waits for this machine's resolver. Only the proxy may know the name. */
const RESOLVE_TIMEOUT_MS: number = SECOND_MS

/** Status by which a proxy demands a user and password. */
const UNAUTHENTICATED = 407

/**
 * `timeout`: milliseconds for the whole connection. `lookup` resolves and checks a target; behind a proxy it only checks. `ca`:
 * instead of Node's.
 */
export type ConnectOptions = Readonly<{ timeout: number; lookup?: LookupFunction; ca?: string }>

type Headers = Readonly<Record<string, string>>

/** The way to a target through a proxy. */
export type ProxyRoute = Readonly<{
  proxy: URL
  /**
   * Connect to the target through a tunnel, or for http to the proxy. Failures of the proxy are a `ProxyError`. `signal` ends the
   * connection at any time.
   */
  connect(callback: (error: Error | null, socket: Socket) => void, signal?: AbortSignal): void
  /** Comes before the path of a request: a proxy needs the whole address of http. */
  pathPrefix: string
  /** Added to each request. */
  headers: Headers
}>

/** A failure of the proxy. `code`: `PROXY_STATUS_` and its status, or `PROXY_` and the code of the failed connection to it. */
export class ProxyError extends Error {
  readonly code: string

  constructor(detail: string) {
    super('the proxy failed')
    this.code = `PROXY_${detail}`
  }
}

/**
 * Return the error of a response that is from the proxy, not from the target: it demands a password, or has the header of Squid or of
 * RFC 9209 for its own errors. `undefined` for other responses.
 */
export function findRefusal(statusCode: number, headers: IncomingHttpHeaders): ProxyError | undefined {
  const isOwnError =
    headers['x-squid-error'] !== undefined || /;\s*error\s*=/.test(String(headers['proxy-status'] ?? ''))
  const isRefusal = statusCode === UNAUTHENTICATED || (statusCode >= 400 && isOwnError)
  return isRefusal ? new ProxyError(`STATUS_${statusCode}`) : undefined
}

/** Return the way through a proxy; `undefined` when the connection is direct. */
export function findProxyRoute(
  target: URL,
  proxies: Proxies,
  { lookup, ...options }: ConnectOptions,
): ProxyRoute | undefined {
  const proxy = findProxy(proxies, target)
  if (proxy === undefined) return undefined
  const isTunnel = target.protocol === 'https:'
  const authorization = toBasicAuthorization(proxy, 'proxy-authorization')
  const openProxy = createOpener(proxy, options)
  const openTarget = createOpener(target, options)
  const connect = async (signal?: AbortSignal): Promise<Socket> => {
    const limits = createLimits(options.timeout, signal)
    await checkTarget(target, lookup, signal)
    if (!isTunnel) return openProxy(limits).catch(rethrowAsProxyError)
    const tunnel = await openTunnel(target, proxy, { limits, openProxy, authorization }).catch(
      rethrowAsProxyError,
    )
    return openTarget(limits, tunnel)
  }
  return {
    proxy,
    connect: (callback, signal) => callbackify(() => connect(signal))(callback),
    pathPrefix: isTunnel ? '' : target.origin,
    headers: isTunnel ? {} : { host: target.host, ...authorization },
  }
}

type Limits = Readonly<{ signal: AbortSignal | undefined; getRemainingMs(): number }>

/** One deadline for all steps of a connection. */
function createLimits(timeoutMs: number, signal: AbortSignal | undefined): Limits {
  const endMs = systemClock.nowMs() + timeoutMs
  // undici reads 0 as no timeout.
  const getRemainingMs = (): number => Math.max(1, Math.min(timeoutMs, endMs - systemClock.nowMs()))
  return { signal, getRemainingMs }
}

/**
 * Check the addresses of the target as for a direct connection. A name that this machine cannot resolve is left to the proxy.
 * @throws RequestError when `lookup` refuses a name
 */
async function checkTarget(
  { hostname }: URL,
  lookup: LookupFunction | undefined,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (lookup === undefined || hostname.startsWith('[') || isIP(hostname) !== 0) return
  const failure = await new Promise<Error | null>((resolve) => {
    void systemClock.wait(RESOLVE_TIMEOUT_MS, signal).then(() => resolve(null))
    lookup(hostname, { all: true }, resolve)
  })
  if (failure instanceof RequestError) throw failure
}

/** Connects, or with `httpSocket` starts TLS on it. */
type Opener = (limits: Limits, httpSocket?: Socket) => Promise<Socket>

/** Create what opens connections to a URL's host. They resume the TLS session of the one before. */
function createOpener(url: URL, options: Omit<ConnectOptions, 'lookup'>): Opener {
  const { host, hostname, protocol, port } = url
  const address = { host, hostname: hostname.replace(/^\[(.*)\]$/, '$1'), protocol, port }
  let session: Buffer | undefined
  return ({ signal, getRemainingMs }, httpSocket) =>
    new Promise((resolve, reject) => {
      signal?.throwIfAborted()
      const connect = buildConnector({ ...options, timeout: getRemainingMs(), signal, session })
      connect({ ...address, ...(httpSocket && { httpSocket }) }, (error, socket) => {
        if (error !== null) return reject(error)
        socket.on('session', (latest: Buffer) => {
          session = latest
        })
        resolve(socket)
      })
    })
}

/** Open a tunnel with CONNECT. */
async function openTunnel(
  target: URL,
  proxy: URL,
  {
    limits,
    openProxy,
    authorization,
  }: Readonly<{ limits: Limits; openProxy: Opener; authorization: Headers }>,
): Promise<Socket> {
  const client = new Client(proxy.origin, {
    connect: (_address, callback) =>
      callbackify(() => openProxy(limits))((error, socket) =>
        error === null ? callback(null, socket) : callback(error, null),
      ),
    headersTimeout: limits.getRemainingMs(),
  })
  try {
    const host = `${target.hostname}:${target.port === '' ? '443' : target.port}`
    const { statusCode, socket } = await client.connect({
      path: host,
      headers: { host, ...authorization },
    })
    if (statusCode >= 200 && statusCode < 300) return socket as Socket
    socket.on('error', () => {}).destroy()
    throw new ProxyError(`STATUS_${statusCode}`)
  } finally {
    void client.destroy()
  }
}

/** Return the header of the user and password in an address, if it has them. The log redacts it. */
export function toBasicAuthorization({ username, password }: URL, name: string): Headers {
  if (username === '' && password === '') return {}
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  const encoded = Buffer.from(credentials).toString('base64')
  redactInLog(encoded)
  return { [name]: `Basic ${encoded}` }
}

function rethrowAsProxyError(error: unknown): never {
  if (error instanceof ProxyError) throw error
  const code = (error as { code?: unknown } | null)?.code
  throw new ProxyError(typeof code === 'string' ? code : 'FAILED')
}
