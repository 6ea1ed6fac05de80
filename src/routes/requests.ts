import type { Request, RequestHandler } from 'express'
import type { Context } from '../context.ts'
import { type Refusal, formatWidgetRefusal, sendRefusal } from '../http/refusals.ts'
import { getQueryString, parseQueryString } from '../widgets/parameters.ts'
import { recordArrivalTime } from './request-log.ts'

/** Longest address that is answered, in characters: options are short, and no page needs a longer one. */
const MAX_ADDRESS_CHARACTERS = 2_048

const METHOD_NOT_ALLOWED: Refusal = { status: 405, message: 'Only GET and HEAD are answered here.' }
const URI_TOO_LONG: Refusal = {
  status: 414,
  message: `An address has at most ${MAX_ADDRESS_CHARACTERS} characters here.`,
}
/** Some caches end the query at a "#", and others do not. */
const HASH_NOT_ALLOWED: Refusal = {
  status: 400,
  message: 'The address of a request has no "#". Write %23 for one inside a value.',
}

/** Create the first handler: it notes the arrival, takes the prefix off the address, and refuses what no route may see. */
export function createRequestCheck(context: Context): RequestHandler {
  const removePrefix = createPrefixRemover(context.publicUrl)
  return (request, response, next) => {
    recordArrivalTime(context, response)
    request.url = removePrefix(request.url)
    const refusal = findRefusal(request)
    if (refusal === undefined) return next()
    if (refusal === METHOD_NOT_ALLOWED) response.set('Allow', 'GET, HEAD')
    sendRefusal(request, response, { refusal, format: formatWidgetRefusal, target: request.path })
  }
}

function findRefusal({ method, originalUrl }: Request): Refusal | undefined {
  if (method !== 'GET' && method !== 'HEAD') return METHOD_NOT_ALLOWED
  if (originalUrl.length > MAX_ADDRESS_CHARACTERS) return URI_TOO_LONG
  return originalUrl.includes('#') ? HASH_NOT_ALLOWED : undefined
}

/** What stands behind a prefix: an address of this server, or nothing. */
const OWN_ADDRESS =
  /^(?:\/(?:fragments|embeds|assets|accents|go|demo|studio|oembed|metrics|embed\.js|favicon\.ico|healthz|readyz)(?=[/?]|$)|\/?(?:\?|$))/

/**
 * Create the function that takes the path of `VITRINE_PUBLIC_URL` off an address where the proxy in front has left it on. A prefix
 * that is named like an address of ours is taken off once at most.
 */
function createPrefixRemover(publicUrl: string): (address: string) => string {
  const prefix = new URL(publicUrl).pathname.replace(/\/$/, '')
  if (prefix === '') return (address) => address
  return (address) => {
    // A proxy may name the whole address (RFC 9112, section 3.2.2).
    const path = address.replace(/^https?:\/\/[^/?#]*/i, '')
    const rest = path.startsWith(prefix) ? path.slice(prefix.length) : undefined
    if (rest === undefined || !OWN_ADDRESS.test(rest)) return address
    return rest.startsWith('/') ? rest : `/${rest}`
  }
}

/** Return one named part of a path; the parts of a wildcard are joined again, and a missing one is empty. */
export function getParameter(parameters: Partial<Request['params']>, name: string): string {
  return [parameters[name] ?? []].flat().join('/')
}

/** Parse the query string as it was sent; Express does not read it. */
export function parseQuery(request: Pick<Request, 'originalUrl'>): URLSearchParams {
  return parseQueryString(getQueryString(request.originalUrl))
}
