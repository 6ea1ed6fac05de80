import type { Request, Response } from 'express'
import type { Context } from '../context.ts'
import type { Answer, WidgetState } from '../http/answer.ts'
import { isNoneMatch } from '../http/etag.ts'
import type { ReadyAnswer } from '../memories.ts'
import { toCacheControl, toCacheStatus } from '../http/cache-headers.ts'
import type { Surface } from '../widgets/options.ts'
import type { BoxView, GridView } from '../widgets/view-models.ts'
import type { Widget } from '../widgets/widgets.ts'
import { noteAnswer } from './note-answer.ts'

/** Parts of a path, decoded by Express. */
type Parameters = Readonly<Record<string, string | readonly string[] | undefined>>

/** One named part of a path; the parts of a wildcard are put together again, and a missing one is empty. */
export function getParameter(parameters: Parameters, name: string): string {
  const value = parameters[name] ?? ''
  return typeof value === 'string' ? value : value.join('/')
}

/** The query string as it was sent; nothing of Express's own reading of it is used. */
export function parseQuery(request: Request): URLSearchParams {
  const start = request.originalUrl.indexOf('?')
  return new URLSearchParams(start === -1 ? '' : request.originalUrl.slice(start + 1))
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
    'Cache-Control': toCacheControl({
      asOfMs: widget.asOfMs,
      oldestPriceMs: state === 'shown' ? widget.oldestPriceMs : null,
      nowMs: context.clock.nowMs(),
      config: context.config.freshness,
      priceMaxAgeSeconds: context.config.priceMaxAgeSeconds,
      isGrid: widget.kind === 'deals',
    }),
    'Vitrine-State': state,
    'Vitrine-Reason': state === 'hidden' ? widget.hiddenReason : undefined,
    'Cache-Status': toCacheStatus(widget.status),
  }
}

/** How a surface makes an answer of a view; a hidden widget has none. */
export type AnswerMaker = Readonly<{
  surface: Surface
  /** `null`: there is nothing to revalidate. */
  toEtag(view: AnyView | undefined): string | null
  render(view: AnyView | undefined): Promise<ReadyAnswer['body']>
}>

/**
 * The answer of a widget from memory, or made now and kept under the widget's key; counted either way. Nothing is
 * rendered for a visitor who has it already.
 */
export async function getReadyAnswer(
  context: Context,
  maker: AnswerMaker,
  asked: Readonly<{ widget: AnyWidget; request: Request; response: Response }>,
): Promise<ReadyAnswer> {
  const { widget, request, response } = asked
  const key = `${widget.kind} ${widget.key}`
  const answer =
    context.memories.answers.get(key) ?? (await makeAnswer(context, maker, { widget, request, key }))
  const surface = `${maker.surface} ${widget.kind}`
  noteAnswer(context, { surface, state: answer.state, cache: widget.status, request, response })
  return answer
}

async function makeAnswer(
  context: Context,
  maker: AnswerMaker,
  asked: Readonly<{ widget: AnyWidget; request: Request; key: string }>,
): Promise<ReadyAnswer> {
  const view = asked.widget.getView()
  const etag = maker.toEtag(view)
  const state = view === undefined ? 'hidden' : 'shown'
  if (etag !== null && isNoneMatch(asked.request.get('if-none-match'), etag))
    return { state, etag, body: NO_BODY }
  const answer = { state, etag, body: await maker.render(view) } as const
  const { identity, gzip, brotli } = answer.body
  context.memories.answers.set(asked.key, answer, identity.length + gzip.length + brotli.length)
  return answer
}

/** A view as its fragment; nothing to show is no byte at all. */
export function renderView(context: Context, kind: AnyWidget['kind'], view: AnyView | undefined): string {
  if (view === undefined) return ''
  return kind === 'deals'
    ? context.renderer.renderGrid(view as GridView)
    : context.renderer.renderBox(view as BoxView)
}

/** What an answer without data still depends on. */
export type EmptyDetails = Readonly<{ state: WidgetState; isCacheable: boolean; message: string | null }>

/** Headers of an answer that shows nothing because of a failure or of a GTIN that is none. */
export function toEmptyHeaders(context: Context, details: EmptyDetails): Answer['headers'] {
  const nowMs = context.clock.nowMs()
  const { freshness, priceMaxAgeSeconds } = context.config
  return {
    'Content-Type': 'text/html; charset=utf-8',
    'Cache-Control': details.isCacheable
      ? toCacheControl({
          asOfMs: nowMs,
          oldestPriceMs: null,
          nowMs,
          config: freshness,
          priceMaxAgeSeconds,
          isGrid: true,
        })
      : 'no-store',
    'Vitrine-State': details.state,
    'Vitrine-Error': details.message ?? undefined,
    'Cache-Status': toCacheStatus(details.state === 'invalid' ? 'invalid' : 'unavailable'),
  }
}
