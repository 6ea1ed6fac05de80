import { type WidgetSize, estimateHeightPx } from '../widgets/heights.ts'
import { withQuery } from '../widgets/options.ts'
import type { WidgetKind } from '../widgets/option-list.ts'
import { toFrameQuery, isSentence } from './selection.ts'
import { type FrameAttribute, listSnippets } from './snippets.ts'

const PHONE_PX = 360
const ARTICLE_PX = 680

/** `query` has the valid options that differ from their defaults. */
export type EmbeddedWidget = Readonly<{
  kind: WidgetKind
  channelId: string
  /** A box: the chosen product and its variants; a round-up: its products; empty for a grid. */
  gtins: readonly string[]
  query: URLSearchParams
  title: string
  /** Product and channel by name, for people. */
  caption: string
  size: WidgetSize
}>

type LoaderOptions = Readonly<{
  publicUrl: string
  pinnedScript: Readonly<{ url: string; integrity: string }>
  /** Whether the settings open the addresses of JSON and newsletters. */
  openForms: Readonly<{ data: boolean; mail: boolean }>
}>

export type StudioWidgetView = ReturnType<typeof toStudioWidget>

/** Build addresses, previews and snippets. `background`: the page background that is previewed first. */
export function toStudioWidget(widget: EmbeddedWidget, options: LoaderOptions) {
  const { publicUrl, pinnedScript, openForms } = options
  const { kind, channelId, query, title, caption, size } = widget
  const path = [channelId, kind, ...toProductValues(widget)].join('/')
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
    otherForms: [
      ...(openForms.data ? [{ name: 'data', text: 'as JSON' }] : []),
      ...(openForms.mail ? [{ name: 'mail', text: 'for a newsletter' }] : []),
      ...(kind === 'deals' ? [{ name: 'feeds', text: 'as an Atom feed' }] : []),
    ].map(({ name, text }) => {
      const file = name === 'feeds' ? `${path}.atom` : path
      return { name, text, url: withQuery(`${publicUrl}/${name}/${file}`, frameQuery) }
    }),
    oembedUrl: `${publicUrl}/oembed?${new URLSearchParams({ url: embedUrl, format: 'json' }).toString()}`,
    previews: isSentence(query) ? listSentencePreviews(widget) : listPreviews(attributes, { theme, title }),
    snippets,
    background: theme === 'dark' ? ('dark' as const) : ('light' as const),
  }
}

/** Return the products as in an address, or nothing for a grid. */
function toProductValues({ kind, gtins }: Pick<EmbeddedWidget, 'kind' | 'gtins'>): readonly string[] {
  return gtins.length === 0 ? [] : [gtins.join(kind === 'picks' ? ',' : '~')]
}

function toProductAttributes(widget: EmbeddedWidget, prefix: string): readonly FrameAttribute[] {
  const name = widget.kind === 'picks' ? 'gtins' : 'gtin'
  return toProductValues(widget).map((value) => ({ name: `${prefix}${name}`, value }))
}

function toWidgetAttributes(widget: EmbeddedWidget): readonly FrameAttribute[] {
  return [
    { name: 'data-vitrine', value: widget.kind },
    { name: 'data-channel', value: widget.channelId },
    ...toProductAttributes(widget, 'data-'),
  ]
}

/** Convert options to attributes. Values of a repeated option are joined by "|", also empty labels. */
function toOptionAttributes(query: URLSearchParams, prefix: string): readonly FrameAttribute[] {
  return [...new Set(query.keys())].map((name) => ({
    name: `${prefix}${name}`,
    value: query.getAll(name).join('|'),
  }))
}

const SHORTCODES: Readonly<Record<WidgetKind, string>> = {
  'where-to-buy': 'vitrine',
  picks: 'vitrine_picks',
  deals: 'vitrine_deals',
}

function toShortcode(widget: EmbeddedWidget) {
  const options = toOptionAttributes(widget.query, '')
  return {
    name: SHORTCODES[widget.kind],
    attributes: [
      ...toProductAttributes(widget, ''),
      { name: 'channel', value: widget.channelId },
      // The attribute of a shortcode holds all labels.
      ...options.map(({ name, value }) => ({ name: name === 'label' ? 'labels' : name, value })),
    ],
  }
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
function listSentencePreviews(widget: EmbeddedWidget) {
  const { channelId, query } = widget
  return STAGES.map((stage) => {
    const { background, label } = stage
    const address = new URLSearchParams({ channel: channelId })
    for (const { name, value } of toProductAttributes(widget, '')) address.set(name, value)
    address.set('background', background)
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
