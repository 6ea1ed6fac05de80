import type { Request } from 'express'
import type { Context, RenderedBody } from '../context.ts'
import type { Answer, WidgetState } from '../http/answer.ts'
import { toCacheControl, toCacheStatus } from '../http/cache-headers.ts'
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
export function parseQuery(request: Request): URLSearchParams {
  const start = request.originalUrl.indexOf('?')
  return new URLSearchParams(start === -1 ? '' : request.originalUrl.slice(start + 1))
}

/** Headers that tell the state of a widget to people and caches. */
export function toWidgetHeaders(context: Context, widget: Widget<BoxView | GridView>): Answer['headers'] {
  return {
    'Content-Type': 'text/html; charset=utf-8',
    'Cache-Control': toCacheControl({
      asOfMs: widget.asOfMs,
      nowMs: context.clock.nowMs(),
      config: context.config.freshness,
      priceMaxAgeSeconds: widget.view === undefined ? Infinity : context.config.priceMaxAgeSeconds,
      isGrid: widget.kind === 'deals',
    }),
    'Vitrine-State': toState(widget),
    'Cache-Status': toCacheStatus(widget.status),
  }
}

/** Counts a widget's answer by closed labels. */
export function countWidget(context: Context, surface: string, widget: Widget<BoxView | GridView>): void {
  context.metrics.countAnswer({
    surface: `${surface} ${widget.kind}`,
    state: toState(widget),
    cache: widget.status,
  })
}

/** Renders the fragment of a view. */
export function renderView(context: Context, widget: Widget<BoxView | GridView>): string {
  if (widget.view === undefined) return ''
  return widget.kind === 'where-to-buy'
    ? context.renderer.renderBox(widget.view as BoxView)
    : context.renderer.renderGrid(widget.view as GridView)
}

/** A body from memory, or made now and remembered under its validator. */
export async function getBody(
  context: Context,
  key: string,
  make: () => Promise<RenderedBody>,
): Promise<RenderedBody> {
  const remembered = context.bodies.get(key)
  if (remembered !== undefined) return remembered
  const body = await make()
  context.bodies.set(key, body, body.identity.length + (body.gzip?.length ?? 0) + (body.brotli?.length ?? 0))
  return body
}

/** What an answer without data still depends on. */
export type EmptyDetails = Readonly<{ state: WidgetState; isCacheable: boolean; message: string | null }>

/** Headers of an answer that shows nothing because of a failure or of a GTIN that is none. */
export function toEmptyHeaders(context: Context, details: EmptyDetails): Answer['headers'] {
  const nowMs = context.clock.nowMs()
  const { freshness } = context.config
  return {
    'Content-Type': 'text/html; charset=utf-8',
    'Cache-Control': details.isCacheable
      ? toCacheControl({
          asOfMs: nowMs,
          nowMs,
          config: freshness,
          priceMaxAgeSeconds: Infinity,
          isGrid: true,
        })
      : 'no-store',
    'Vitrine-State': details.state,
    'Vitrine-Error': details.message ?? undefined,
    'Cache-Status': details.isCacheable ? 'vitrine; hit' : toCacheStatus('unavailable'),
  }
}

function toState(widget: Widget<BoxView | GridView>): WidgetState {
  return widget.view === undefined ? 'hidden' : 'shown'
}
