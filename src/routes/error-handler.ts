import type { ErrorRequestHandler, RequestHandler } from 'express'
import type { Context } from '../context.ts'
import { UnknownAddressError } from '../errors.ts'
import { toRefusalHeaders } from '../http/refusals.ts'
import { createOwnPageHeaders } from '../http/security-headers.ts'
import { toFailureForm, toKnownError } from './failure-forms.ts'
import { getRequestId, noteFailure } from './note-answer.ts'

/** Refuse an address that no router knows. */
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
