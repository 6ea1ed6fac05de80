import { OembedError } from '../errors.ts'
import { parseUrl } from '../lib/urls.ts'
import { type ParameterReader, createParameterReader, findQuery } from './parameters.ts'

/** Width of a frame where the consumer names none, and the widest that a widget fills well. */
const WIDTH_PX = 600
const MAX_WIDTH_PX = 1_200

/** Largest size that is understood; a page is never that large. */
const MAX_SIZE_PX = 100_000

/** How long a consumer may keep an answer, in seconds: it holds nothing that changes with prices. */
const CACHE_AGE_SECONDS = 86_400

/** A question to the oEmbed address. */
export type OembedQuestion = Readonly<{
  url: string
  format: OembedFormat
  /** Pixels; `null`: no bound. */
  maxWidthPx: number | null
  maxHeightPx: number | null
}>

/** What answers are written in. */
export type OembedFormat = 'json' | 'xml'

/** What an embed's address names. */
export type EmbedAddress = Readonly<{ channelId: string; gtin: string | null; query: string }>

/** What an answer says about its frame. */
export type OembedFrame = Readonly<{
  title: string
  /** The one address of the embed. */
  src: string
  /** How high it is, as far as the server knows. */
  toHeightPx(widthPx: number): number
  publicUrl: string
  /** Is the channel there? Else nobody is told to keep the answer. */
  isKnown: boolean
}>

/** An answer by its fields (oembed.com, section 2.3.4). */
export type OembedAnswer = Readonly<Record<string, string | number>>

/**
 * Reads a question. Other parameters, such as the `dnt` of WordPress, are passed over.
 * @throws OembedError
 */
export function parseOembedQuestion(query: URLSearchParams): OembedQuestion {
  const format = query.get('format') ?? 'json'
  if (format !== 'json' && format !== 'xml') throw new OembedError(501, 'format accepts json or xml.')
  const [url, ...others] = query.getAll('url')
  if (url === undefined || url === '' || others.length > 0)
    throw new OembedError(400, 'url is the address of an embed of this server, percent-encoded.')
  const reader = createParameterReader(query)
  return {
    url,
    format,
    maxWidthPx: readSize(reader, 'maxwidth'),
    maxHeightPx: readSize(reader, 'maxheight'),
  }
}

function readSize(reader: ParameterReader, name: string): number | null {
  try {
    return reader.number(name, { min: 1, max: MAX_SIZE_PX }, 0) || null
  } catch {
    throw new OembedError(400, `${name} is a whole number of pixels from 1 to ${MAX_SIZE_PX}, given once.`)
  }
}

/** Channel ids are UUIDs; what stands for the GTIN is judged later. */
const EMBED_PATH = /^([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})\/(?:deals|where-to-buy\/([^/]+))\/?$/i

/** Takes an embed's address apart; `undefined` for any other address. http and https are the same. */
export function findEmbedAddress(url: string, publicUrl: string): EmbedAddress | undefined {
  const address = parseUrl(url)
  if (address === undefined) return undefined
  const own = new URL(publicUrl)
  const { protocol, host, pathname, search } = address
  const prefix = `${own.pathname.replace(/\/$/, '')}/embeds/`
  if (!/^https?:$/.test(protocol) || host !== own.host || !pathname.startsWith(prefix)) return undefined
  const [, channelId = '', gtin = null] = EMBED_PATH.exec(pathname.slice(prefix.length)) ?? []
  if (channelId === '') return undefined
  return { channelId: channelId.toLowerCase(), gtin, query: findQuery(search) }
}

/**
 * The answer: a `rich` one whose HTML is an empty blockquote and a frame. WordPress shows such a frame only when it has
 * spoken, and only then an empty box takes no room; it stores the HTML with the post, so no price is in it.
 */
export function toOembedAnswer(frame: OembedFrame, question: OembedQuestion): OembedAnswer {
  const width = Math.min(question.maxWidthPx ?? WIDTH_PX, MAX_WIDTH_PX)
  const height = Math.min(frame.toHeightPx(width), question.maxHeightPx ?? Infinity)
  const src = escapeMarkup(frame.src)
  const title = escapeMarkup(frame.title)
  return {
    version: '1.0',
    type: 'rich',
    title: frame.title,
    provider_name: 'Vitrine',
    provider_url: frame.publicUrl,
    ...(frame.isKnown && { cache_age: CACHE_AGE_SECONDS }),
    width,
    height,
    html: `<blockquote></blockquote><iframe src="${src}" title="${title}" width="${width}" height="${height}" frameborder="0" loading="lazy"></iframe>`,
  }
}

/** An answer as text of its format. */
export function formatOembed(answer: OembedAnswer, format: OembedFormat): string {
  if (format === 'json') return JSON.stringify(answer)
  const fields = Object.entries(answer).map(
    ([name, value]) => `<${name}>${escapeMarkup(String(value))}</${name}>`,
  )
  return `<?xml version="1.0" encoding="utf-8" standalone="yes"?>\n<oembed>${fields.join('')}</oembed>\n`
}

function escapeMarkup(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('"', '&quot;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
}
