import type { IncomingMessage } from 'node:http'
import type { ErrorRequestHandler, RequestHandler } from 'express'
import type { Context } from '../context.ts'
import {
  InvalidGtinError,
  RequestError,
  StoreError,
  UnavailableError,
  UnknownAddressError,
} from '../errors.ts'
import { toRefusalHeaders } from '../http/refusals.ts'
import { createOwnPageHeaders } from '../http/security-headers.ts'
import { isUnreachable } from '../storage/store-failures.ts'
import { getRequestId, logFailure } from './request-log.ts'

/** Where a response goes: into an article, into a frame, or to an operator who looks at this server itself. */
export type FailureSurface = 'fragment' | 'embed' | 'page'

/**
 * How a failure is answered.
 * - `empty`: nothing at all (200, zero bytes; a frame gets an empty document that reports `hidden`)
 * - `message`: the author of a template reads why: a comment in a fragment, a short page elsewhere
 */
export type FailureResponse = Readonly<{
  status: number
  body: 'empty' | 'message'
  state: 'invalid' | 'unavailable'
  /** Cacheable as long as a box; else it may not be stored. */
  isCacheable: boolean
  /** Words for `Vitrine-Error` and for a mistake; `null` where the visitor is told nothing. */
  message: string | null
}>

/**
 * The one table of surface and error: a reader of an article never sees an error; a mistake in a template is named.
 * Anything without a row is a bug: nothing in an article, 500 on a page of our own.
 */
export function toFailureResponse(error: unknown, surface: FailureSurface): FailureResponse {
  if (error instanceof InvalidGtinError) {
    return { status: 200, body: 'empty', state: 'invalid', isCacheable: true, message: error.publicMessage }
  }
  if (error instanceof RequestError) {
    const { statusCode: status, publicMessage: message } = error
    return { status, body: 'message', state: 'invalid', isCacheable: false, message }
  }
  if (surface !== 'page')
    return { status: 200, body: 'empty', state: 'unavailable', isCacheable: false, message: null }
  const isKnown = error instanceof UnavailableError || error instanceof StoreError
  const message = isKnown ? error.publicMessage : 'Something went wrong on this server. Its log says what.'
  return { status: isKnown ? 503 : 500, body: 'message', state: 'unavailable', isCacheable: false, message }
}

/** By this header a proxy says that it has other servers, and would ask one of them in place of one without its database. */
const REQUIRE_HEADER = 'vitrine-require'

/**
 * The status of a failure: 503 where a proxy requires the database and it cannot be reached. One that is only slow is so for
 * every server: asking all of them would make it slower. Readers never see it.
 */
export function computeFailureStatus(
  failure: FailureResponse,
  error: unknown,
  { headers }: Pick<IncomingMessage, 'headers'>,
): number {
  const isDatabaseRequired = headers[REQUIRE_HEADER] === 'database' && failure.state === 'unavailable'
  return isDatabaseRequired && isUnreachable(error) ? 503 : failure.status
}

/**
 * Express reports an address that is no valid percent-encoding as an error with status 400 and without a code. In the
 * place of a GTIN it was typed in a CMS ("50%"), like any other text that is none.
 */
export function normalizeError(error: unknown, path: string): unknown {
  const isMalformed = error instanceof URIError || (error as { status?: unknown } | null)?.status === 400
  if (!isMalformed) return error
  return path.includes('/where-to-buy/')
    ? new InvalidGtinError('the address holds no GTIN')
    : new UnknownAddressError('the address is no valid percent-encoding')
}

/** Refuse an address that no router knows. */
export const throwUnknownAddress: RequestHandler = () => {
  throw new UnknownAddressError('no such address')
}

/** The last handler: a short readable page for everything outside of fragments and embeds. */
export function createErrorHandler(context: Context): ErrorRequestHandler {
  const ownPageHeaders = createOwnPageHeaders(context.ownOrigin)
  // oxlint-disable-next-line max-params -- Express knows an error handler by its four parameters
  return (thrown: unknown, request, response, _next) => {
    const error = normalizeError(thrown, '')
    const failure = toFailureResponse(error, 'page')
    logFailure(context, { error, surface: 'page', state: failure.state, request, response })
    // Express's own handler would print on standard error, past the log.
    if (response.headersSent) {
      response.destroy()
      return
    }
    ownPageHeaders(request, response, () => {
      const styles = [`${context.publicUrl}${context.assets.get('studio.css').path}`]
      const view = { title: 'Nothing here', message: failure.message ?? '', styles, frameScript: null }
      response.status(failure.status).set(toRefusalHeaders(view.message))
      response.set({ 'Vitrine-State': failure.state, 'Vitrine-Request-Id': getRequestId(response) })
      response.type('html').send(context.renderer.renderErrorPage(view))
    })
  }
}
