import type { Context } from '../context.ts'
import { type Answer, type AskedRequest, type WidgetState } from '../http/answer.ts'
import { type EncodedBody, type Encoding, pickBody, toOwnMemory } from '../http/encodings.ts'
import { type Form, createForm } from '../http/forms.ts'
import { toHeaderText } from '../http/header-text.ts'
import type { ReadyAnswer } from '../http/hot-cache.ts'
import { type Ages, toCacheControl, toCacheStatus } from '../http/cache-headers.ts'
import { toCacheTags } from '../http/cache-tags.ts'
import type { Surface } from '../widgets/options.ts'
import { findQuery, parseQueryString } from '../widgets/query.ts'
import type { BoxView, GridView } from '../widgets/view-models.ts'
import type { Widget } from '../widgets/widgets.ts'

/** Parts of a path, decoded by Express. */
type Parameters = Readonly<Record<string, string | readonly string[] | undefined>>

/** One named part of a path; the parts of a wildcard are put together again, and a missing one is empty. */
export function getParameter(parameters: Parameters, name: string): string {
  const value = parameters[name] ?? ''
  return typeof value === 'string' ? value : value.join('/')
}

/** The query string as it was sent; nothing of Express's own reading of it is used. */
export function parseQuery(request: Pick<AskedRequest, 'originalUrl'>): URLSearchParams {
  return parseQueryString(findQuery(request.originalUrl))
}

/** The view of either widget. */
export type AnyView = BoxView | GridView

/** Nothing: what is sent of an answer that the visitor has. */
const NO_BODY: ReadyAnswer['body'] = {
  identity: Buffer.alloc(0),
  gzip: Buffer.alloc(0),
  brotli: Buffer.alloc(0),
}

/** Either widget. */
export type AnyWidget = Widget<BoxView> | Widget<GridView>

/** Headers that tell the state of a widget to people and caches. */
export function toWidgetHeaders(context: Context, widget: AnyWidget, state: WidgetState): Answer['headers'] {
  return {
    'Content-Type': 'text/html; charset=utf-8',
    'Cache-Control': toCacheControl(toAges(context, widget, state), context.clock.nowMs()),
    'Vitrine-State': state,
    'Vitrine-Reason': state === 'hidden' ? toHeaderText(widget.hiddenReason) : undefined,
    'Cache-Status': toCacheStatus(widget.status),
    ...toCacheTags(context.config.cacheTagHeader, {
      channelId: widget.channel.id,
      gtin: widget.gtin,
      isGrid: widget.kind === 'deals',
    }),
  }
}

/** A few numbers: a warm answer keeps them, and not the widget. */
function toAges({ config }: Context, widget: AnyWidget, state: WidgetState): Ages {
  return {
    asOfMs: widget.asOfMs,
    oldestPriceMs: state === 'shown' ? widget.oldestPriceMs : null,
    config: config.freshness,
    priceMaxAgeSeconds: config.priceMaxAgeSeconds,
    isGrid: widget.kind === 'deals',
  }
}

/** An answer and how it is sent: the headers of its surface in one encoding, its `Cache-Status` among them. */
export type Outfit = Readonly<{
  surface: Surface
  widget: AnyWidget
  answer: ReadyAnswer
  toHeaders(encoding: Encoding): Answer['headers']
}>

/** From now on whoever asks for the same has the same answer without Express, as long as the widget holds. */
export function keepWarm(context: Context, outfit: Outfit, { originalUrl }: AskedRequest): void {
  const { surface, widget, answer } = outfit
  const { hold } = widget
  const { answers } = context.memories
  // What is to be logged has to pass by here.
  const isLogged = widget.status === 'stale' && context.logger.isLevelEnabled('debug')
  if (hold === null || isLogged || answers.get(widget.identity) !== answer) return
  if (answers.isWarm(widget.identity, hold.untilMs)) return
  const { state } = answer
  const cache = toWarmStatus(widget)
  answers.warm(widget.identity, originalUrl, {
    hold,
    forms: toForms(outfit, toCacheStatus(cache)),
    ages: toAges(context, widget, state),
    count: context.metrics.getAnswerCounter({ surface: `${surface} ${widget.kind}`, state, cache }),
  })
}

/** What was fetched for the first visitor is a hit for the next. */
function toWarmStatus({ status }: AnyWidget): AnyWidget['status'] {
  return status === 'miss' ? 'hit' : status
}

function toForms(outfit: Outfit, cacheStatus: string): Record<'identity' | 'gzip' | 'br', Form> {
  const toHeaders: Outfit['toHeaders'] = (encoding) => ({
    ...outfit.toHeaders(encoding),
    'Cache-Status': cacheStatus,
  })
  const make = (encoding: Encoding): Form => toForm({ ...outfit, toHeaders }, encoding)
  const identity = make(null)
  return outfit.surface === 'fragment'
    ? { identity, gzip: identity, br: identity }
    : { identity, gzip: make('gzip'), br: make('br') }
}

/** The bytes of an answer in one encoding, with their header block. */
export function toForm({ answer, toHeaders }: Outfit, encoding: Encoding): Form {
  return createForm(toHeaders(encoding), pickBody(answer.body, encoding))
}

/** How a surface makes an answer of a view; a hidden widget has none. */
export type AnswerMaker = Readonly<{
  /** `null`: there is nothing to revalidate. */
  toEtag(view: AnyView | undefined): string | null
  render(view: AnyView | undefined): Promise<EncodedBody>
}>

/** The answer of a widget from memory, or made now and kept under the widget's key. */
export function getMade(context: Context, maker: AnswerMaker, widget: AnyWidget): Promise<ReadyAnswer> {
  return context.memories.answers.getOrMake(widget, () => makeAnswer(maker, widget))
}

/** Is the answer of a widget in memory? */
export function isMade({ memories }: Context, { identity, stamp }: AnyWidget): boolean {
  return memories.answers.get(identity)?.stamp === stamp
}

/** The answer of visitors who have it already: nothing is rendered or kept for them. */
export function makeUnmade(maker: AnswerMaker, { stamp, getView }: AnyWidget): ReadyAnswer {
  const view = getView()
  return { stamp, state: toState(view), etag: maker.toEtag(view), body: NO_BODY }
}

async function makeAnswer(maker: AnswerMaker, widget: AnyWidget): Promise<ReadyAnswer> {
  const view = widget.getView()
  const body = toOwnMemory(await maker.render(view))
  return { stamp: widget.stamp, state: toState(view), etag: maker.toEtag(view), body }
}

function toState(view: AnyView | undefined): ReadyAnswer['state'] {
  return view === undefined ? 'hidden' : 'shown'
}

/** A view as its fragment; nothing to show is no byte at all. */
export function renderView(context: Context, kind: AnyWidget['kind'], view: AnyView | undefined): string {
  if (view === undefined) return ''
  return kind === 'deals'
    ? context.renderer.renderGrid(view as GridView)
    : context.renderer.renderBox(view as BoxView)
}

/** What an answer without data still depends on. */
export type EmptyDetails = Readonly<{
  state: WidgetState
  isCacheable: boolean
  message: string | null
  /** Of the channel that the address names, if it has the form of an id; `null`: it names none. */
  channelId: string | null
}>

/** Headers of an answer that shows nothing because of a failure or of a GTIN that is none. */
export function toEmptyHeaders(context: Context, details: EmptyDetails): Answer['headers'] {
  const nowMs = context.clock.nowMs()
  const { freshness, priceMaxAgeSeconds, cacheTagHeader } = context.config
  return {
    'Content-Type': 'text/html; charset=utf-8',
    'Cache-Control': details.isCacheable
      ? toCacheControl(
          { asOfMs: nowMs, oldestPriceMs: null, config: freshness, priceMaxAgeSeconds, isGrid: true },
          nowMs,
        )
      : 'no-store',
    'Vitrine-State': details.state,
    'Vitrine-Error': details.message ?? undefined,
    'Cache-Status': toCacheStatus(details.state === 'invalid' ? 'invalid' : 'unavailable'),
    // What may not be stored is never purged.
    ...(details.isCacheable &&
      toCacheTags(cacheTagHeader, { channelId: details.channelId, gtin: null, isGrid: false })),
  }
}
