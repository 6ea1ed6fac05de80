import type { Context } from '../context.ts'
import { dataHeaders } from '../http/security-headers.ts'
import type { DealsData, NotShownJson, PicksData, WhereToBuyData } from '../widgets/json-types.ts'
import type { AnyView } from '../widgets/view-models.ts'
import { toWidgetJson } from '../widgets/json.ts'
import type { AnyWidget } from '../widgets/widgets.ts'
import type { SurfaceOptions } from './prepare-response.ts'
import {
  WIDGET_PATHS,
  type WidgetSurface,
  createClosedSurface,
  createWidgetSurface,
  toWeakEtag,
} from './widget-routes.ts'

/** Readers of the data need to know that the next request may succeed. */
const UNAVAILABLE_REASON = 'The data cannot be read now. Keep the last copy, and try again.'

/** Create the addresses `/data/…`: the views of the widgets as JSON. Data that are hidden or unavailable are no error. */
export function createDataSurface(context: Context): WidgetSurface {
  const options: SurfaceOptions = {
    surface: 'data',
    prefix: '/data',
    paths: WIDGET_PATHS,
    contentType: 'application/json; charset=utf-8',
    toHeaders: () => dataHeaders,
    toEtag: toWeakEtag,
    isCompressed: true,
    render: toJsonText,
    renderFailure({ state, body, message }) {
      const reason = message ?? UNAVAILABLE_REASON
      const notShown: NotShownJson =
        body === 'message'
          ? { state: 'invalid', reason }
          : { state: 'hidden', isTemporary: state === 'unavailable', reason }
      return JSON.stringify(notShown)
    },
  }
  return context.config.isJsonOpen
    ? createWidgetSurface(context, options)
    : createClosedSurface(
        context,
        options,
        'The JSON addresses are closed. The setting VITRINE_JSON=on opens them.',
      )
}

function toJsonText(view: AnyView | undefined, widget: AnyWidget): string {
  const json: WhereToBuyData | PicksData | DealsData =
    view === undefined
      ? { state: 'hidden', isTemporary: false, reason: widget.explainHidden() }
      : toWidgetJson(view, widget.explainMissing())
  return JSON.stringify(json)
}
