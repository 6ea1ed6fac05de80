import type { Context } from '../context.ts'
import { type Form, type Headers, sendForm } from '../http/answer.ts'
import { type Encoding, chooseEncoding } from '../http/encodings.ts'
import type { ReadyAnswer } from '../http/hot-cache.ts'
import type { Surface } from '../widgets/options.ts'
import {
  type AnswerMaker,
  type AnyWidget,
  type Outfit,
  getReadyAnswer,
  keepWarm,
  toForm,
  toWidgetHeaders,
} from './widget-answer.ts'
import type { SendWidget } from './widget-routes.ts'

/** How one surface makes and sends widgets. */
export type SurfaceDetails = Readonly<{
  surface: Surface
  createMaker(widget: AnyWidget): AnswerMaker
  /** Headers beside those that say the state of a widget. */
  toHeaders(widget: AnyWidget, encoding: Encoding): Headers
  /** A fragment is never encoded. */
  isEncoded: boolean
}>

/** Makes the sender of one surface. */
export function createWidgetSender(context: Context, details: SurfaceDetails): SendWidget {
  const dress = createDressing(context, details)
  return async ({ request, response, widget }) => {
    const answer = await getReadyAnswer(context, details.createMaker(widget), { widget, request, response })
    const { outfit, forms } = dress(widget, answer)
    keepWarm(context, outfit, request)
    const encoding = details.isEncoded ? chooseEncoding(request.headers['accept-encoding']) : null
    const form = forms.get(encoding) ?? toForm(outfit, encoding)
    forms.set(encoding, form)
    sendForm(request, response, { etag: answer.etag, form })
  }
}

type Dressed = Readonly<{ outfit: Outfit; forms: Map<Encoding, Form> }>

/** Visitors who came together have one widget: its header blocks are put together once for all of them. */
function createDressing(
  context: Context,
  { surface, toHeaders }: SurfaceDetails,
): (widget: AnyWidget, answer: ReadyAnswer) => Dressed {
  const dressed = new WeakMap<AnyWidget, Dressed>()
  return (widget, answer) => {
    const known = dressed.get(widget)
    if (known?.outfit.answer === answer) return known
    const shared = toWidgetHeaders(context, widget, answer.state)
    const outfit: Outfit = {
      surface,
      widget,
      answer,
      toHeaders: (encoding) => ({ ...shared, ...toHeaders(widget, encoding) }),
    }
    const fresh = { outfit, forms: new Map<Encoding, Form>() }
    dressed.set(widget, fresh)
    return fresh
  }
}
