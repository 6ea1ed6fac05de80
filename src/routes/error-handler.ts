import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express'
import type { Context } from '../context.ts'
import { UnknownAddressError } from '../errors.ts'
import { toCacheStatus } from '../http/cache-headers.ts'
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

/** What is refused unread: a comment in a fragment, a line of text elsewhere. A body that may follow is not waited for. */
function refuse(
  request: Request,
  response: Response,
  refusal: Readonly<{ status: number; message: string }>,
): void {
  const isFragment = /^\/fragments(?:\/|$)/i.test(request.path)
  response.status(refusal.status)
  response.set({
    ...toRefusalHeaders(refusal.message),
    'X-Content-Type-Options': 'nosniff',
    Connection: 'close',
  })
  if (isFragment) response.set('Access-Control-Allow-Origin', '*')
  response.type(isFragment ? 'html' : 'text')
  response.send(isFragment ? `<!-- Vitrine: ${refusal.message} -->` : `${refusal.message}\n`)
}

function toRefusalHeaders(message: string): Record<string, string> {
  return {
    'Cache-Control': 'no-store',
    'Cache-Status': toCacheStatus('invalid'),
    'Vitrine-State': 'invalid',
    'Vitrine-Error': message,
    'X-Robots-Tag': 'noindex, nofollow',
  }
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
