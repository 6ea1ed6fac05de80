import { type LookupFunction, type Socket, isIP } from 'node:net'
import { callbackify } from 'node:util'
import { Client, buildConnector } from 'undici'
import { SECOND_MS, systemClock } from '../clock.ts'
import { VitrineError } from '../errors.ts'
import { findProxy } from './find-proxy.ts'
import type { Proxies } from '../config/secrets.ts'

/** How long the check of a target's addresses waits for this machine's resolver. Only the proxy may know the name. */
const RESOLVE_TIMEOUT_MS: number = SECOND_MS

/** Status by which a proxy demands a user and password. */
const UNAUTHENTICATED = 407

/** `timeout`: milliseconds. `lookup` resolves and checks a target; behind a proxy it only checks. `ca`: besides Node's. */
export type ConnectOptions = Readonly<{ timeout: number; lookup?: LookupFunction; ca?: string }>

/** The way to a target through a proxy. */
export type ProxyRoute = Readonly<{
  proxy: URL
  /** Connect to the target through a tunnel, or for http to the proxy. Failures of the proxy are a `ProxyError`. */
  connect(callback: (error: Error | null, socket: Socket) => void): void
  /** Comes before the path of a request: a proxy needs the whole address of http. */
  pathPrefix: string
  /** Added to each request. */
  headers: Readonly<Record<string, string>>
}>

/** A failure of the proxy. `code`: `PROXY_STATUS_` and its status, or `PROXY_` and the code of the failed connection to it. */
export class ProxyError extends Error {
  readonly code: string

  constructor(detail: string) {
    super('the proxy failed')
    this.code = `PROXY_${detail}`
  }
}

/** Return the error of a response that is from the proxy, not from the target; `undefined` for other responses. */
export function findRefusal(statusCode: number | undefined): ProxyError | undefined {
  return statusCode === UNAUTHENTICATED ? new ProxyError(`STATUS_${statusCode}`) : undefined
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
  return {
    proxy,
    connect: callbackify(async () => {
      await checkTarget(target, lookup)
      if (!isTunnel) return openSocket(proxy, options).catch(rethrowAsProxyError)
      const tunnel = await openTunnel(target, proxy, options).catch(rethrowAsProxyError)
      return openSocket(target, options, tunnel)
    }),
    pathPrefix: isTunnel ? '' : target.origin,
    headers: isTunnel ? {} : { host: target.host, ...toAuthorization(proxy) },
  }
}

/**
 * Check the addresses of the target as for a direct connection. A name that this machine cannot resolve is left to the proxy.
 * @throws what `lookup` throws to refuse a name
 */
async function checkTarget({ hostname }: URL, lookup: LookupFunction | undefined): Promise<void> {
  if (lookup === undefined || hostname.startsWith('[') || isIP(hostname) !== 0) return
  const failure = await new Promise<Error | null>((resolve) => {
    const cancel = systemClock.startTimer(RESOLVE_TIMEOUT_MS, () => resolve(null))
    lookup(hostname, { all: true }, (error) => {
      cancel()
      resolve(error)
    })
  })
  if (failure instanceof VitrineError) throw failure
}

type SocketOptions = Omit<ConnectOptions, 'lookup'>

/** Connect to a URL's host, or with `httpSocket` start TLS on it. */
function openSocket(url: URL, options: SocketOptions, httpSocket?: Socket): Promise<Socket> {
  const { host, hostname, protocol, port } = url
  const address = { host, hostname: hostname.replace(/^\[(.*)\]$/, '$1'), protocol, port }
  return new Promise((resolve, reject) => {
    buildConnector(options)({ ...address, ...(httpSocket && { httpSocket }) }, (error, socket) => {
      if (error === null) resolve(socket)
      else reject(error)
    })
  })
}

/** Open a tunnel with CONNECT. */
async function openTunnel(target: URL, proxy: URL, options: SocketOptions): Promise<Socket> {
  const client = new Client(proxy.origin, { connect: options, headersTimeout: options.timeout })
  try {
    const host = `${target.hostname}:${target.port === '' ? '443' : target.port}`
    const { statusCode, socket } = await client.connect({
      path: host,
      headers: { host, ...toAuthorization(proxy) },
    })
    if (statusCode === 200) return socket as Socket
    socket.on('error', () => {}).destroy()
    throw new ProxyError(`STATUS_${statusCode}`)
  } finally {
    void client.destroy()
  }
}

function toAuthorization({ username, password }: URL): Readonly<Record<string, string>> {
  if (username === '' && password === '') return {}
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return { 'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}` }
}

function rethrowAsProxyError(error: unknown): never {
  if (error instanceof ProxyError) throw error
  const code = (error as { code?: unknown } | null)?.code
  throw new ProxyError(typeof code === 'string' ? code : 'FAILED')
}
