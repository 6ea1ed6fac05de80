import type { IncomingMessage } from 'node:http'
import type { ErrorRequestHandler, RequestHandler } from 'express'
import type { Channel } from '../catalog/contract.ts'
import type { Context } from '../context.ts'
import {
  GtinCountError,
  InvalidGtinError,
  RequestError,
  StoreError,
  UnavailableError,
  UnknownAddressError,
} from '../errors.ts'
import type { AdminAuth } from '../http/admin-auth.ts'
import { findChannelId, toCacheControl, toCacheStatus, toCacheTags } from '../http/cache-headers.ts'
import { toRefusalHeaders } from '../http/refusals.ts'
import { HTML_TYPE, sendResponse, type Headers, toHeaderText } from '../http/response.ts'
import { createOwnPageHeaders } from '../http/security-headers.ts'
import { isUnreachable } from '../database/failures.ts'
import type { Surface } from '../widgets/options.ts'
import { getQueryString } from '../widgets/parameters.ts'
import { getRequestId, logFailure } from './request-log.ts'
import type { Exchange } from './requests.ts'

/** `page`: a page of this server, outside of articles. */
export type FailureSurface = Surface | 'page'

/** `empty`: zero bytes, or a document that reports `hidden`. `message`: the author of the page reads the cause. */
export type FailureResponse = Readonly<{
  status: number
  body: 'empty' | 'message'
  state: 'invalid' | 'unavailable'
  /** `false`: `no-store`. */
  isCacheable: boolean
  /** Text for `Vitrine-Error` and the body; `null`: none. */
  message: string | null
}>

/** Map an error to a response. Articles show only a `RequestError`, for their author. Other unknown errors are bugs. */
export function toFailureResponse(error: unknown, surface: FailureSurface): FailureResponse {
  // CMS input: readers see nothing.
  if (error instanceof InvalidGtinError || error instanceof GtinCountError) {
    return { status: 200, body: 'empty', state: 'invalid', isCacheable: true, message: error.publicMessage }
  }
  if (error instanceof RequestError) {
    const { statusCode: status, publicMessage: message } = error
    return { status, body: 'message', state: 'invalid', isCacheable: false, message }
  }
  if (surface !== 'page')
    return { status: 200, body: 'empty', state: 'unavailable', isCacheable: false, message: null }
  const isKnown = error instanceof UnavailableError || error instanceof StoreError
  const message = isKnown ? error.publicMessage : 'Something went wrong on this server. See the server log.'
  return { status: isKnown ? 503 : 500, body: 'message', state: 'unavailable', isCacheable: false, message }
}

/** A proxy sends this header if it can retry a request on another server. */
const REQUIRE_HEADER = 'vitrine-require'

/** Return 503 if a proxy retries the request on another server. */
function computeStatus(
  { state, status }: FailureResponse,
  error: unknown,
  request: Pick<IncomingMessage, 'headers'>,
): number {
  return state === 'unavailable' && isRetriedElsewhere(error, request) ? 503 : status
}

/** Whether a proxy retries a failed request on another server: the database is unreachable. A slow one is slow for all servers. */
export function isRetriedElsewhere(error: unknown, { headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return headers[REQUIRE_HEADER] === 'database' && isUnreachable(error)
}

/** Convert errors about invalid percent-encoding in a path. In a GTIN it is text from a CMS, such as "50%". */
export function normalizeError(error: unknown, path: string): unknown {
  const isMalformed = error instanceof URIError || (error as { status?: unknown } | null)?.status === 400
  if (!isMalformed) return error
  return /\/(?:where-to-buy|picks)\//.test(path)
    ? new InvalidGtinError('invalid GTIN in the address')
    : new UnknownAddressError('invalid percent-encoding in the address')
}

export const throwUnknownAddress: RequestHandler = () => {
  throw new UnknownAddressError('no such address')
}

/**
 * Create the last error handler: a short page for everything except widgets. It links to the studio where
 * that is open. It never checks a password: other servers pass theirs on, and wrong ones lock an address.
 */
export function createErrorHandler(
  context: Context,
  { findOpenStudioUrl }: Pick<AdminAuth, 'findOpenStudioUrl'>,
): ErrorRequestHandler {
  const ownPageHeaders = createOwnPageHeaders(context.pageSources)
  // oxlint-disable-next-line max-params -- Express knows an error handler by its four parameters
  return (thrown: unknown, request, response, _next) => {
    const error = normalizeError(thrown, '')
    const failure = toFailureResponse(error, 'page')
    logFailure(context, { error, surface: 'page', state: failure.state, request, response })
    // The handler of Express would print to standard error, bypassing the log.
    if (response.headersSent) {
      response.destroy()
      return
    }
    ownPageHeaders(request, response, () => {
      const styles = [`${context.publicUrl}${context.assets.get('studio.css').path}`]
      const view = {
        title: 'This page cannot be shown',
        message: failure.message ?? '',
        styles,
        frameScript: null,
        studioUrl: findOpenStudioUrl(request),
      }
      sendResponse(request, response, {
        status: failure.status,
        headers: {
          ...toRefusalHeaders(view.message),
          'Vitrine-State': failure.state,
          'Vitrine-Request-Id': getRequestId(response),
          'Content-Type': HTML_TYPE,
        },
        body: context.renderer.renderErrorPage(view),
      })
    })
  }
}

/** End an exchange after a bug: nothing can be sent. */
export function abandonExchange(
  context: Context,
  exchange: Exchange,
  bug: Readonly<{ error: unknown; surface: FailureSurface }>,
): void {
  logFailure(context, { ...bug, state: 'unavailable', ...exchange })
  exchange.response.destroy()
}

/** How a surface reports failures. */
export type FailureOptions = Readonly<{
  surface: Surface
  contentType: string
  /** Type of what explains a wrong address; absent: the same. */
  messageType?: string
  /** Headers of all responses, besides those about the state of a widget. */
  toHeaders(channelUrl: string | null): Headers
  renderFailure(failure: FailureResponse, failed: FailedRequest): string
}>

/** `channel`: `null` if it is unknown. */
export type FailedRequest = Readonly<{ channelId: string; query: string; channel: Channel | null }>

/** A request to a surface. `path`: below its prefix. */
export type SurfaceExchange = Exchange & Readonly<{ path: string }>

/**
 * Create the function that reports failures of a surface. Readers see nothing; the author of the page reads the cause of a wrong
 * address.
 */
export function createFailureSender(
  context: Context,
  options: FailureOptions,
): (thrown: unknown, exchange: SurfaceExchange) => Promise<void> {
  const { surface } = options
  return async (thrown, { request, response, path }) => {
    if (response.headersSent) throw thrown
    const error = normalizeError(thrown, path)
    const failure = toFailureResponse(error, surface)
    logFailure(context, { error, surface, state: failure.state, request, response })
    const channelId = findChannelId(path)
    // A browser shows a refused frame as an error, so the channel may frame failures, too.
    const channel = (channelId && (await context.channels.findChannel(channelId))) || null
    const failed = { channelId: channelId ?? '', query: getQueryString(request.originalUrl), channel }
    sendResponse(request, response, {
      status: computeStatus(failure, error, request),
      headers: {
        ...toFailureHeaders(context, failure, channelId),
        'Content-Type': (failure.body === 'message' ? options.messageType : undefined) ?? options.contentType,
        ...options.toHeaders(channel?.url ?? null),
      },
      body: options.renderFailure(failure, failed),
    })
  }
}

function toFailureHeaders(
  { clock, config }: Context,
  { state, isCacheable, message }: FailureResponse,
  channelId: string | null,
): Headers {
  const nowMs = clock.nowMs()
  const { priceMaxAgeSeconds, cacheTagHeader } = config
  const { freshSeconds } = config.freshness
  const lifetime = {
    asOfMs: nowMs,
    oldestPriceMs: null,
    saleEndMs: null,
    freshSeconds,
    priceMaxAgeSeconds,
    isGrid: true,
  }
  return {
    'Cache-Control': isCacheable ? toCacheControl(lifetime, nowMs) : 'no-store',
    'Vitrine-State': state,
    'Vitrine-Error': message === null ? undefined : toHeaderText(message),
    'Cache-Status': toCacheStatus(state === 'invalid' ? 'invalid' : 'unavailable'),
    // Responses that are not cached need no purge tags.
    ...(isCacheable && toCacheTags(cacheTagHeader, { channelId, gtins: [], isGrid: false })),
  }
}
