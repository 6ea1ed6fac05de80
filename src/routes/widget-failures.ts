import type { ErrorRequestHandler } from 'express'
import type { Channel } from '../catalog/contract.ts'
import type { Context } from '../context.ts'
import { findChannelId, toCacheControl, toCacheStatus, toCacheTags } from '../http/cache-headers.ts'
import { type Headers, sendResponse, toHeaderText } from '../http/response.ts'
import type { Surface } from '../widgets/options.ts'
import { getQueryString } from '../widgets/parameters.ts'
import { type FailureResponse, computeFailureStatus, normalizeError, toFailureResponse } from './failures.ts'
import { logFailure } from './request-log.ts'

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

/** Create the error handler of a surface. Readers see nothing; the author of the page reads the cause of a wrong address. */
export function createWidgetErrorHandler(context: Context, options: FailureOptions): ErrorRequestHandler {
  const { surface } = options
  // oxlint-disable-next-line max-params -- Express knows an error handler by its four parameters
  return async (thrown: unknown, request, response, next) => {
    if (response.headersSent) return next(thrown)
    const error = normalizeError(thrown, request.path)
    const failure = toFailureResponse(error, surface)
    logFailure(context, { error, surface, state: failure.state, request, response })
    const channelId = findChannelId(request.path)
    // A browser shows a refused frame as an error, so the channel may frame failures, too.
    const channel = (channelId && (await context.channels.findChannel(channelId))) || null
    const failed = { channelId: channelId ?? '', query: getQueryString(request.originalUrl), channel }
    sendResponse(request, response, {
      status: computeFailureStatus(failure, error, request),
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
