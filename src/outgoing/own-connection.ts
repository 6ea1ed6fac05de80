import { type IncomingMessage, type RequestOptions, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { LookupFunction } from 'node:net'
import { urlToHttpOptions } from 'node:url'
import type { Proxies } from '../config/secrets.ts'
import { RequestError } from './connection-failures.ts'
import { type OutgoingResponse, discardBody } from './fetch.ts'
import { type ProxyRoute, findProxyRoute, findRefusal } from './proxy-route.ts'

export type OwnConnectionOptions = Readonly<{
  headers: Readonly<Record<string, string>>
  signal: AbortSignal
  proxies: Proxies
  /** How long the server may send nothing. */
  idleTimeoutMs: number
  lookup?: LookupFunction
}>

/**
 * Send a GET request on a connection of its own, and return the response when its headers have arrived. For bodies that are read
 * slowly: undici ends the process when a server closes the connection of one (docs/contribute/notes/dependencies.md).
 */
export function requestOnOwnConnection(url: URL, options: OwnConnectionOptions): Promise<OutgoingResponse> {
  const { headers, signal, proxies, idleTimeoutMs, lookup } = options
  const request = url.protocol === 'https:' ? requestHttps : requestHttp
  return new Promise((resolve, reject) => {
    const route = findProxyRoute(url, proxies, { timeout: idleTimeoutMs, ...(lookup && { lookup }) })
    const sent = request({
      ...urlToHttpOptions(url),
      auth: null,
      headers,
      ...(route === undefined ? { agent: false, lookup } : toProxyOptions(url, route, options)),
      signal,
      timeout: idleTimeoutMs,
    })
    // The option alone has no effect on a connection of `createConnection`.
    sent.setTimeout(idleTimeoutMs)
    let received: IncomingMessage | undefined
    const receive = (response: IncomingMessage): void => {
      received = response
      const { statusCode = 0, headers } = response
      const refusal = route && findRefusal(statusCode, headers)
      if (refusal === undefined) return resolve({ statusCode, headers, body: response })
      discardBody({ body: response })
      reject(refusal)
    }
    sent.on('timeout', () => (received ?? sent).destroy(new RequestError('IDLE', 'sent nothing in time')))
    // Without this, a connection that changes its protocol ends without a response and without an error.
    sent.on('upgrade', (response, socket) => {
      socket.destroy()
      receive(response)
    })
    sent.on('close', () => reject(Object.assign(new Error('closed'), { code: 'ECONNRESET' })))
    // A connection may also fail after the response, which then fails, too.
    sent.on('error', reject)
    sent.on('response', receive)
    sent.end()
  })
}

function toProxyOptions(
  { pathname, search }: URL,
  route: ProxyRoute,
  { headers, signal }: OwnConnectionOptions,
): RequestOptions {
  return {
    path: route.pathPrefix + pathname + search,
    headers: { connection: 'close', ...headers, ...route.headers },
    createConnection(_options, callback) {
      route.connect(callback, signal)
      return undefined
    },
  }
}
