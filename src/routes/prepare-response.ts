import { LRUCache } from 'lru-cache'
import type { Context } from '../context.ts'
import { isCountedRequest } from '../coverage/counted-requests.ts'
import type { CacheStatus } from '../freshness/age.ts'
import { type CacheLifetime, toCacheStatus, toCacheTags } from '../http/cache-headers.ts'
import type { BodySource } from '../http/render-queue.ts'
import { type CachedResponse, type HeaderBlock, toHeaderBlock } from '../http/response-cache.ts'
import { listHeaders, toHeaderText, toUtf8ByteString } from '../http/response.ts'
import { WidgetBodies } from '../http/widget-bodies.ts'
import { toSubTemplate } from '../lib/sub-template.ts'
import type { WidgetKind } from '../widgets/option-list.ts'
import type { Surface } from '../widgets/options.ts'
import type { AnyView } from '../widgets/view-models.ts'
import type { AnyWidget } from '../widgets/widgets.ts'
import type { FailureOptions } from './failures.ts'

/** The differences between surfaces. */
export type SurfaceOptions = FailureOptions &
  Readonly<{
    /** Prefix of all addresses, such as `/fragments`. */
    prefix: string
    /** The widgets that the surface has, and their paths below the prefix. */
    paths: Readonly<Partial<Record<WidgetKind, string>>>
    /** Return the ETag of a shown or hidden widget; `null`: no revalidation. */
    toEtag(digest: string, isShown: boolean): string | null
    isCompressed: boolean
    /** Render a text with slots for the id of the placement. `view`: absent for a hidden widget. */
    render(view: AnyView | undefined, widget: AnyWidget): string
  }>

/** Cached header blocks: one for each state and framing site. */
const MAX_HEADER_BLOCKS = 200
const NO_HEADERS: readonly string[] = []

/** A response without its bodies, which concurrent requests share. */
export type Prepared = Pick<BodySource, 'makeBodies'> &
  Readonly<{ cached: CachedResponse; status: CacheStatus; kind: WidgetKind }>

/** What is known before the data of a response are read. */
export type PreparationStart = Readonly<{ key: string; sequence: number }>

/** Create the function that prepares the response of a widget, without its bodies: those of equal data are reused. */
export function createPreparer(
  context: Context,
  options: SurfaceOptions,
): (start: PreparationStart, widget: AnyWidget) => Prepared {
  const { logger, metrics, version } = context
  const { responses } = context.caches
  const getHeaders = createHeaderBlocks(options)
  const shouldLogEach = ({ status }: AnyWidget): boolean =>
    status === 'stale' && logger.isLevelEnabled('debug')
  return ({ key, sequence }, widget) => {
    const { status } = widget
    const { kind } = widget.address
    const digest = widget.computeDigest(`${version} ${key}`)
    const { isShown } = widget
    const state = isShown ? 'shown' : 'hidden'
    const cache = status === 'miss' ? 'hit' : status
    const cached: CachedResponse = {
      digest,
      sequence,
      etag: options.toEtag(digest, isShown),
      isShown,
      isCompressed: options.isCompressed,
      headers: getHeaders(state, widget.channel.url),
      ownHeaders: toWidgetHeaders(context, widget, isShown),
      lifetime: toCacheLifetime(context, widget, isShown),
      expiresAtMs: shouldLogEach(widget) ? 0 : widget.validUntilMs,
      isOutdated: isOld(status) ? widget.isOutdated : isNever,
      cacheStatus: toCacheStatus(cache),
      countProducts: createProductCounter(context, options.surface, widget),
      countResponse: metrics.getResponseCounter({ surface: `${options.surface} ${kind}`, state, cache }),
    }
    responses.set(key, cached)
    const makeBodies = (): WidgetBodies => renderBodies(options, widget)
    // An empty body is made at once, so it never waits.
    const isEmpty = !isShown && !options.isCompressed
    if (isEmpty && responses.findBodies(digest) === undefined) responses.setBodies(digest, makeBodies())
    return { cached, makeBodies, status, kind }
  }
}

const isNever = (): boolean => false

/** A walk may have newer data. */
const isOld = (status: CacheStatus): boolean => status === 'stale' || status === 'rescued'

function renderBodies({ render }: SurfaceOptions, widget: AnyWidget): WidgetBodies {
  const text = render(widget.getView(), widget)
  return new WidgetBodies(toSubTemplate(toUtf8ByteString(text)))
}

/** Create the function that counts the products of a widget for a placement. */
function createProductCounter(
  { coverage, publicUrl }: Context,
  surface: Surface,
  { channel, productStates }: AnyWidget,
): CachedResponse['countProducts'] {
  return (request, sub) => {
    if (productStates.length === 0 || !isCountedRequest(request, surface, publicUrl)) return
    for (const { gtin, state } of productStates)
      if (state !== 'other-network')
        coverage.countWidget({ channelId: channel.id, gtin, sub: sub ?? '', state })
  }
}

function toCacheLifetime({ config }: Context, widget: AnyWidget, isShown: boolean): CacheLifetime {
  return {
    asOfMs: widget.asOfMs,
    oldestPriceMs: isShown ? widget.oldestPriceMs : null,
    saleEndMs: isShown ? widget.saleEndMs : null,
    // As old data: caches ask again after the minimum age.
    freshSeconds: widget.isPartial ? 0 : config.freshness.freshSeconds,
    priceMaxAgeSeconds: config.priceMaxAgeSeconds,
    isGrid: widget.address.kind === 'deals',
  }
}

function createHeaderBlocks(
  options: SurfaceOptions,
): (state: string, channelUrl: string | null) => HeaderBlock {
  const blocks = new LRUCache<string, HeaderBlock>({ max: MAX_HEADER_BLOCKS })
  return (state, channelUrl) => {
    const key = `${state} ${channelUrl}`
    const known = blocks.get(key)
    if (known !== undefined) return known
    const headers = {
      'Content-Type': options.contentType,
      'Vitrine-State': state,
      ...options.toHeaders(channelUrl),
    }
    const block = toHeaderBlock(headers)
    blocks.set(key, block)
    return block
  }
}

/** Return the headers of this response only: alternating names and values. */
function toWidgetHeaders({ config }: Context, widget: AnyWidget, isShown: boolean): readonly string[] {
  const reason = isShown ? widget.explainMissing() : widget.explainHidden()
  if (reason === null && config.cacheTagHeader === null) return NO_HEADERS
  const { address, channel, gtins } = widget
  const taggedResource = { channelId: channel.id, gtins, isGrid: address.kind === 'deals' }
  return listHeaders({
    'Vitrine-Reason': reason === null ? undefined : toHeaderText(reason),
    ...toCacheTags(config.cacheTagHeader, taggedResource),
  }).flat()
}
