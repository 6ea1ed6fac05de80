import type { Context } from '../context.ts'
import { isLocalFramingAllowed } from '../http/client-address.ts'
import {
  crossOriginHeaders,
  listFrameAncestors,
  toEmbedPolicy,
  toEmbedderPolicy,
} from '../http/security-headers.ts'
import { UNAVAILABLE_REASON } from '../widgets/hidden-reasons.ts'
import { getLocalization } from '../widgets/locales/index.ts'
import type { CommonOptions } from '../widgets/options.ts'
import { getDefaultHeading, listStyles } from '../widgets/view-parts.ts'
import type { AnyView, EmbedView } from '../widgets/view-models.ts'
import type { AnyWidget } from '../widgets/widgets.ts'
import { createSubSlot } from '../lib/sub-template.ts'
import {
  HTML_TYPE,
  WIDGET_PATHS,
  type WidgetSurface,
  createWidgetSurface,
  renderView,
  toWeakEtag,
} from './widget-routes.ts'

/** Create the addresses `/embeds/…`: documents for iframes. A hidden box is 200, too; the document reports its state. */
export function createEmbedsSurface(context: Context): WidgetSurface {
  const { assets, config, ownOrigin, publicUrl, renderer, widgets } = context
  const isLocalDemo = isLocalFramingAllowed(config, publicUrl)
  const rules = { ownOrigin, configuredAncestors: config.frameAncestors, isLocalDemo }
  return createWidgetSurface(context, {
    surface: 'embed',
    prefix: '/embeds',
    paths: WIDGET_PATHS,
    contentType: HTML_TYPE,
    toHeaders: (channelUrl) => ({
      ...crossOriginHeaders,
      'Content-Security-Policy': toEmbedPolicy(
        context.pageSources,
        listFrameAncestors({ ...rules, channelUrl }),
      ),
      'Cross-Origin-Embedder-Policy': toEmbedderPolicy(context.pageSources),
      'X-Robots-Tag': 'noindex, indexifembedded',
      Vary: 'Accept-Encoding',
    }),
    toEtag: toWeakEtag,
    isCompressed: true,
    render: (view, widget) => renderer.renderEmbed(toEmbedView(context, widget, view)),
    renderFailure({ body, message }) {
      const defaultOptions = { locale: widgets.defaults.locale, theme: 'auto', accent: null } as const
      if (body === 'empty')
        return renderer.renderEmbed({
          ...toHiddenView(context, defaultOptions),
          reason: message ?? UNAVAILABLE_REASON,
          isFailure: true,
        })
      return renderer.renderErrorPage({
        title: 'Invalid embed address',
        message: message ?? '',
        styles: [`${publicUrl}${assets.get('studio.css').path}`],
        frameScript: toFrameScript(context),
        studioUrl: null,
      })
    },
  })
}

function toEmbedView(context: Context, widget: AnyWidget, view: AnyView | undefined): EmbedView {
  const { publicUrl } = context
  const { options, path } = widget.address
  const url = `${publicUrl}/embeds/${path}`
  const subSlot = createSubSlot(encodeURIComponent(url.includes('?') ? '&sub=' : '?sub='))
  const toHref = (format: string): string =>
    `${publicUrl}/oembed?${new URLSearchParams({ format }).toString()}&url=${encodeURIComponent(url)}${subSlot}`
  const hidden = toHiddenView(context, options)
  // Consumers of oEmbed discover these addresses in the head.
  const discovery = { json: toHref('json'), xml: toHref('xml') }
  if (view === undefined) {
    const title = getDefaultHeading(widget.address.kind, getLocalization(options.locale))
    return { ...hidden, title, reason: widget.explainHidden(), discovery }
  }
  return {
    ...hidden,
    title: view.label,
    state: 'shown',
    reason: null,
    redirectBaseUrl: `${publicUrl}/go/${widget.channel.id}/`,
    discovery,
    body: renderView(context, view),
  }
}

function toHiddenView(
  context: Context,
  { accent, locale, theme }: Pick<CommonOptions, 'accent' | 'locale' | 'theme'>,
): EmbedView {
  const { publicUrl, assets } = context
  const { lang, dir, texts } = getLocalization(locale)
  return {
    lang,
    dir,
    theme,
    title: texts.boxHeading,
    state: 'hidden',
    reason: null,
    isFailure: false,
    styles: listStyles(accent, { publicUrl, stylePath: assets.get('vitrine.css').path }),
    frameScript: toFrameScript(context),
    redirectBaseUrl: null,
    discovery: null,
    body: '',
  }
}

function toFrameScript({ publicUrl, assets }: Context): string {
  return `${publicUrl}${assets.get('frame.js').path}`
}
