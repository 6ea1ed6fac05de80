import { Agent, type Dispatcher, Pool, type buildConnector } from 'undici'
import { type ConnectOptions, findProxyRoute, findRefusal } from './proxy-route.ts'
import type { Proxies } from '../config/secrets.ts'
import type { OutgoingResponse } from './fetch.ts'

/** Settings of undici. */
export type DispatcherOptions = Readonly<{
  connections: number
  headersTimeout: number
  bodyTimeout: number
  connect: ConnectOptions
}>

/** Create the connections to any origins, each direct or through its proxy. */
export function createDispatcher(proxies: Proxies, options: DispatcherOptions): Dispatcher {
  return new Agent({
    ...options,
    factory: (origin) => createOriginDispatcher(new URL(origin), proxies, options),
  })
}

/**
 * Create the connections to one origin. Not undici's `ProxyAgent`: it reconnects without end to a proxy that closes the connection,
 * and has only one connection for http.
 */
export function createOriginDispatcher(
  target: URL,
  proxies: Proxies,
  options: DispatcherOptions,
): Dispatcher {
  const route = findProxyRoute(target, proxies, options.connect)
  if (route === undefined) return new Pool(target.origin, options)
  const connect: buildConnector.connector = (_address, callback) => {
    route.connect((error, socket) => (error === null ? callback(null, socket) : callback(error, null)))
  }
  if (route.pathPrefix === '') return new Pool(target.origin, { ...options, connect })
  const pool = new Pool(route.proxy.origin, { ...options, connect })
  return pool.compose((dispatch) => (request, handler) => {
    const headers = { ...(request.headers as Record<string, string>), ...route.headers }
    return dispatch(
      { ...request, origin: route.proxy.origin, path: route.pathPrefix + request.path, headers },
      rejectRefusal(handler),
    )
  })
}

/** Send a request. Its signal ends the wait at once: undici looks at it only after it has connected. */
export function sendRequest(
  dispatcher: Dispatcher,
  options: Dispatcher.RequestOptions & Readonly<{ signal: AbortSignal }>,
): Promise<OutgoingResponse> {
  const { signal } = options
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const onAbort = (): void => reject(signal.reason as Error)
    signal.addEventListener('abort', onAbort, { once: true })
    // Node keeps a signal made of others in memory as long as it has a listener.
    const forget = (): void => signal.removeEventListener('abort', onAbort)
    void dispatcher.request(options).then(resolve, reject).finally(forget)
  })
}

/** Let the request fail when the response is from the proxy. */
function rejectRefusal(handler: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler {
  return {
    onRequestStart: (...parameters) => handler.onRequestStart?.(...parameters),
    onRequestUpgrade: (...parameters) => handler.onRequestUpgrade?.(...parameters),
    onResponseStart(controller, statusCode, headers, ...rest) {
      const refusal = findRefusal(statusCode, headers)
      if (refusal === undefined) handler.onResponseStart?.(controller, statusCode, headers, ...rest)
      else controller.abort(refusal)
    },
    onResponseData: (...parameters) => handler.onResponseData?.(...parameters),
    onResponseEnd: (...parameters) => handler.onResponseEnd?.(...parameters),
    onResponseError: (...parameters) => handler.onResponseError?.(...parameters),
  }
}
