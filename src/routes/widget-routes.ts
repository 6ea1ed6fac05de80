import { LRUCache } from 'lru-cache'
import { match } from 'path-to-regexp'
import type { Context } from '../context.ts'
import { isCountedRequest } from '../coverage/counted-requests.ts'
import { ClosedAddressError, UnavailableError, UnknownAddressError } from '../errors.ts'
import type { CacheStatus } from '../freshness/age.ts'
import { type CacheLifetime, toCacheControl, toCacheStatus, toCacheTags } from '../http/cache-headers.ts'
import { toVisitor } from '../http/client-address.ts'
import { type BodySource, openBody } from '../http/render-queue.ts'
import {
  type CachedResponse,
  type HeaderBlock,
  findEncoding,
  isBodyKnown,
  sendPreparedResponse,
  toHeaderBlock,
} from '../http/response-cache.ts'
import { listHeaders, toHeaderText, toUtf8ByteString } from '../http/response.ts'
import { type BodyForm, WidgetBodies } from '../http/widget-bodies.ts'
import { createSingleFlight } from '../lib/concurrency.ts'
import type { Visitor } from '../lib/fair-queue.ts'
import { toSubTemplate } from '../lib/sub-template.ts'
import { type WidgetAddress, hasEncodedOptionName } from '../widgets/address.ts'
import type { WidgetKind } from '../widgets/option-list.ts'
import type { Surface } from '../widgets/options.ts'
import { getQueryString } from '../widgets/parameters.ts'
import type { AnyView } from '../widgets/view-models.ts'
import type { AnyWidget, OpenedWidget } from '../widgets/widgets.ts'
import {
  type FailureOptions,
  type SurfaceExchange,
  createFailureSender,
  normalizeError,
  toFailureResponse,
} from './failures.ts'
import { logFailure, logResponse } from './request-log.ts'
import { type Exchange, getPath } from './requests.ts'

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

/** Return the ETag of a surface that sends several encodings of a response, also of a hidden widget. */
export const toWeakEtag = (digest: string): string => `W/"${digest}"`

export const HTML_TYPE = 'text/html; charset=utf-8'

/** Paths of all widgets below a prefix, as Express writes them. */
export const WIDGET_PATHS: Readonly<Record<WidgetKind, string>> = {
  'where-to-buy': '/:channel/where-to-buy{/*gtin}',
  picks: '/:channel/picks{/*gtin}',
  deals: '/:channel/deals',
}

/** Cached header blocks: one for each state and framing site. */
const MAX_HEADER_BLOCKS = 200
/** Requests for one box within this time share one preparation. */
const SHARED_PREPARATION_MS = 10
const NO_HEADERS: readonly string[] = []

/** All addresses below a prefix. They are served before Express, which would cost as much as all other steps of a response. */
export type WidgetSurface = Readonly<{
  prefix: string
  /** Send a widget, or report why it cannot be sent. */
  serve(exchange: Exchange): Promise<void>
}>

/** Create the addresses of the widgets on a surface. */
export function createWidgetSurface(context: Context, options: SurfaceOptions): WidgetSurface {
  const { surface, prefix, paths } = options
  const send = createSender(context, options)
  const routes = Object.entries(paths).map(([kind, path]) => ({
    kind: kind as WidgetKind,
    matchPath: match<{ channel: string; gtin?: string[] }>(path),
  }))
  const open = ({ request, path }: SurfaceExchange): OpenedWidget => {
    for (const { kind, matchPath } of routes) {
      const matched = matchPath(path)
      if (matched === false) continue
      const { channel: channelId, gtin = [] } = matched.params
      const query = getQueryString(request.originalUrl)
      return context.widgets.open(kind, { surface, channelId, gtin: gtin.join('/'), query })
    }
    throw new UnknownAddressError(`no such address below ${prefix}`)
  }
  return createSurface(context, options, (exchange) => send(exchange, open(exchange)))
}

/** Create a surface that refuses all addresses, with the reason. */
export function createClosedSurface(
  context: Context,
  options: SurfaceOptions,
  reason: string,
): WidgetSurface {
  return createSurface(context, options, () => {
    throw new ClosedAddressError(reason)
  })
}

function createSurface(
  context: Context,
  options: SurfaceOptions,
  serve: (exchange: SurfaceExchange) => Promise<void>,
): WidgetSurface {
  const { prefix } = options
  const sendFailure = createFailureSender(context, options)
  return {
    prefix,
    async serve(exchange) {
      const surfaceExchange = { ...exchange, path: getPath(exchange.request).slice(prefix.length) }
      try {
        await serve(surfaceExchange)
      } catch (error) {
        await sendFailure(error, surfaceExchange).catch((bug: unknown) => {
          logFailure(context, { error: bug, surface: options.surface, state: 'unavailable', ...exchange })
          exchange.response.destroy()
        })
      }
    },
  }
}

/** Render a view as a fragment with slots for the id of the placement; empty for a hidden widget. */
export function renderView({ renderer }: Context, view: AnyView | undefined): string {
  return view === undefined ? '' : renderer.renderWidget(view)
}

/** A response without its bodies, which concurrent requests share. */
type Prepared = Pick<BodySource, 'makeBodies'> &
  Readonly<{ cached: CachedResponse; status: CacheStatus; kind: WidgetKind }>

/** What is known before the data of a response are read. */
type PreparationStart = Readonly<{ key: string; sequence: number }>

/** A request for a widget. `key`: the address without the id of the placement. `target`: as received; `null`: not to be cached. */
type WidgetExchange = OpenedWidget &
  Exchange &
  Readonly<{ key: string; target: string | null; visitor: Required<Visitor> }>

function createSender(
  context: Context,
  options: SurfaceOptions,
): (exchange: Exchange, opened: OpenedWidget) => Promise<void> {
  const sendUncached = createUncachedSender(context, options)
  const { responses } = context.caches
  return async ({ request, response }, opened) => {
    const { address } = opened
    const { sub } = address
    const key = `${options.prefix}/${address.path}`
    // The key may be cached even if this spelling of the target is not.
    const target = hasEncodedOptionName(getQueryString(request.originalUrl)) ? null : request.originalUrl
    if (target !== null && responses.sendByKey({ key, sub }, { request, response }))
      return responses.addTarget({ key, sub }, target)
    const visitor = toVisitor(request, context.config.trustProxy)
    try {
      await sendUncached({ ...opened, key, target, request, response, visitor })
    } catch (error) {
      // Nobody reads the response, so it says nothing about the data.
      if (visitor.isGone() && error instanceof UnavailableError) return
      countUnavailable(context, { address, error, request })
      throw error
    }
  }
}

/** Create the function that prepares, renders and sends a response, and caches it. */
function createUncachedSender(
  context: Context,
  options: SurfaceOptions,
): (exchange: WidgetExchange) => Promise<void> {
  const { clock, renderQueue } = context
  const { responses } = context.caches
  const singleFlight = createSingleFlight<Prepared>()
  const prepare = createPreparer(context, options)
  let sequence = 0
  const toForm = ({ address, request }: WidgetExchange): BodyForm => ({
    sub: address.sub,
    encoding: findEncoding(request, options),
  })
  const getPrepared = ({ address, key, visitor, getWidget }: WidgetExchange): Promise<Prepared> => {
    const prepareWidget = async (): Promise<Prepared> => {
      sequence += 1
      const start = { key, sequence }
      return prepare(start, await getWidget(visitor))
    }
    const timeSlot = Math.floor(clock.nowMs() / SHARED_PREPARATION_MS)
    // The grid queue must see each visitor to be fair.
    return address.kind === 'deals' ? prepareWidget() : singleFlight.run(`${key} ${timeSlot}`, prepareWidget)
  }
  const open = (exchange: WidgetExchange, source: BodySource): Promise<string> =>
    openBody({ queue: renderQueue, store: responses }, source, {
      ...toForm(exchange),
      visitor: exchange.visitor,
    })
  const addTarget = ({ key, address, target }: WidgetExchange): void => {
    if (target !== null) responses.addTarget({ key, sub: address.sub }, target)
  }
  /** Send a cached response that has yet to be compressed as the client needs it. */
  const sendCurrent = async (
    exchange: WidgetExchange,
    current: CachedResponse,
    bodies: WidgetBodies,
  ): Promise<void> => {
    const body = await open(exchange, { digest: current.digest, makeBodies: () => bodies })
    const { address, request, response, visitor } = exchange
    if (visitor.isGone()) return
    responses.send(current, { request, response, sub: address.sub, body })
    addTarget(exchange)
  }
  const sendPrepared = async (exchange: WidgetExchange, prepared: Prepared): Promise<void> => {
    const { address, target, request, response, visitor } = exchange
    const { cached, status, kind, makeBodies } = prepared
    const { sub } = address
    const isKnown = isBodyKnown(request, cached.etag, sub)
    const body = isKnown ? null : await open(exchange, { digest: cached.digest, makeBodies })
    if (visitor.isGone()) return
    const state = cached.isShown ? 'shown' : 'hidden'
    logResponse(context, { surface: `${options.surface} ${kind}`, state, cache: status, request, response })
    cached.countProducts(request, sub)
    sendPreparedResponse(request, response, cached, {
      cacheControl: target === null ? 'no-store' : toCacheControl(cached.lifetime, clock.nowMs()),
      cacheStatus: toCacheStatus(status),
      body,
      ...toForm(exchange),
    })
    addTarget(exchange)
  }
  return async (exchange) => {
    const { key, target, visitor } = exchange
    const current = target === null ? undefined : responses.findCurrent(key)
    const bodies = current && responses.findBodies(current.digest)
    if (current !== undefined && bodies !== undefined) return sendCurrent(exchange, current, bodies)
    const prepared = await getPrepared(exchange)
    if (!visitor.isGone()) await sendPrepared(exchange, prepared)
  }
}

/** Create the function that prepares the response of a widget, without its bodies: those of equal data are reused. */
function createPreparer(
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

/** Count the products of a widget whose data cannot be read. */
function countUnavailable(
  { coverage, publicUrl }: Context,
  {
    address,
    error,
    request,
  }: Readonly<{ address: WidgetAddress; error: unknown; request: Exchange['request'] }>,
): void {
  const { surface, channelId, gtins, sub } = address
  const { state } = toFailureResponse(normalizeError(error, getPath(request)), surface)
  if (state !== 'unavailable' || !isCountedRequest(request, surface, publicUrl)) return
  for (const gtin of gtins) coverage.countWidget({ channelId, gtin, sub: sub ?? '', state })
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
