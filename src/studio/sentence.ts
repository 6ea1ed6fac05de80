import type { Context } from '../context.ts'
import { createParameterReader, parseOrDefault } from '../widgets/parameters.ts'
import type { SentenceView } from '../widgets/view-models.ts'
import { parseStudioSelection, validateOptions } from './selection.ts'

/**
 * Read the preview of the layout `inline`: the fragment as a page includes it. Invalid options count as absent.
 * @throws UnknownChannelError, UnavailableError, InvalidGtinError
 */
export async function readSentence(context: Context, query: URLSearchParams): Promise<SentenceView> {
  const { assets, renderer, widgets } = context
  const { channelId, gtin, rawOptions } = parseStudioSelection(query)
  rawOptions.set('layout', 'inline')
  const { widgetQuery } = validateOptions('where-to-buy', rawOptions, widgets.defaults)
  const address = widgets.parseBoxAddress({
    surface: 'fragment',
    channelId: channelId ?? '',
    gtin: gtin ?? '',
    query: widgetQuery.toString(),
  })
  const widget = await widgets.getBox(address)
  const view = widget.getView()
  const reader = createParameterReader(query)
  return {
    // Relative, like those of the studio. The page of a fragment with `css=none` links the style sheet itself.
    styles: (['studio.css', 'vitrine.css'] as const).map((name) => `..${assets.get(name).path}`),
    background: parseOrDefault(
      () => reader.oneOf('background', ['light', 'dark'] as const, 'light'),
      'light',
    ),
    body: view === undefined ? '' : renderer.renderBox(view),
  }
}
