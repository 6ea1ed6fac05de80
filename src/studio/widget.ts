import { type WidgetSize, estimateHeightPx } from '../widgets/heights.ts'
import { withQuery } from '../widgets/options.ts'
import { type WidgetKind, toFrameQuery } from './selection.ts'
import { type FrameAttribute, listSnippets } from './snippets.ts'

const PHONE_PX = 360
const ARTICLE_PX = 680

/** `gtin` is `null` for a grid. `query` has the valid options that differ from their defaults. */
export type EmbeddedWidget = Readonly<{
  kind: WidgetKind
  channelId: string
  gtin: string | null
  query: URLSearchParams
  title: string
  /** Product and channel by name, for people. */
  caption: string
  size: WidgetSize
}>

type LoaderDetails = Readonly<{
  publicUrl: string
  pinnedScript: Readonly<{ url: string; integrity: string }>
}>

export type StudioWidgetView = ReturnType<typeof toStudioWidget>

/** Build addresses, previews and snippets. `background`: the page background that is previewed first. */
export function toStudioWidget(widget: EmbeddedWidget, { publicUrl, pinnedScript }: LoaderDetails) {
  const { kind, channelId, gtin, query, title, caption, size } = widget
  const path = gtin === null ? `${channelId}/deals` : `${channelId}/where-to-buy/${gtin}`
  const frameQuery = toFrameQuery(query)
  const fragmentUrl = withQuery(`${publicUrl}/fragments/${path}`, query)
  const embedUrl = withQuery(`${publicUrl}/embeds/${path}`, frameQuery)
  const attributes = [...toWidgetAttributes(widget), ...toOptionAttributes(frameQuery, 'data-')]
  const snippets = listSnippets({
    publicUrl,
    fragmentUrl,
    embedUrl,
    title,
    caption,
    frameHeightPx: estimateHeightPx(size, PHONE_PX),
    reservedHeightPx: estimateHeightPx(size, ARTICLE_PX),
    attributes,
    shortcode: toShortcode(widget),
    pinnedScript,
  })
  const theme = query.get('theme')
  return {
    kind,
    title,
    caption,
    fragmentUrl,
    embedUrl,
    oembedUrl: `${publicUrl}/oembed?${new URLSearchParams({ url: embedUrl, format: 'json' }).toString()}`,
    previews: listPreviews(attributes, { theme, title }),
    snippets,
    background: theme === 'dark' ? ('dark' as const) : ('light' as const),
  }
}

function toWidgetAttributes({ kind, channelId, gtin }: EmbeddedWidget): readonly FrameAttribute[] {
  return [
    { name: 'data-vitrine', value: kind },
    { name: 'data-channel', value: channelId },
    ...(gtin === null ? [] : [{ name: 'data-gtin', value: gtin }]),
  ]
}

/** Convert options to attributes. Values of a repeated option are joined by "|". */
function toOptionAttributes(query: URLSearchParams, prefix: string): readonly FrameAttribute[] {
  return [...new Set(query.keys())].map((name) => ({
    name: `${prefix}${name}`,
    value: query.getAll(name).join('|'),
  }))
}

function toShortcode({ channelId, gtin, query }: EmbeddedWidget) {
  const attributes = [{ name: 'channel', value: channelId }, ...toOptionAttributes(query, '')]
  return gtin === null
    ? { name: 'vitrine_deals', attributes }
    : { name: 'vitrine', attributes: [{ name: 'gtin', value: gtin }, ...attributes] }
}

/** Build previews in both widths on both backgrounds. The theme "auto" follows the background. */
function listPreviews(
  attributes: readonly FrameAttribute[],
  { theme, title }: Readonly<{ theme: string | null; title: string }>,
) {
  const others = attributes.filter(({ name }) => name !== 'data-theme')
  return (['light', 'dark'] as const).flatMap((background) =>
    (['phone', 'article'] as const).map((size) => ({
      size,
      background,
      label: `${size === 'phone' ? 'Phone' : 'Article'}, on a ${background} page`,
      attributes: [
        ...others,
        { name: 'data-theme', value: theme ?? background },
        { name: 'data-title', value: `${title} (${size}, ${background} page)` },
      ],
    })),
  )
}
