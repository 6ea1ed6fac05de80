import type { Context } from '../context.ts'
import { VitrineError } from '../errors.ts'
import { removeSubSlots } from '../lib/sub-template.ts'
import { createParameterReader, parseOrDefault } from '../widgets/parameters.ts'
import type { SentenceView } from '../widgets/view-models.ts'
import { parseStudioSelection, validateOptions, withListOptions } from './selection.ts'

/** Read the preview of the layout `inline`: the fragment as a page includes it. */
export async function readSentence(context: Context, query: URLSearchParams): Promise<SentenceView> {
  const read = createParameterReader(query)
  return {
    // Relative, like those of the studio. The page of a fragment with `css=none` links the style sheet itself.
    styles: (['studio.css', 'vitrine.css'] as const).map((name) => `..${context.assets.get(name).path}`),
    background: parseOrDefault(() => read('background', ['light', 'dark']) ?? 'light', 'light'),
    body: await readBody(context, query).catch((error: unknown) => {
      // The studio frames no error page, and shows the reason above its previews.
      if (error instanceof VitrineError) return ''
      throw error
    }),
  }
}

/**
 * Read the fragment; empty if it is hidden. Invalid options count as absent.
 * @throws UnknownChannelError, UnavailableError, InvalidGtinError
 */
async function readBody({ renderer, widgets }: Context, query: URLSearchParams): Promise<string> {
  const { channelId, gtin, box, rawOptions } = parseStudioSelection(query)
  rawOptions.set('layout', 'inline')
  const { widgetQuery } = validateOptions('where-to-buy', rawOptions, widgets.defaults)
  const address = widgets.parseBoxAddress({
    surface: 'fragment',
    channelId: channelId ?? '',
    gtin: [gtin ?? '', ...box.variants].join('~'),
    query: withListOptions(widgetQuery, { standIns: box.standIns, labels: [] }).toString(),
  })
  const widget = await widgets.getBox(address)
  const view = widget.getView()
  return view === undefined ? '' : removeSubSlots(renderer.renderWidget(view))
}
