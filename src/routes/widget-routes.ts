import { type ErrorRequestHandler, type Request, type Response, Router } from 'express'
import { LRUCache } from 'lru-cache'
import type { Channel } from '../catalog/contract.ts'
import type { Context } from '../context.ts'
import { ClosedAddressError, UnknownAddressError } from '../errors.ts'
import { isCountedRequest } from '../coverage/counted-requests.ts'
import type { CacheStatus } from '../freshness/age.ts'
import {
  type CacheLifetime,
  findChannelId,
  toCacheControl,
  toCacheStatus,
  toCacheTags,
} from '../http/cache-headers.ts'
import { findClientAddress } from '../http/client-address.ts'
import {
  type CachedResponse,
  type HeaderBlock,
  type WidgetBodies,
  sendPreparedResponse,
  toEtagOfSub,
  toHeaderBlock,
} from '../http/response-cache.ts'
import {
  type Headers,
  encodeBody,
  isEtagMatch,
  listHeaders,
  sendResponse,
  toHeaderText,
  toUtf8ByteString,
} from '../http/response.ts'
import { createSingleFlight } from '../lib/single-flight.ts'
import { removeSubSlots, toSubTemplate } from '../lib/sub-template.ts'
import { type WidgetAddress, type WidgetKind, hasEncodedOptionName } from '../widgets/address.ts'
import type { Surface } from '../widgets/options.ts'
import { getQueryString } from '../widgets/parameters.ts'
import type { AnyView } from '../widgets/view-models.ts'
import type { Widget } from '../widgets/widget.ts'
import { type FailureResponse, toFailureResponse, computeFailureStatus, normalizeError } from './failures.ts'
import { logResponse, logFailure } from './request-log.ts'
import { getParameter } from './requests.ts'

export type AnyWidget = Widget<AnyView>

/** The differences between surfaces. */
export type SurfaceDetails = Readonly<{
  surface: Surface
  /** Prefix of all addresses, such as `/fragments`. */
  prefix: string
  /** The widgets that the surface has, and their paths below the prefix. */
  paths: Readonly<Partial<Record<WidgetKind, string>>>
  contentType: string
  /** Type of what explains a wrong address; absent: the same. */
  messageType?: string
  /** Headers of all responses, besides those about the state of a widget. */
  toHeaders(channelUrl: string | null): Headers
  /** Return the ETag of a shown or hidden widget; `null`: no revalidation. */
  toEtag(digest: string, isShown: boolean): string | null
  render(view: AnyView | undefined, widget: AnyWidget): WidgetBodies | Promise<WidgetBodies>
  renderFailure(failure: FailureResponse, failed: FailedRequest): string
}>

/** `channel`: `null` if it is unknown. */
export type FailedRequest = Readonly<{ channelId: string; query: string; channel: Channel | null }>

/** Return the ETag of a surface that sends several encodings of a response, also of a hidden widget. */
export const toWeakEtag = (digest: string): string => `W/"${digest}"`

export const HTML_TYPE = 'text/html; charset=utf-8'

/** Paths of all widgets below a prefix. */
export const WIDGET_PATHS: Readonly<Record<WidgetKind, string>> = {
  'where-to-buy': '/:channel/where-to-buy{/*gtin}',
  picks: '/:channel/picks{/*gtin}',
  deals: '/:channel/deals',
}

/** Cached header blocks: one for each state and framing site. */
const MAX_HEADER_BLOCKS = 200
/** Requests for one box within this time share one preparation. */
const SHARED_PREPARATION_MS = 10
/** The client has the body, so nothing was rendered. */
const NOT_RENDERED: WidgetBodies = { template: { text: '', slots: [] } }
const NO_HEADERS: readonly string[] = []

/** Create the routes of the widgets on a surface. */
export function createWidgetRouter(context: Context, details: SurfaceDetails): Router {
  const { surface, prefix, paths } = details
  const send = createSender(context, details)
  const router = Router()
  const toWidgetRequest = createWidgetRequests(context, surface)
  for (const [kind, path] of Object.entries(paths))
    router.get(path, async (request, response) => {
      await send(request, response, toWidgetRequest[kind as WidgetKind](request))
    })
  router.use(() => {
    throw new UnknownAddressError(`no such address below ${prefix}`)
  })
  return createSurfaceRouter(context, details, router)
}

/** Create a router that refuses all addresses of a surface, with the reason. */
export function createClosedRouter(context: Context, details: SurfaceDetails, reason: string): Router {
  const router = Router()
  router.use(() => {
    throw new ClosedAddressError(reason)
  })
  return createSurfaceRouter(context, details, router)
}

function createSurfaceRouter(context: Context, details: SurfaceDetails, routes: Router): Router {
  const router = Router()
  router.use(details.prefix, routes, createWidgetErrorHandler(context, details))
  return router
}

/** Parse requests, by kind of the widget. Each function throws `BadOptionError`, `InvalidGtinError` or `GtinCountError`. */
function createWidgetRequests(
  { widgets, config }: Context,
  surface: Surface,
): Readonly<Record<WidgetKind, (request: Request) => WidgetRequest>> {
  return {
    'where-to-buy'(request) {
      const gtin = getParameter(request.params, 'gtin')
      const address = widgets.parseBoxAddress({ ...toAddressParts(request, surface), gtin })
      return { address, getWidget: () => widgets.getBox(address) }
    },
    picks(request) {
      const gtin = getParameter(request.params, 'gtin')
      const address = widgets.parsePicksAddress({ ...toAddressParts(request, surface), gtin })
      return { address, getWidget: () => widgets.getPicks(address) }
    },
    deals(request) {
      const address = widgets.parseGridAddress(toAddressParts(request, surface))
      const visitor = findClientAddress(request, config.trustProxy)
      return { address, getWidget: () => widgets.getGrid(address, visitor) }
    },
  }
}

/** Compress a text with slots for the id of the placement. */
export async function encodeTemplate(text: string): Promise<WidgetBodies> {
  const { gzip, br } = await encodeBody(removeSubSlots(text))
  return { template: toSubTemplate(toUtf8ByteString(text)), gzip, br }
}

/** Render a view as a fragment with slots for the id of the placement; empty for a hidden widget. */
export function renderView({ renderer }: Context, view: AnyView | undefined): string {
  if (view === undefined) return ''
  if ('deals' in view) return renderer.renderGrid(view)
  return 'products' in view ? renderer.renderPicks(view) : renderer.renderBox(view)
}

function toAddressParts(
  request: Request,
  surface: Surface,
): Readonly<{ surface: Surface; channelId: string; query: string }> {
  const channelId = getParameter(request.params, 'channel')
  return { surface, channelId, query: getQueryString(request.originalUrl) }
}

type WidgetRequest = Readonly<{ address: WidgetAddress; getWidget(): Promise<AnyWidget> }>

/** A response that concurrent requests share. Its bodies are cached (`knownBodies`) or rendered on demand. */
type Prepared = Readonly<{
  cached: Omit<CachedResponse, 'bodies'>
  knownBodies: WidgetBodies | undefined
  render(): WidgetBodies | Promise<WidgetBodies>
  status: CacheStatus
  kind: WidgetKind
}>

function createSender(
  context: Context,
  details: SurfaceDetails,
): (request: Request, response: Response, widgetRequest: WidgetRequest) => Promise<void> {
  const { clock } = context
  const { responses } = context.caches
  const singleFlight = createSingleFlight<Prepared>()
  const prepare = createPreparer(context, details)
  return async (request, response, { address, getWidget }) => {
    const { sub } = address
    const key = `${details.prefix}/${address.path}`
    const target = request.originalUrl
    const isCacheable = !hasEncodedOptionName(getQueryString(target))
    // The key may be cached even if this spelling of the target is not.
    if (isCacheable && responses.sendByKey({ key, sub }, { request, response, target })) return
    const prepareWidget = async (): Promise<Prepared> => {
      const prepared = prepare(key, await getWidget())
      // Concurrent requests share the encoded bodies.
      await getBodies(prepared, request, sub)
      return prepared
    }
    const timeSlot = Math.floor(clock.nowMs() / SHARED_PREPARATION_MS)
    // The grid queue must see each visitor to be fair.
    const preparing =
      address.kind === 'deals' ? prepareWidget() : singleFlight.run(`${key} ${timeSlot}`, prepareWidget)
    const prepared = await preparing.catch((error: unknown) => {
      countUnavailable(context, { address, error, request })
      throw error
    })
    const { status, kind } = prepared
    const cached = { ...prepared.cached, bodies: await getBodies(prepared, request, sub) }
    const state = cached.isShown ? 'shown' : 'hidden'
    logResponse(context, { surface: `${details.surface} ${kind}`, state, cache: status, request, response })
    cached.countProducts(request, sub)
    sendPreparedResponse(request, response, cached, {
      cacheControl: isCacheable ? toCacheControl(cached.lifetime, clock.nowMs()) : 'no-store',
      cacheStatus: toCacheStatus(status),
      sub,
    })
    if (isCacheable && cached.bodies !== NOT_RENDERED) responses.set({ key, sub }, cached, target)
  }
}

/** Skip rendering if the client has the body. */
function getBodies(
  { cached, knownBodies, render }: Prepared,
  request: Request,
  sub: string | null,
): WidgetBodies | Promise<WidgetBodies> {
  if (knownBodies !== undefined) return knownBodies
  const etag = toEtagOfSub(cached.etag, sub)
  const isNotModified = etag !== null && isEtagMatch(request.headers['if-none-match'], etag)
  return isNotModified ? NOT_RENDERED : render()
}

/** Create the function that prepares the response of a widget. It reuses cached bodies while the data are equal. */
function createPreparer(
  context: Context,
  details: SurfaceDetails,
): (key: string, widget: AnyWidget) => Prepared {
  const { logger, metrics, version } = context
  const { responses } = context.caches
  const getHeaders = createHeaderBlocks(details)
  const shouldLogEach = ({ status }: AnyWidget): boolean =>
    status === 'stale' && logger.isLevelEnabled('debug')
  return (key, widget) => {
    const { status } = widget
    const { kind } = widget.address
    const digest = widget.computeDigest(`${version} ${key}`)
    const cachedResponse = responses.find(key)
    const reusable =
      cachedResponse !== undefined && cachedResponse.digest === digest ? cachedResponse : undefined
    const view = reusable === undefined ? widget.getView() : undefined
    const isShown = reusable === undefined ? view !== undefined : reusable.isShown
    const state = isShown ? 'shown' : 'hidden'
    const cache = status === 'miss' ? 'hit' : status
    const response = {
      digest,
      etag: details.toEtag(digest, isShown),
      isShown,
      headers: getHeaders(state, widget.channel.url),
      ownHeaders: toWidgetHeaders(context, widget, isShown),
      lifetime: toCacheLifetime(context, widget, isShown),
      expiresAtMs: shouldLogEach(widget) ? 0 : widget.validUntilMs,
      cacheStatus: toCacheStatus(cache),
      countProducts: createProductCounter(context, details.surface, widget),
      countResponse: metrics.getResponseCounter({ surface: `${details.surface} ${kind}`, state, cache }),
    }
    let rendered: WidgetBodies | Promise<WidgetBodies> | undefined
    const render = (): WidgetBodies | Promise<WidgetBodies> => (rendered ??= details.render(view, widget))
    return { cached: response, knownBodies: reusable?.bodies, render, status, kind }
  }
}

/** Count the products of a widget whose data cannot be read. */
function countUnavailable(
  { coverage, publicUrl }: Context,
  { address, error, request }: Readonly<{ address: WidgetAddress; error: unknown; request: Request }>,
): void {
  const { surface, channelId, gtins, sub } = address
  const { state } = toFailureResponse(normalizeError(error, request.path), surface)
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
  details: SurfaceDetails,
): (state: string, channelUrl: string | null) => HeaderBlock {
  const blocks = new LRUCache<string, HeaderBlock>({ max: MAX_HEADER_BLOCKS })
  return (state, channelUrl) => {
    const key = `${state} ${channelUrl}`
    const known = blocks.get(key)
    if (known !== undefined) return known
    const headers = {
      'Content-Type': details.contentType,
      'Vitrine-State': state,
      ...details.toHeaders(channelUrl),
    }
    const block = toHeaderBlock(headers)
    blocks.set(key, block)
    return block
  }
}

/** Return the headers of this response only: alternating names and values. */
function toWidgetHeaders({ config }: Context, widget: AnyWidget, isShown: boolean): readonly string[] {
  const reason = isShown ? widget.missingReason : widget.hiddenReason
  if (reason === null && config.cacheTagHeader === null) return NO_HEADERS
  const { address, channel, gtins } = widget
  const taggedResource = { channelId: channel.id, gtins, isGrid: address.kind === 'deals' }
  return listHeaders({
    'Vitrine-Reason': reason === null ? undefined : toHeaderText(reason),
    ...toCacheTags(config.cacheTagHeader, taggedResource),
  }).flat()
}

function createWidgetErrorHandler(context: Context, details: SurfaceDetails): ErrorRequestHandler {
  const { surface } = details
  // oxlint-disable-next-line max-params -- Express knows an error handler by its four parameters
  return async (thrown: unknown, request, response, next) => {
    if (response.headersSent) return next(thrown)
    const error = normalizeError(thrown, request.path)
    const failure = toFailureResponse(error, surface)
    logFailure(context, { error, surface, state: failure.state, request, response })
    const channelId = findChannelId(request.path)
    // A browser shows a refused frame as an error, so the channel may frame failures, too.
    const channel = (channelId && (await context.channels.findChannel(channelId))) || null
    const failed = { channelId: channelId ?? '', query: getQueryString(request.originalUrl), channel }
    sendResponse(request, response, {
      status: computeFailureStatus(failure, error, request),
      headers: {
        ...toFailureHeaders(context, failure, channelId),
        'Content-Type': (failure.body === 'message' ? details.messageType : undefined) ?? details.contentType,
        ...details.toHeaders(channel?.url ?? null),
      },
      etag: null,
      getBody: () => Buffer.from(details.renderFailure(failure, failed)),
    })
  }
}

function toFailureHeaders(
  { clock, config }: Context,
  { state, isCacheable, message }: FailureResponse,
  channelId: string | null,
): Headers {
  const nowMs = clock.nowMs()
  const { priceMaxAgeSeconds, cacheTagHeader } = config
  const { freshSeconds } = config.freshness
  const lifetime = {
    asOfMs: nowMs,
    oldestPriceMs: null,
    saleEndMs: null,
    freshSeconds,
    priceMaxAgeSeconds,
    isGrid: true,
  }
  return {
    'Cache-Control': isCacheable ? toCacheControl(lifetime, nowMs) : 'no-store',
    'Vitrine-State': state,
    'Vitrine-Error': message === null ? undefined : toHeaderText(message),
    'Cache-Status': toCacheStatus(state === 'invalid' ? 'invalid' : 'unavailable'),
    // Responses that are not cached need no purge tags.
    ...(isCacheable && toCacheTags(cacheTagHeader, { channelId, gtins: [], isGrid: false })),
  }
}
