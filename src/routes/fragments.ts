import type { Context } from '../context.ts'
import type { Headers } from '../http/response.ts'
import { crossOriginHeaders, toFragmentPolicy } from '../http/security-headers.ts'
import type { FailureResponse } from './failures.ts'
import {
  HTML_TYPE,
  WIDGET_PATHS,
  type WidgetSurface,
  createWidgetSurface,
  renderView,
} from './widget-routes.ts'

/** Create the addresses `/fragments/…` for includes. The bytes never depend on request headers; hidden is 200 without bytes. */
export function createFragmentsSurface(context: Context): WidgetSurface {
  const headers: Headers = {
    ...crossOriginHeaders,
    'Access-Control-Allow-Origin': '*',
    'Content-Security-Policy': toFragmentPolicy(context.pageSources),
  }
  return createWidgetSurface(context, {
    surface: 'fragment',
    prefix: '/fragments',
    paths: WIDGET_PATHS,
    contentType: HTML_TYPE,
    toHeaders: () => headers,
    toEtag: (digest, isShown) => (isShown ? `"${digest}"` : null),
    isCompressed: false,
    render: (view) => renderView(context, view),
    renderFailure: toFailureComment,
  })
}

/** Explain a wrong address to the author of the page; readers see nothing. */
export function toFailureComment({ body, message }: FailureResponse): string {
  return body === 'message' ? `<!-- Vitrine: ${message ?? ''} -->` : ''
}
