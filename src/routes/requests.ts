import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Request } from 'express'
import type { Context } from '../context.ts'
import { type Refusal, formatWidgetRefusal, sendRefusal } from '../http/refusals.ts'
import { getQueryString, parseQueryString } from '../widgets/parameters.ts'
import { type LoggedResponse, recordArrivalTime } from './request-log.ts'

/** 20 labels of 40 characters, percent-encoded, fit. Proxies commonly accept as much. */
const MAX_ADDRESS_CHARACTERS = 8_000

const METHOD_NOT_ALLOWED: Refusal = { status: 405, message: 'This server accepts only GET and HEAD.' }
const URI_TOO_LONG: Refusal = {
  status: 414,
  message: `An address may have at most ${MAX_ADDRESS_CHARACTERS} characters.`,
}
/** Caches disagree on whether "#" ends the query. */
const HASH_NOT_ALLOWED: Refusal = {
  status: 400,
  message: 'An address must not contain "#". Write %23 for a "#" inside a value.',
}

/** A request with its target as received, and `url` without the path prefix. Requests of Express are such, too. */
export type CheckedRequest = IncomingMessage & { url: string; originalUrl: string }
export type Exchange = Readonly<{ request: CheckedRequest; response: LoggedResponse }>

/** Create the first check: it records the arrival, removes the path prefix, and refuses invalid requests: `undefined`. */
export function createRequestCheck(
  context: Context,
): (request: IncomingMessage, response: ServerResponse) => Exchange | undefined {
  const removePrefix = createPrefixRemover(context.publicUrl)
  return (request, response) => {
    const originalUrl = request.url ?? ''
    const exchange = {
      request: Object.assign(request, { originalUrl, url: removePrefix(originalUrl) }),
      response: recordArrivalTime(context, response),
    }
    const refusal = findRefusal(exchange.request)
    if (refusal === undefined) return exchange
    if (refusal === METHOD_NOT_ALLOWED) response.setHeader('Allow', 'GET, HEAD')
    sendRefusal(request, response, { refusal, format: formatWidgetRefusal, target: exchange.request.url })
    return undefined
  }
}

function findRefusal({ method, originalUrl }: CheckedRequest): Refusal | undefined {
  if (method !== 'GET' && method !== 'HEAD') return METHOD_NOT_ALLOWED
  if (originalUrl.length > MAX_ADDRESS_CHARACTERS) return URI_TOO_LONG
  return originalUrl.includes('#') ? HASH_NOT_ALLOWED : undefined
}

/** First segments of all addresses of this server. */
export const FIRST_SEGMENTS = [
  'fragments',
  'embeds',
  'data',
  'mail',
  'feeds',
  'assets',
  'accents',
  'logos',
  'pictures',
  'go',
  'demo',
  'studio',
  'oembed',
  'metrics',
  'embed.js',
  'events.atom',
  'openapi.json',
  'favicon.ico',
  'healthz',
  'readyz',
] as const

/** What may follow a prefix: a path of this server, or nothing. */
const OWN_ADDRESS = new RegExp(
  String.raw`^(?:\/(?:${FIRST_SEGMENTS.join('|').replaceAll('.', String.raw`\.`)})(?=[/?]|$)|\/?(?:\?|$))`,
)

/** Create a function that removes the path of `VITRINE_PUBLIC_URL`, at most once, if the proxy forwards it. */
function createPrefixRemover(publicUrl: string): (address: string) => string {
  const prefix = new URL(publicUrl).pathname.replace(/\/$/, '')
  if (prefix === '') return (address) => address
  return (address) => {
    const path = removeOrigin(address)
    const rest = path.startsWith(prefix) ? path.slice(prefix.length) : undefined
    if (rest === undefined || !OWN_ADDRESS.test(rest)) return address
    return rest.startsWith('/') ? rest : `/${rest}`
  }
}

/** A proxy may send the absolute form of a target (RFC 9112, 3.2.2). */
function removeOrigin(target: string): string {
  return target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?#]*/i, '')
}

/** Return the path of a request, without the prefix of this server. */
export function getPath({ url }: CheckedRequest): string {
  const [path = ''] = removeOrigin(url).split('?', 1)
  return path
}

/** Return a path parameter, with wildcard parts joined; empty if it is missing. */
export function getParameter(parameters: Partial<Request['params']>, name: string): string {
  return [parameters[name] ?? []].flat().join('/')
}

/** Parse the original query string. */
export function parseQuery(request: Pick<Request, 'originalUrl'>): URLSearchParams {
  return parseQueryString(getQueryString(request.originalUrl))
}
