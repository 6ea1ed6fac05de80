import type { Router } from 'express'
import type { Context } from '../context.ts'
import { isFramedLocally } from '../http/client-address.ts'
import { encodeBody } from '../http/response.ts'
import { listFrameAncestors, takenInHeaderList, toEmbedPolicy } from '../http/security-headers.ts'
import { findSpeech } from '../widgets/locales/index.ts'
import type { CommonOptions } from '../widgets/options.ts'
import { listStyles } from '../widgets/presentation.ts'
import type { EmbedView } from '../widgets/view-models.ts'
import { type AnyView, type AnyWidget, createWidgetRouter, renderView } from './widget-routes.ts'

/**
 * `/embeds/…`: whole documents for iframes. Always 200 where an article is concerned; whether the box is hidden is said
 * in the document, never measured by it. No `X-Frame-Options`: who may frame is in the policy.
 */
export function createEmbedsRouter(context: Context): Router {
  const { assets, config, ownOrigin, publicUrl, renderer, widgets } = context
  const isLocalDemo = isFramedLocally(config, publicUrl)
  const rules = { ownOrigin, configured: config.frameAncestors, isLocalDemo }
  return createWidgetRouter(context, {
    surface: 'embed',
    toHeaders: (channelUrl) => ({
      ...takenInHeaderList,
      'Content-Security-Policy': toEmbedPolicy(ownOrigin, listFrameAncestors({ ...rules, channelUrl })),
      'X-Robots-Tag': 'noindex, indexifembedded',
      Vary: 'Accept-Encoding',
    }),
    toEtag: (digest) => `W/"${digest}"`,
    render: (widget, view) => encodeBody(renderer.renderEmbed(toView(context, widget, view))),
    renderFailure({ form, message }) {
      const look = { locale: widgets.defaults.locale, theme: 'auto', accent: null } as const
      if (form === 'empty')
        return renderer.renderEmbed({
          ...toHiddenView(context, look),
          reason: message ?? 'The catalog gave no answer in time, and nothing is stored of it.',
          isFault: true,
        })
      return renderer.renderMistake({
        title: 'This address needs a change',
        message: message ?? '',
        styles: [`${publicUrl}${assets.get('studio.css').path}`],
        frameScript: toFrameScript(context),
      })
    },
  })
}

function toView(context: Context, widget: AnyWidget, view: AnyView | undefined): EmbedView {
  const { publicUrl } = context
  const { options, path } = widget.address
  const toHref = (format: string): string =>
    `${publicUrl}/oembed?${new URLSearchParams({ url: `${publicUrl}/embeds/${path}`, format }).toString()}`
  const hidden = toHiddenView(context, options)
  // Programs that find the address of an embed in a post look for its oEmbed answers in its head.
  const discovery = { json: toHref('json'), xml: toHref('xml') }
  if (view === undefined) {
    const { words } = findSpeech(options.locale)
    const title = widget.kind === 'deals' ? words.gridHeading : words.boxHeading
    return { ...hidden, title, reason: widget.hiddenReason, discovery }
  }
  return {
    ...hidden,
    title: view.label,
    state: 'shown',
    reason: null,
    goUrl: `${publicUrl}/go/${widget.channel.id}/`,
    discovery,
    body: renderView(context, widget, view),
  }
}

/** A document without a widget, and without a reason. */
function toHiddenView(
  context: Context,
  { accent, locale, theme }: Pick<CommonOptions, 'accent' | 'locale' | 'theme'>,
): EmbedView {
  const { publicUrl, assets } = context
  const { lang, dir, words } = findSpeech(locale)
  return {
    lang,
    dir,
    theme,
    title: words.boxHeading,
    state: 'hidden',
    reason: null,
    isFault: false,
    styles: listStyles(accent, { publicUrl, stylePath: assets.get('vitrine.css').path }),
    frameScript: toFrameScript(context),
    goUrl: null,
    discovery: null,
    body: '',
  }
}

function toFrameScript({ publicUrl, assets }: Context): string {
  return `${publicUrl}${assets.get('frame.js').path}`
}
