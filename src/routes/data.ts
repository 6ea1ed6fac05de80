import type { Router } from 'express'
import type { Context } from '../context.ts'
import { crossOriginHeaders, emptyPolicy } from '../http/security-headers.ts'
import type {
  DealsData,
  DealsJson,
  NotShownJson,
  PicksData,
  PicksJson,
  WhereToBuyData,
  WhereToBuyJson,
} from '../widgets/json-types.ts'
import { toBoxJson, toDealsJson, toPicksJson } from '../widgets/json.ts'
import {
  type AnyView,
  type AnyWidget,
  type SurfaceDetails,
  WIDGET_PATHS,
  createClosedRouter,
  createWidgetRouter,
  encodeTemplate,
} from './widget-routes.ts'

/** Readers of the data need to know that the next request may succeed. */
const UNAVAILABLE_REASON = 'The data cannot be read now. Keep the last copy, and try again.'

/** Create the routes `/data/…`: the views of the widgets as JSON. Data that are hidden or unavailable are no error. */
export function createDataRouter(context: Context): Router {
  const headers = {
    ...crossOriginHeaders,
    'Access-Control-Allow-Origin': '*',
    'Content-Security-Policy': emptyPolicy,
    'X-Robots-Tag': 'noindex',
    Vary: 'Accept-Encoding',
  }
  const details: SurfaceDetails = {
    surface: 'data',
    prefix: '/data',
    paths: WIDGET_PATHS,
    contentType: 'application/json; charset=utf-8',
    toHeaders: () => headers,
    toEtag: (digest) => `W/"${digest}"`,
    render: (view, widget) => encodeTemplate(toJsonText(view, widget)),
    renderFailure({ state, message }) {
      const notShown: NotShownJson = { state, reason: message ?? UNAVAILABLE_REASON }
      return JSON.stringify(notShown)
    },
  }
  return context.config.isJsonOpen
    ? createWidgetRouter(context, details)
    : createClosedRouter(
        context,
        details,
        'The JSON addresses are closed. The setting VITRINE_JSON=on opens them.',
      )
}

function toJsonText(view: AnyView | undefined, widget: AnyWidget): string {
  const json: WhereToBuyData | PicksData | DealsData =
    view === undefined
      ? { state: 'hidden', reason: widget.hiddenReason }
      : toShownJson(view, widget.missingReason)
  return JSON.stringify(json)
}

function toShownJson(view: AnyView, reason: string | null): WhereToBuyJson | PicksJson | DealsJson {
  if ('deals' in view) return toDealsJson(view, reason)
  return 'products' in view ? toPicksJson(view, reason) : toBoxJson(view, reason)
}
