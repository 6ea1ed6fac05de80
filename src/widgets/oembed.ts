import { escapeUTF8 } from 'entities'
import { OembedError, StoreError, UnavailableError, VitrineError } from '../errors.ts'
import type { Visitor } from '../lib/fair-queue.ts'
import { parseUrl } from '../lib/urls.ts'
import { estimateHeightPx, toExpectedSize, toWidgetSize } from './heights.ts'
import { getLocalization } from './locales/index.ts'
import { type ParameterReader, createParameterReader, getQueryString } from './parameters.ts'
import { withSub } from './address.ts'
import type { WidgetKind } from './option-list.ts'
import { getDefaultHeading } from './view-parts.ts'
import type { AnyWidget, Widgets } from './widgets.ts'

/** Width of a frame if the consumer gives none, and the largest useful width. */
const DEFAULT_WIDTH_PX = 600
const MAX_WIDTH_PX = 1_200

/** Largest accepted size; no page is that large. */
const MAX_SIZE_PX = 100_000

/** How long a consumer may cache a response, which has no prices. */
const CACHE_AGE_SECONDS = 86_400

export type OembedFormat = 'json' | 'xml'

/** `null`: no maximum. */
type OembedRequest = Readonly<{
  url: string
  format: OembedFormat
  maxWidthPx: number | null
  maxHeightPx: number | null
}>

/**
 * Parse a request to the oEmbed address. Other parameters, such as the `dnt` of WordPress, are ignored.
 * @throws OembedError
 */
export function parseOembedRequest(query: URLSearchParams): OembedRequest {
  const format = query.get('format') ?? 'json'
  if (format !== 'json' && format !== 'xml')
    throw new OembedError(501, 'The parameter "format" accepts json or xml.')
  const [url, ...others] = query.getAll('url')
  if (url === undefined || url === '' || others.length > 0)
    throw new OembedError(
      400,
      'The parameter "url" accepts one value, the percent-encoded address of an embed of this server.',
    )
  const read = createParameterReader(query)
  return {
    url,
    format,
    maxWidthPx: parseSizePx(read, 'maxwidth'),
    maxHeightPx: parseSizePx(read, 'maxheight'),
  }
}

function parseSizePx(read: ParameterReader, name: string): number | null {
  try {
    return read(name, { min: 1, max: MAX_SIZE_PX })
  } catch {
    throw new OembedError(
      400,
      `The parameter "${name}" accepts one value, a whole number of pixels from 1 to ${MAX_SIZE_PX}.`,
    )
  }
}

/** `runInTurn`: run what takes long in the visitor's turn. */
export type OembedOptions = Readonly<{
  publicUrl: string
  visitor: Visitor
  runInTurn<T>(task: () => T): Promise<T>
}>

/**
 * Create the response for a valid address, even if its widget has nothing to show now. `isCacheable`: whether it is known if there
 * is something to show.
 * @throws OembedError if there is no such embed.
 */
export async function createOembedResponse(
  widgets: Widgets,
  request: OembedRequest,
  options: OembedOptions,
): Promise<Readonly<{ text: string; isCacheable: boolean }>> {
  const { publicUrl } = options
  const address = findEmbedAddress(request.url, publicUrl)
  if (address === undefined)
    throw new OembedError(
      404,
      `The parameter "url" is not the address of an embed of this server. Such addresses begin with ${publicUrl}/embeds/`,
    )
  try {
    const frame = await readFrame(widgets, address, options)
    return {
      text: formatResponse(toOembedFields(frame, request, publicUrl), request.format),
      isCacheable: frame.isCacheable,
    }
  } catch (error) {
    if (error instanceof VitrineError) throw new OembedError(404, error.publicMessage)
    throw error
  }
}

/** Parse the address of an embed; `undefined` for any other address. http and https are equivalent. */
function findEmbedAddress(url: string, publicUrl: string) {
  const address = parseUrl(url)
  if (address === undefined) return undefined
  const server = new URL(publicUrl)
  const { protocol, host, pathname, search } = address
  const prefix = `${server.pathname.replace(/\/$/, '')}/embeds/`
  if (!/^https?:$/.test(protocol) || host !== server.host || !pathname.startsWith(prefix)) return undefined
  return parseEmbedPath(pathname.slice(prefix.length), getQueryString(search))
}

/** Channel ids are UUIDs. The GTINs are validated later. */
const EMBED_PATH = /^([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})\/(?:deals|(where-to-buy|picks)\/([^/]+))\/?$/i

function parseEmbedPath(path: string, query: string) {
  const match = EMBED_PATH.exec(path)
  if (match === null) return undefined
  const [, channelId = '', kind = 'deals', gtin = ''] = match
  return {
    kind: kind.toLowerCase() as WidgetKind,
    surface: 'embed',
    channelId,
    gtin: decodePath(gtin),
    query,
  } as const
}

/** An invalid encoding is not a GTIN. */
function decodePath(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

type EmbedAddress = NonNullable<ReturnType<typeof findEmbedAddress>>

async function readFrame(
  widgets: Widgets,
  embedAddress: EmbedAddress,
  { visitor, runInTurn }: OembedOptions,
) {
  const { address, getWidget } = widgets.open(embedAddress.kind, embedAddress)
  const { frame, isCacheable } = await readShownFrame(getWidget(visitor), runInTurn)
  const shown = frame ?? {
    title: getDefaultHeading(address.kind, getLocalization(address.options.locale)),
    size: toExpectedSize(address),
  }
  return { ...shown, path: withSub(address.path, address.sub), isCacheable }
}

/** On a failure, return no frame: a consumer would cache an error response as long as a frame. */
async function readShownFrame(pendingWidget: Promise<AnyWidget>, runInTurn: OembedOptions['runInTurn']) {
  try {
    const widget = await pendingWidget
    const frame = await runInTurn(() => {
      const view = widget.getView()
      return view && { title: view.label, size: toWidgetSize(view) }
    })
    return { frame, isCacheable: true }
  } catch (error) {
    if (error instanceof UnavailableError || error instanceof StoreError)
      return { frame: undefined, isCacheable: false }
    throw error
  }
}

/**
 * Build a `rich` response (oembed.com, section 2.3.4). WordPress shows a frame after a blockquote only when the frame sends a
 * message, so that an empty box takes no space. WordPress stores the HTML with the post, so it has no prices.
 */
function toOembedFields(
  { title, size, path, isCacheable }: Awaited<ReturnType<typeof readFrame>>,
  { maxWidthPx, maxHeightPx }: OembedRequest,
  publicUrl: string,
): Readonly<Record<string, string | number>> {
  const width = Math.min(maxWidthPx ?? DEFAULT_WIDTH_PX, MAX_WIDTH_PX)
  const height = Math.min(estimateHeightPx(size, width), maxHeightPx ?? Infinity)
  const src = escapeUTF8(`${publicUrl}/embeds/${path}`)
  return {
    version: '1.0',
    type: 'rich',
    title,
    provider_name: 'Vitrine',
    provider_url: publicUrl,
    ...(isCacheable && { cache_age: CACHE_AGE_SECONDS }),
    width,
    height,
    html: `<blockquote></blockquote><iframe src="${src}" title="${escapeUTF8(title)}" width="${width}" height="${height}" frameborder="0" loading="lazy"></iframe>`,
  }
}

function formatResponse(fields: ReturnType<typeof toOembedFields>, format: OembedFormat): string {
  if (format === 'json') return JSON.stringify(fields)
  const elements = Object.entries(fields).map(
    ([name, value]) => `<${name}>${escapeUTF8(String(value))}</${name}>`,
  )
  return `<?xml version="1.0" encoding="utf-8" standalone="yes"?>\n<oembed>${elements.join('')}</oembed>\n`
}
