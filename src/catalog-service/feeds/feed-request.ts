// oxlint-disable-next-line no-restricted-imports -- feeds are no catalog calls
import { type IncomingMessage, type RequestOptions as HttpOptions, request as requestHttp } from 'node:http'
// oxlint-disable-next-line no-restricted-imports -- feeds are no catalog calls
import { request as requestHttps } from 'node:https'
import type { LookupFunction } from 'node:net'
import { urlToHttpOptions } from 'node:url'
import { MINUTE_MS } from '../../clock.ts'
import type { Proxies } from '../../config/secrets.ts'
import { FeedFetchError } from '../../errors.ts'
import {
  type NameResolver,
  createLookup,
  createPublicLookup,
  isPublicAddress,
  isPublicHost,
} from '../../lib/public-hosts.ts'
import { parseUrl } from '../../lib/urls.ts'
import {
  type ProxyRoute,
  findProxyRoute,
  findRefusal,
  toBasicAuthorization,
} from '../../outgoing/proxy-route.ts'

/** Redirects followed; each target is checked like the address itself. */
const MAX_REDIRECTS = 5

/** How long a server may send nothing. */
const IDLE_TIMEOUT_MS: number = MINUTE_MS

/** Code of the error of a server that sends nothing. */
export const IDLE_CODE = 'IDLE'

export type RequestHeaders = Readonly<Record<string, string>>

/** `headers`: of each request; `secretHeaders`: of requests to the origin of the address only. */
export type FeedRequest = Readonly<{
  url: URL
  label: string
  headers: RequestHeaders
  secretHeaders: RequestHeaders
  signal: AbortSignal
  resolver: NameResolver
  proxies: Proxies
  /** Tests replace it. */
  idleTimeoutMs?: number
}>

/** Send a request, and follow its redirects. Return the response when its headers have arrived. @throws FeedFetchError */
export async function requestFeed({
  url: firstUrl,
  label,
  headers,
  secretHeaders,
  signal,
  resolver,
  proxies,
  idleTimeoutMs = IDLE_TIMEOUT_MS,
}: FeedRequest): Promise<IncomingMessage> {
  const hosts = createHostCheck(firstUrl, resolver, label)
  const authorization = toBasicAuthorization(firstUrl, 'authorization')
  let url = firstUrl
  for (let redirects = 0; ; redirects += 1) {
    const isOwnOrigin = url.origin === firstUrl.origin
    const secrets = isOwnOrigin ? { ...authorization, ...secretHeaders } : {}
    const response = await send(url, {
      label,
      signal,
      proxies,
      idleTimeoutMs,
      lookup: hosts.getLookup(redirects > 0),
      headers: { ...headers, ...secrets },
    })
    if (![301, 302, 303, 307, 308].includes(response.statusCode ?? 0)) return response
    discard(response)
    if (redirects === MAX_REDIRECTS)
      throw new FeedFetchError(`${label} redirects more than ${MAX_REDIRECTS} times`)
    url = toRedirectTarget(url, response.headers.location, label)
    hosts.checkRedirect(url)
  }
}

/**
 * Checks that a public host does not redirect into the private network, by the name of the target and by the addresses that it
 * resolves to. A feed whose own host is private may redirect anywhere.
 */
function createHostCheck(firstUrl: URL, resolver: NameResolver, label: string) {
  const createError = (): Error => new FeedFetchError(`${label} redirects to a private address`)
  let isPublic = isPublicHost(firstUrl.hostname)
  return {
    getLookup(isRedirect: boolean): LookupFunction {
      if (isRedirect && isPublic) return createPublicLookup(resolver, createError)
      return createLookup(resolver, (addresses) => {
        isPublic &&= addresses.some(isPublicAddress)
      })
    },
    /** @throws FeedFetchError */
    checkRedirect({ hostname }: URL): void {
      if (isPublic && !isPublicHost(hostname)) throw createError()
    },
  }
}

type RequestOptions = Readonly<{
  label: string
  headers: RequestHeaders
  lookup: LookupFunction
  signal: AbortSignal
  proxies: Proxies
  idleTimeoutMs: number
}>

/**
 * Send a request on a connection of its own, and return the response when its headers have arrived. Not with undici, which ends the
 * process when a server closes a connection whose body is read slowly.
 */
function send(
  url: URL,
  { label, headers, lookup, signal, proxies, idleTimeoutMs }: RequestOptions,
): Promise<IncomingMessage> {
  const request = url.protocol === 'https:' ? requestHttps : requestHttp
  return new Promise((resolve, reject) => {
    const route = findProxyRoute(url, proxies, { timeout: idleTimeoutMs, lookup })
    const sent = request({
      ...urlToHttpOptions(url),
      auth: null,
      headers,
      ...(route === undefined ? { agent: false, lookup } : toProxyOptions(url, { headers, route, signal })),
      signal,
      timeout: idleTimeoutMs,
    })
    // The option alone has no effect on a connection of `createConnection`.
    sent.setTimeout(idleTimeoutMs)
    let received: IncomingMessage | undefined
    sent.on('timeout', () =>
      (received ?? sent).destroy(Object.assign(new Error('idle'), { code: IDLE_CODE })),
    )
    // Without this, a connection that changes its protocol ends without a response and without an error.
    sent.on('upgrade', (response, socket) => {
      socket.destroy()
      reject(new FeedFetchError(`${label} responded with status ${response.statusCode}`))
    })
    sent.on('close', () => reject(Object.assign(new Error('closed'), { code: 'ECONNRESET' })))
    // A connection may also fail after the response, which then fails, too.
    sent.on('error', reject)
    sent.on('response', (response) => {
      received = response
      const refusal = route && findRefusal(response.statusCode, response.headers)
      if (refusal === undefined) return resolve(response)
      discard(response)
      reject(refusal)
    })
    sent.end()
  })
}

function toProxyOptions(
  url: URL,
  { headers, route, signal }: Readonly<{ headers: RequestHeaders; route: ProxyRoute; signal: AbortSignal }>,
): HttpOptions {
  return {
    path: route.pathPrefix + url.pathname + url.search,
    headers: { connection: 'close', ...headers, ...route.headers },
    createConnection(_options, callback) {
      route.connect(callback, signal)
      return undefined
    },
  }
}

/** @throws FeedFetchError for a target that is less safe than the address */
export function toRedirectTarget(url: URL, location: string | undefined, label: string): URL {
  const target = location === undefined ? undefined : parseUrl(location, url)
  if (target === undefined || !/^https?:$/.test(target.protocol))
    throw new FeedFetchError(`${label} redirects to something that is not a web address`)
  if (url.protocol === 'https:' && target.protocol === 'http:')
    throw new FeedFetchError(`${label} redirects from https to http, which is not protected against changes`)
  return target
}

/** Close a response that is not read. */
export function discard(response: IncomingMessage): void {
  response.on('error', () => {}).destroy()
}
