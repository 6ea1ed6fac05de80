import type { Router } from 'express'
import type { Context } from '../context.ts'
import { type Headers, toByteString } from '../http/response.ts'
import { crossOriginHeaders, toFragmentPolicy } from '../http/security-headers.ts'
import { createWidgetRouter, renderView } from './widget-routes.ts'

/**
 * `/fragments/…`: HTML for server-side includes. The same bytes whatever the visitor's headers are, never compressed,
 * never chunked, never redirected; nothing to show is 200 with zero bytes (product.md, section 5).
 */
export function createFragmentsRouter(context: Context): Router {
  const headers: Headers = {
    ...crossOriginHeaders,
    'Access-Control-Allow-Origin': '*',
    'Content-Security-Policy': toFragmentPolicy(context.ownOrigin),
  }
  return createWidgetRouter(context, {
    surface: 'fragment',
    toHeaders: () => headers,
    toEtag: (digest, isShown) => (isShown ? `"${digest}"` : null),
    render: (widget, view) => ({ identity: toByteString(renderView(context, widget, view)) }),
    renderFailure: ({ body, message }) => (body === 'message' ? `<!-- Vitrine: ${message ?? ''} -->` : ''),
  })
}
