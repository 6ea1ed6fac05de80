import { type WidgetSize, estimateHeightPx } from '../widgets/heights.ts'
import { withQuery } from '../widgets/options.ts'
import { type WidgetKind, toFrameQuery, isSentence } from './selection.ts'
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
    previews: isSentence(query) ? listSentencePreviews(widget) : listPreviews(attributes, { theme, title }),
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

/** Every width on every background. */
const STAGES = (['light', 'dark'] as const).flatMap((background) =>
  (['phone', 'article'] as const).map((size) => ({
    size,
    background,
    label: `${size === 'phone' ? 'Phone' : 'Article'}, on a ${background} page`,
  })),
)

/** Build previews for the loader. The theme "auto" follows the background. */
function listPreviews(
  attributes: readonly FrameAttribute[],
  { theme, title }: Readonly<{ theme: string | null; title: string }>,
) {
  const others = attributes.filter(({ name }) => name !== 'data-theme')
  return STAGES.map((stage) => ({
    ...stage,
    isFrame: false,
    attributes: [
      ...others,
      { name: 'data-theme', value: theme ?? stage.background },
      { name: 'data-title', value: `${title} (${stage.size}, ${stage.background} page)` },
    ],
  }))
}

/** Build previews that show the fragment in a text; see `views/sentence.eta`. Their addresses are relative. */
function listSentencePreviews({ channelId, gtin, query }: EmbeddedWidget) {
  return STAGES.map((stage) => {
    const { background, label } = stage
    const address = new URLSearchParams({ channel: channelId, gtin: gtin ?? '', background })
    for (const [name, value] of query) address.append(name, value)
    return {
      ...stage,
      isFrame: true,
      attributes: [
        { name: 'src', value: `studio/sentence?${address.toString()}` },
        { name: 'title', value: `In a sentence. ${label}` },
        { name: 'loading', value: 'lazy' },
      ],
    }
  })
}
