import { type ErrorRequestHandler, Router } from 'express'
import { LRUCache } from 'lru-cache'
import type { Context } from '../context.ts'
import { UnknownAddressError } from '../errors.ts'
import { type Headers, sendAnswer } from '../http/answer.ts'
import { findChannelId } from '../http/cache-tags.ts'
import { encodeBody } from '../http/encodings.ts'
import { createEtag } from '../http/etag.ts'
import { listFrameAncestors, takenInHeaderList, toEmbedPolicy } from '../http/security-headers.ts'
import { isFramedLocally } from '../http/local-demo.ts'
import { findSpeech, listStyles } from '../widgets/presentation.ts'
import type { EmbedView } from '../widgets/view-models.ts'
import { toFailureForm, toFailureStatus, toKnownError } from './failure-forms.ts'
import { noteFailure } from './note-answer.ts'
import {
  type AnswerMaker,
  type AnyView,
  type AnyWidget,
  renderView,
  toEmptyHeaders,
} from './widget-answer.ts'
import { type SendWidget, createWidgetRoutes } from './widget-routes.ts'
import { createWidgetSender } from './widget-sender.ts'

/**
 * `/embeds/…`: whole documents for iframes. Always 200 where an article is concerned; whether the box is hidden is said
 * in the document, never measured by it. No `X-Frame-Options`: who may frame is in the policy.
 */
export function createEmbedsRouter(context: Context, send: SendWidget): Router {
  const router = Router()
  router.use(createWidgetRoutes(context, 'embed', send))
  router.use('/embeds', () => {
    throw new UnknownAddressError('no such embed')
  })
  router.use('/embeds', createEmbedErrorHandler(context))
  return router
}

/** Channels whose policy is kept ready. */
const MAX_POLICIES = 200

/** Makes the sender of embeds. */
export function createEmbedSender(context: Context): SendWidget {
  // One text for all answers of a channel: they keep it.
  const kept = new LRUCache<string, Headers>({ max: MAX_POLICIES })
  const getHeaders = (url: string | null): Headers => {
    const headers = kept.get(url ?? '') ?? toEmbedHeaders(context, url)
    kept.set(url ?? '', headers)
    return headers
  }
  return createWidgetSender(context, {
    surface: 'embed',
    isEncoded: true,
    toHeaders: ({ channel }, encoding) => ({
      ...getHeaders(channel.url),
      'Content-Encoding': encoding ?? undefined,
      Vary: 'Accept-Encoding',
    }),
    createMaker: (widget) => createEmbedMaker(context, widget),
  })
}

function createEmbedMaker(context: Context, widget: AnyWidget): AnswerMaker {
  const toOutline = (view: AnyView | undefined): EmbedOutline => toEmbedOutline(context, widget, view?.label)
  return {
    toEtag: (view) => `W/${createEtag({ outline: toOutline(view), view }, context.version)}`,
    render: (view) => {
      const body = renderView(context, widget.kind, view)
      return encodeBody(context.renderer.renderEmbed({ ...toOutline(view), body }))
    },
  }
}

type EmbedOutline = Omit<EmbedView, 'body'>

function toEmbedHeaders(context: Context, channelUrl: string | null): Headers {
  const ancestors = listFrameAncestors({
    ownOrigin: context.ownOrigin,
    channelUrl,
    configured: context.config.frameAncestors,
    isLocalDemo: isFramedLocally(context.config, context.publicUrl),
  })
  return {
    ...takenInHeaderList,
    'Content-Security-Policy': toEmbedPolicy(context.ownOrigin, ancestors),
    'X-Robots-Tag': 'noindex, indexifembedded',
  }
}

/** Everything of the document but the widget itself; without a `title` of the view there is nothing to show. */
function toEmbedOutline(
  context: Context,
  widget: AnyWidget,
  title: string | undefined,
): Omit<EmbedView, 'body'> {
  const { lang, dir, words } = findSpeech(widget.options.locale)
  return {
    lang,
    dir,
    theme: widget.options.theme,
    title: title ?? (widget.kind === 'deals' ? words.gridHeading : words.boxHeading),
    state: title === undefined ? 'hidden' : 'shown',
    reason: title === undefined ? widget.hiddenReason : null,
    isFault: false,
    styles: toEmbedStyles(context, widget.options.accent),
    frameScript: toFrameScript(context),
    goUrl: title === undefined ? null : `${context.publicUrl}/go/${widget.channel.id}/`,
    discovery: toDiscovery(context, widget.getEmbedPath()),
  }
}

/** Where the oEmbed answers for an embed are: programs that find its address in a post look for them in its head. */
function toDiscovery({ publicUrl }: Context, embedPath: string): EmbedView['discovery'] {
  const toHref = (format: string): string =>
    `${publicUrl}/oembed?${new URLSearchParams({ url: `${publicUrl}/embeds/${embedPath}`, format }).toString()}`
  return { json: toHref('json'), xml: toHref('xml') }
}

function toFrameScript({ publicUrl, assets }: Context): string {
  return `${publicUrl}${assets.get('frame.js').path}`
}

function toEmbedStyles(context: Context, accent: string | null): readonly string[] {
  const { publicUrl, assets } = context
  return listStyles(accent, { publicUrl, stylePath: assets.get('vitrine.css').path })
}

/** Nothing to show is an empty document that reports `hidden`; a mistake in a template is a short readable page. */
function createEmbedErrorHandler(context: Context): ErrorRequestHandler {
  // oxlint-disable-next-line max-params -- Express knows an error handler by its four parameters
  return async (failure: unknown, request, response, next) => {
    if (response.headersSent) return next(failure)
    const error = toKnownError(failure, request.path)
    const form = toFailureForm(error, 'embed')
    noteFailure(context, { error, surface: 'embed', state: form.state, request, response })
    // A browser shows a frame that it refuses as an error: these, too, may stand in the channel's own pages.
    const channel = await context.channels.findKnown(request.path.split('/')[1]?.toLowerCase() ?? '')
    const headers = {
      ...toEmptyHeaders(context, { ...form, channelId: findChannelId(request.path) }),
      ...toEmbedHeaders(context, channel?.url ?? null),
    }
    const text =
      form.form === 'mistake' ? renderMistake(context, form.message) : renderHidden(context, form.message)
    sendAnswer(request, response, {
      status: toFailureStatus(form, error, request),
      headers,
      etag: null,
      getBody: () => Buffer.from(text),
    })
  }
}

function renderMistake(context: Context, message: string | null): string {
  const styles = [`${context.publicUrl}${context.assets.get('studio.css').path}`]
  return context.renderer.renderMistake({
    title: 'This address needs a change',
    message: message ?? '',
    styles,
    frameScript: toFrameScript(context),
  })
}

function renderHidden(context: Context, reason: string | null): string {
  const { lang, dir, words } = findSpeech(context.widgets.defaults.locale)
  return context.renderer.renderEmbed({
    lang,
    dir,
    theme: 'auto',
    title: words.boxHeading,
    state: 'hidden',
    reason: reason ?? 'The catalog gave no answer in time, and nothing is stored of it.',
    isFault: true,
    styles: toEmbedStyles(context, null),
    frameScript: toFrameScript(context),
    goUrl: null,
    discovery: null,
    body: '',
  })
}
