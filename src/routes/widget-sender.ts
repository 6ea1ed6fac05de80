import type { Context } from '../context.ts'
import type { Headers } from '../http/answer.ts'
import { type Encoding, chooseEncoding } from '../http/encodings.ts'
import { isNoneMatch } from '../http/etag.ts'
import { type Form, sendForm } from '../http/forms.ts'
import type { ReadyAnswer } from '../http/hot-cache.ts'
import type { Surface } from '../widgets/options.ts'
import { findQuery, hasEncodedOptionName } from '../widgets/query.ts'
import { noteAnswer } from './note-answer.ts'
import {
  type AnswerMaker,
  type AnyWidget,
  type Outfit,
  getMade,
  isMade,
  keepWarm,
  makeUnmade,
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
  const prepare = createPreparing(context, details)
  return async ({ request, response, widget }) => {
    const prepared = await prepare(widget, request.headers['if-none-match'])
    const { outfit, forms } = prepared
    const { answer, surface } = outfit
    const noted = { surface: `${surface} ${widget.kind}`, state: answer.state, cache: widget.status }
    noteAnswer(context, { ...noted, request, response })
    const encoding = details.isEncoded ? chooseEncoding(request.headers['accept-encoding']) : null
    const form = forms.get(encoding) ?? toForm(outfit, encoding)
    forms.set(encoding, form)
    const isStorable = !hasEncodedOptionName(findQuery(request.originalUrl))
    const cacheControl = isStorable ? form.cacheControl : 'no-store'
    sendForm(request, response, { etag: answer.etag, form, cacheControl, nowMs: context.clock.nowMs() })
    // Behind, and once: those who wait have waited long enough.
    if (prepared.isKept || !isStorable) return
    prepared.isKept = true
    try {
      keepWarm(context, outfit, request)
    } catch (error) {
      // The visitor has his answer: this is nobody's failure but ours.
      context.logger.error({ err: error }, 'an answer could not be kept warm: a bug')
    }
  }
}

/** An answer with its header blocks, by encoding: those that were asked for. */
type Prepared = { readonly outfit: Outfit; readonly forms: Map<Encoding, Form>; isKept: boolean }

/** Visitors who came together have one widget: its answer and header blocks are put together once for all of them. */
function createPreparing(
  context: Context,
  { surface, createMaker, toHeaders }: SurfaceDetails,
): (widget: AnyWidget, known: string | undefined) => Prepared | Promise<Prepared> {
  const prepared = new WeakMap<AnyWidget, Promise<Prepared>>()
  /** For visitors who have it already while nobody has asked for its bytes. */
  const unmade = new WeakMap<AnyWidget, Prepared>()
  const dress = (widget: AnyWidget, answer: ReadyAnswer): Prepared => {
    const shared = toWidgetHeaders(context, widget, answer.state)
    return {
      outfit: {
        surface,
        widget,
        answer,
        toHeaders: (encoding) => ({ ...shared, ...toHeaders(widget, encoding) }),
      },
      forms: new Map(),
      isKept: false,
    }
  }
  const make = async (widget: AnyWidget): Promise<Prepared> =>
    dress(widget, await getMade(context, createMaker(widget), widget))
  const getUnmade = (widget: AnyWidget): Prepared => {
    const one = unmade.get(widget) ?? dress(widget, makeUnmade(createMaker(widget), widget))
    unmade.set(widget, one)
    return one
  }
  return (widget, known) => {
    if (known !== undefined && !isMade(context, widget)) {
      const one = getUnmade(widget)
      const { etag } = one.outfit.answer
      if (etag !== null && isNoneMatch(known, etag)) return one
    }
    const made = prepared.get(widget) ?? make(widget)
    prepared.set(widget, made)
    return made
  }
}
