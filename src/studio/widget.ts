import { type BoxSize, type GridSize, estimateBoxHeightPx, estimateGridHeightPx } from '../widgets/heights.ts'
import type { OptionDefaults } from '../widgets/options.ts'
import { toFrameQuery } from './choice.ts'
import { type FrameAttribute, listSnippets } from './snippets.ts'

/** Width of a phone's and of an article's column, in pixels. */
const PHONE_PX = 360
const ARTICLE_PX = 680

/** What is embedded, with the options that are right and not as by default. */
export type EmbeddedWidget = Readonly<{ channelId: string; query: URLSearchParams; title: string }> &
  Readonly<{ kind: 'where-to-buy'; gtin: string; size: BoxSize } | { kind: 'deals'; size: GridSize }>

/** Where the server is and what it serves. */
export type EmbeddingPlace = Readonly<{
  publicUrl: string
  defaults: OptionDefaults
  pinnedScript: Readonly<{ url: string; integrity: string }>
}>

/** The widget of a tab: its addresses, its previews, the ground that they begin with, and how to embed it. */
export type StudioWidgetView = ReturnType<typeof toStudioWidget>

/** Build addresses, previews and snippets of a widget. */
export function toStudioWidget(widget: EmbeddedWidget, place: EmbeddingPlace) {
  const { publicUrl } = place
  const path =
    widget.kind === 'deals' ? `${widget.channelId}/deals` : `${widget.channelId}/where-to-buy/${widget.gtin}`
  const frameQuery = toFrameQuery(widget.query)
  const fragmentUrl = `${publicUrl}/fragments/${path}${toSuffix(widget.query)}`
  const embedUrl = `${publicUrl}/embeds/${path}${toSuffix(frameQuery)}`
  const attributes = [...toIdentity(widget), ...toOptionAttributes(frameQuery, 'data-')]
  const snippets = listSnippets({
    publicUrl,
    fragmentUrl,
    embedUrl,
    title: widget.title,
    frameHeightPx: estimate(widget, PHONE_PX),
    reservedHeightPx: estimate(widget, ARTICLE_PX),
    attributes,
    shortcode: toShortcode(widget),
    pinnedScript: place.pinnedScript,
  })
  const theme = widget.query.get('theme')
  return {
    kind: widget.kind,
    title: widget.title,
    fragmentUrl,
    embedUrl,
    oembedUrl: `${publicUrl}/oembed?${new URLSearchParams({ url: embedUrl, format: 'json' }).toString()}`,
    stages: listStages(attributes, { theme, title: widget.title }),
    snippets,
    ground: theme === 'dark' ? ('dark' as const) : ('light' as const),
  }
}

/** A query with its question mark, if there is anything in it. */
export function toSuffix(query: URLSearchParams): string {
  return query.size === 0 ? '' : `?${query.toString()}`
}

function toIdentity(widget: EmbeddedWidget): readonly FrameAttribute[] {
  return [
    { name: 'data-vitrine', value: widget.kind },
    { name: 'data-channel', value: widget.channelId },
    ...(widget.kind === 'deals' ? [] : [{ name: 'data-gtin', value: widget.gtin }]),
  ]
}

/** Options as attributes: those that are repeated in an address are split by a bar. */
function toOptionAttributes(query: URLSearchParams, prefix: string): readonly FrameAttribute[] {
  return [...new Set(query.keys())].map((name) => ({
    name: `${prefix}${name}`,
    value: query.getAll(name).join('|'),
  }))
}

function toShortcode(
  widget: EmbeddedWidget,
): Readonly<{ name: string; attributes: readonly FrameAttribute[] }> {
  const options = toOptionAttributes(widget.query, '')
  const channel = { name: 'channel', value: widget.channelId }
  return widget.kind === 'deals'
    ? { name: 'vitrine_deals', attributes: [channel, ...options] }
    : { name: 'vitrine', attributes: [{ name: 'gtin', value: widget.gtin }, channel, ...options] }
}

/** Both widths on both grounds. A theme that follows the reader is shown as the reader of that ground sees it. */
function listStages(
  attributes: readonly FrameAttribute[],
  { theme, title }: Readonly<{ theme: string | null; title: string }>,
) {
  const others = attributes.filter(({ name }) => name !== 'data-theme')
  return (['light', 'dark'] as const).flatMap((ground) =>
    (['phone', 'article'] as const).map((size) => ({
      size,
      ground,
      label: `${size === 'phone' ? 'Phone' : 'Article'}, on a ${ground} page`,
      attributes: [
        ...others,
        { name: 'data-theme', value: theme ?? ground },
        { name: 'data-title', value: `${title} (${size}, ${ground} page)` },
      ],
    })),
  )
}

function estimate(widget: EmbeddedWidget, widthPx: number): number {
  return widget.kind === 'deals'
    ? estimateGridHeightPx(widget.size, widthPx)
    : estimateBoxHeightPx(widget.size, widthPx)
}
