import { type ErrorRequestHandler, Router } from 'express'
import type { Context } from '../context.ts'
import { UnknownAddressError } from '../errors.ts'
import { type Headers, sendAnswer } from '../http/answer.ts'
import { findChannelId } from '../http/cache-tags.ts'
import { createEtag } from '../http/etag.ts'
import { takenInHeaderList, toFragmentPolicy } from '../http/security-headers.ts'
import { toFailureForm, toFailureStatus, toKnownError } from './failure-forms.ts'
import { noteFailure } from './note-answer.ts'
import { renderView, toEmptyHeaders } from './widget-answer.ts'
import { type SendWidget, createWidgetRoutes } from './widget-routes.ts'
import { createWidgetSender } from './widget-sender.ts'

const EMPTY: Buffer = Buffer.alloc(0)

/**
 * `/fragments/…`: HTML for server-side includes. The same bytes whatever the visitor's headers are, never compressed,
 * never chunked, never redirected; nothing to show is 200 with zero bytes (product.md, section 5).
 */
export function createFragmentsRouter(context: Context, send: SendWidget): Router {
  const router = Router()
  router.use(createWidgetRoutes(context, 'fragment', send))
  router.use('/fragments', () => {
    throw new UnknownAddressError('no such fragment')
  })
  router.use('/fragments', createFragmentErrorHandler(context, toCommonHeaders(context)))
  return router
}

/** Makes the sender of fragments. */
export function createFragmentSender(context: Context): SendWidget {
  const common = toCommonHeaders(context)
  return createWidgetSender(context, {
    surface: 'fragment',
    isEncoded: false,
    toHeaders: () => common,
    createMaker: ({ kind }) => ({
      toEtag: (view) => (view === undefined ? null : createEtag(view, context.version)),
      render: (view) =>
        Promise.resolve({
          identity: Buffer.from(renderView(context, kind, view)),
          gzip: EMPTY,
          brotli: EMPTY,
        }),
    }),
  })
}

function toCommonHeaders({ ownOrigin }: Context): Headers {
  return {
    ...takenInHeaderList,
    'Access-Control-Allow-Origin': '*',
    'Content-Security-Policy': toFragmentPolicy(ownOrigin),
  }
}

/** A mistake in a template is one HTML comment; everything else is nothing at all. */
function createFragmentErrorHandler(context: Context, common: Headers): ErrorRequestHandler {
  // oxlint-disable-next-line max-params -- Express knows an error handler by its four parameters
  return (failure: unknown, request, response, next) => {
    if (response.headersSent) return next(failure)
    const error = toKnownError(failure, request.path)
    const form = toFailureForm(error, 'fragment')
    noteFailure(context, { error, surface: 'fragment', state: form.state, request, response })
    const headers = {
      ...toEmptyHeaders(context, { ...form, channelId: findChannelId(request.path) }),
      ...common,
    }
    const body = form.form === 'mistake' ? Buffer.from(`<!-- Vitrine: ${form.message ?? ''} -->`) : EMPTY
    const status = toFailureStatus(form, error, request)
    sendAnswer(request, response, { status, headers, etag: null, getBody: () => body })
  }
}
