import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express'
import type { Context } from '../context.ts'
import { UnknownAddressError } from '../errors.ts'
import { type Refusal, formatWidgetRefusal, sendRefusal, toRefusalHeaders } from '../http/refusals.ts'
import { createOwnPageHeaders } from '../http/security-headers.ts'
import { toFailureForm, toKnownError } from './failure-forms.ts'
import { getRequestId, noteFailure } from './note-answer.ts'

/** GET and HEAD only, everywhere. */
export const refuseOtherMethods: RequestHandler = (request, response, next) => {
  if (request.method === 'GET' || request.method === 'HEAD') return next()
  response.set('Allow', 'GET, HEAD')
  refuse(request, response, { status: 405, message: 'Only GET and HEAD are answered here.' })
}

/** Longest address that is answered, in characters: options are short, and a longer one is nobody's page. */
const MAX_ADDRESS_CHARACTERS = 2_048

/** Looks at the length of an address before anything reads it. */
export const refuseLongAddresses: RequestHandler = (request, response, next) => {
  if (request.originalUrl.length <= MAX_ADDRESS_CHARACTERS) return next()
  refuse(request, response, {
    status: 414,
    message: `An address has at most ${MAX_ADDRESS_CHARACTERS} characters here.`,
  })
}

/**
 * Refuse a request target with a "#": caches end the query there, or do not. Neither the hot cache nor the plain addresses
 * know such a target, so that it always arrives here.
 */
export const refuseFragmentTargets: RequestHandler = (request, response, next) => {
  if (!request.originalUrl.includes('#')) return next()
  refuse(request, response, {
    status: 400,
    message: 'The address of a request has no "#". Write %23 for one inside a value.',
  })
}

function refuse(request: Request, response: Response, refusal: Refusal): void {
  sendRefusal(request, response, { refusal, format: formatWidgetRefusal, target: request.path })
}

/** Whatever no router knew. */
export const throwUnknownAddress: RequestHandler = () => {
  throw new UnknownAddressError('no such address')
}

/** The last handler: a short readable page for everything outside of fragments and embeds. */
export function createErrorHandler(context: Context): ErrorRequestHandler {
  const ownPageHeaders = createOwnPageHeaders(context.ownOrigin)
  // oxlint-disable-next-line max-params -- Express knows an error handler by its four parameters
  return (failure: unknown, request, response, _next) => {
    const error = toKnownError(failure, '')
    const form = toFailureForm(error, 'page')
    noteFailure(context, { error, surface: 'page', state: form.state, request, response })
    // Express's own handler would print on standard error, past the log.
    if (response.headersSent) {
      response.destroy()
      return
    }
    ownPageHeaders(request, response, () => {
      const styles = [`${context.publicUrl}${context.assets.get('studio.css').path}`]
      const view = { title: 'Nothing here', message: form.message ?? '', styles, frameScript: null }
      response.status(form.status).set(toRefusalHeaders(view.message))
      response.set({ 'Vitrine-State': form.state, 'Vitrine-Request-Id': getRequestId(response) })
      response.type('html').send(context.renderer.renderMistake(view))
    })
  }
}
