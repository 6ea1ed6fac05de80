import type { Router } from 'express'
import type { Context } from '../context.ts'
import { isFramedLocally } from '../http/client-address.ts'
import { type Headers, encodeBody } from '../http/response.ts'
import { listFrameAncestors, takenInHeaderList, toEmbedPolicy } from '../http/security-headers.ts'
import { findSpeech } from '../widgets/locales/index.ts'
import { listStyles } from '../widgets/presentation.ts'
import type { EmbedView } from '../widgets/view-models.ts'
import { type AnyView, type AnyWidget, createWidgetRouter, renderView } from './widget-routes.ts'

/**
 * `/embeds/…`: whole documents for iframes. Always 200 where an article is concerned; whether the box is hidden is said
 * in the document, never measured by it. No `X-Frame-Options`: who may frame is in the policy.
 */
export function createEmbedsRouter(context: Context): Router {
  return createWidgetRouter(context, {
    surface: 'embed',
    toHeaders: (channelUrl) => toEmbedHeaders(context, channelUrl),
    toEtag: (digest) => `W/"${digest}"`,
    render: (widget, view) => {
      const body = renderView(context, widget, view)
      return encodeBody(context.renderer.renderEmbed({ ...toOutline(context, widget, view), body }))
    },
    renderFailure: ({ form, message }) =>
      form === 'mistake' ? renderMistake(context, message) : renderHidden(context, message),
  })
}

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
    Vary: 'Accept-Encoding',
  }
}

/** Everything of the document except the widget itself. */
function toOutline(context: Context, widget: AnyWidget, view: AnyView | undefined): Omit<EmbedView, 'body'> {
  const { options, path } = widget.address
  const { lang, dir, words } = findSpeech(options.locale)
  const isShown = view !== undefined
  return {
    lang,
    dir,
    theme: options.theme,
    title: view?.label ?? (widget.kind === 'deals' ? words.gridHeading : words.boxHeading),
    state: isShown ? 'shown' : 'hidden',
    reason: isShown ? null : widget.hiddenReason,
    isFault: false,
    styles: toEmbedStyles(context, options.accent),
    frameScript: toFrameScript(context),
    goUrl: isShown ? `${context.publicUrl}/go/${widget.channel.id}/` : null,
    discovery: toDiscovery(context, path),
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
