import { hash } from 'node:crypto'
import { type ErrorRequestHandler, type Request, type Response, Router } from 'express'
import { LRUCache } from 'lru-cache'
import type { Context } from '../context.ts'
import { UnknownAddressError } from '../errors.ts'
import { type Headers, type WidgetState, listHeaders, sendAnswer, toHeaderText } from '../http/answer.ts'
import {
  type Ages,
  findChannelId,
  toCacheControl,
  toCacheStatus,
  toCacheTags,
} from '../http/cache-headers.ts'
import { isNoneMatch } from '../http/etag.ts'
import {
  type Bodies,
  type CachedResponse,
  type HeaderBlock,
  sendPrepared,
  toHeaderBlock,
} from '../http/response-cache.ts'
import { createSingleFlight } from '../lib/single-flight.ts'
import type { Surface } from '../widgets/options.ts'
import { type WidgetAddress, findQuery, hasEncodedOptionName } from '../widgets/address.ts'
import type { BoxView, GridView } from '../widgets/view-models.ts'
import type { Widget } from '../widgets/widgets.ts'
import { findClientAddress } from '../http/client-address.ts'
import { type FailureForm, toFailureForm, toFailureStatus, toKnownError } from './failure-forms.ts'
import { noteAnswer, noteFailure } from './note-answer.ts'
import { getParameter } from './requests.ts'

export type AnyView = BoxView | GridView
export type AnyWidget = Widget<BoxView> | Widget<GridView>

/** What a surface adds to a widget. */
export type SurfaceDetails = Readonly<{
  surface: Surface
  /** Headers of every response, beside those that tell the state of a widget. */
  toHeaders(channelUrl: string | null): Headers
  /** Return the validator of a shown or hidden widget; `null`: there is nothing to revalidate. */
  toEtag(digest: string, isShown: boolean): string | null
  render(widget: AnyWidget, view: AnyView | undefined): Promise<Bodies>
  /** Return the body of a failed request. */
  renderFailure(form: FailureForm): string
}>

/** Header blocks that are kept: one for each state and site that may frame. */
const MAX_HEADER_BLOCKS = 200
/** Visitors who ask for one widget within this time share one look at its data. */
const TOGETHER_MS = 10

/** The routes of both widgets on a surface, and what its failures look like. */
export function createWidgetRouter(context: Context, details: SurfaceDetails): Router {
  const { widgets } = context
  const { surface } = details
  const send = createSender(context, details)
  const router = Router()
  router.get(`/${surface}s/:channel/where-to-buy{/*gtin}`, async (request, response) => {
    const gtin = getParameter(request.params, 'gtin')
    const address = widgets.parseBoxAddress({ ...toParts(request, surface), gtin })
    await send(request, response, { address, getWidget: () => widgets.getBox(address) })
  })
  router.get(`/${surface}s/:channel/deals`, async (request, response) => {
    const address = widgets.parseGridAddress(toParts(request, surface))
    const visitor = findClientAddress(request, context.config.trustProxy)
    await send(request, response, { address, getWidget: () => widgets.getGrid(address, visitor) })
  })
  router.use(`/${surface}s`, () => {
    throw new UnknownAddressError(`no such ${surface}`)
  })
  router.use(`/${surface}s`, createWidgetErrorHandler(context, details))
  return router
}

/** Render a view as a fragment; nothing to show is no byte at all. */
export function renderView({ renderer }: Context, { kind }: AnyWidget, view: AnyView | undefined): string {
  if (view === undefined) return ''
  return kind === 'deals' ? renderer.renderGrid(view as GridView) : renderer.renderBox(view as BoxView)
}

function toParts(
  request: Request,
  surface: Surface,
): Readonly<{ surface: Surface; channelId: string; query: string }> {
  const channelId = getParameter(request.params, 'channel')
  return { surface, channelId, query: findQuery(request.originalUrl) }
}

type Asked = Readonly<{ address: WidgetAddress; getWidget(): Promise<AnyWidget> }>

/** Create the function that sends a widget, and caches its response. */
function createSender(
  context: Context,
  details: SurfaceDetails,
): (request: Request, response: Response, asked: Asked) => Promise<void> {
  const { clock, logger } = context
  const { responses } = context.memories
  const together = createSingleFlight<AnyWidget>()
  const prepare = createPreparer(context, details)
  return async (request, response, { address, getWidget }) => {
    const key = `${details.surface}s/${address.path}`
    const target = request.originalUrl
    const isStorable = !hasEncodedOptionName(findQuery(target))
    // The target is another spelling of one that is cached.
    if (isStorable && responses.sendByKey(key, { request, response, target })) return
    const moment = Math.floor(clock.nowMs() / TOGETHER_MS)
    // The queue of grids is fair only while it knows each visitor.
    const widget = await (address.gtin === null ? getWidget() : together.run(`${key} ${moment}`, getWidget))
    const prepared = await prepare(key, widget, request.headers['if-none-match'])
    const state = prepared.isShown ? 'shown' : 'hidden'
    const surface = `${details.surface} ${widget.kind}`
    noteAnswer(context, { surface, state, cache: widget.status, request, response })
    sendPrepared(request, response, prepared, {
      cacheControl: isStorable ? toCacheControl(prepared.ages, clock.nowMs()) : 'no-store',
      cacheStatus: toCacheStatus(widget.status),
    })
    if (!isStorable || prepared.bodies === NOT_RENDERED) return
    // Each stale response is logged where that is asked for.
    const isLogged = widget.status === 'stale' && logger.isLevelEnabled('debug')
    responses.set(key, isLogged ? { ...prepared, expiresAtMs: 0 } : prepared, target)
  }
}

/** The body of a visitor who has it already: nothing was rendered. */
const NOT_RENDERED: Bodies = { identity: '' }

/** Create the function that makes the response of a widget, from bodies in the cache where its data are still the same. */
function createPreparer(
  context: Context,
  details: SurfaceDetails,
): (key: string, widget: AnyWidget, ifNoneMatch: string | undefined) => Promise<CachedResponse> {
  const { surface } = details
  const { metrics } = context
  const { responses } = context.memories
  const rendering = createSingleFlight<Bodies>()
  const blocks = new LRUCache<string, HeaderBlock>({ max: MAX_HEADER_BLOCKS })
  const getHeaders = (state: WidgetState, channelUrl: string | null): HeaderBlock => {
    const key = `${state} ${channelUrl}`
    const known = blocks.get(key)
    if (known !== undefined) return known
    const block = toHeaderBlock({
      'Content-Type': 'text/html; charset=utf-8',
      'Vitrine-State': state,
      ...details.toHeaders(channelUrl),
    })
    blocks.set(key, block)
    return block
  }
  const getContent = async (
    key: string,
    widget: AnyWidget,
    ifNoneMatch: string | undefined,
  ): Promise<Pick<CachedResponse, 'digest' | 'etag' | 'isShown' | 'bodies'>> => {
    const digest = hash('sha256', `${context.version} ${key} ${widget.digest}`, 'base64url').slice(0, 27)
    const cached = responses.find(key)
    if (cached?.digest === digest) return cached
    const view = widget.getView()
    const isShown = view !== undefined
    const etag = details.toEtag(digest, isShown)
    if (etag !== null && isNoneMatch(ifNoneMatch, etag))
      return { digest, etag, isShown, bodies: NOT_RENDERED }
    const bodies = await rendering.run(`${key} ${digest}`, () => details.render(widget, view))
    return { digest, etag, isShown, bodies }
  }
  return async (key, widget, ifNoneMatch) => {
    const { digest, etag, isShown, bodies } = await getContent(key, widget, ifNoneMatch)
    const state = isShown ? 'shown' : 'hidden'
    const cache = widget.status === 'miss' ? 'hit' : widget.status
    return {
      digest,
      etag,
      isShown,
      bodies,
      headers: getHeaders(state, widget.channel.url),
      own: toOwnHeaders(context, widget, isShown),
      ages: toAges(context, widget, isShown),
      expiresAtMs: widget.currentUntilMs,
      cacheStatus: toCacheStatus(cache),
      count: metrics.getAnswerCounter({ surface: `${surface} ${widget.kind}`, state, cache }),
    }
  }
}

const NO_HEADERS: readonly string[] = []

/** Headers of one response alone, names and values in turn. */
function toOwnHeaders({ config }: Context, widget: AnyWidget, isShown: boolean): readonly string[] {
  if (isShown && config.cacheTagHeader === null) return NO_HEADERS
  const { address, channel } = widget
  return listHeaders({
    'Vitrine-Reason': isShown ? undefined : toHeaderText(widget.hiddenReason),
    ...toCacheTags(config.cacheTagHeader, {
      channelId: channel.id,
      gtin: address.gtin,
      isGrid: widget.kind === 'deals',
    }),
  }).flat()
}

function toAges({ config }: Context, widget: AnyWidget, isShown: boolean): Ages {
  return {
    asOfMs: widget.asOfMs,
    oldestPriceMs: isShown ? widget.oldestPriceMs : null,
    config: config.freshness,
    priceMaxAgeSeconds: config.priceMaxAgeSeconds,
    isGrid: widget.kind === 'deals',
  }
}

/** Nothing to show, or a mistake in a template that is named. */
function createWidgetErrorHandler(context: Context, details: SurfaceDetails): ErrorRequestHandler {
  const { surface } = details
  // oxlint-disable-next-line max-params -- Express knows an error handler by its four parameters
  return async (failure: unknown, request, response, next) => {
    if (response.headersSent) return next(failure)
    const error = toKnownError(failure, request.path)
    const form = toFailureForm(error, surface)
    noteFailure(context, { error, surface, state: form.state, request, response })
    const channelId = findChannelId(request.path)
    // A browser shows a frame that it refuses as an error: these, too, may stand in the channel's own pages.
    const channel = channelId === null ? undefined : await context.channels.findKnown(channelId)
    sendAnswer(request, response, {
      status: toFailureStatus(form, error, request),
      headers: { ...toFailureHeaders(context, form, channelId), ...details.toHeaders(channel?.url ?? null) },
      etag: null,
      getBody: () => Buffer.from(details.renderFailure(form)),
    })
  }
}

function toFailureHeaders(
  { clock, config }: Context,
  { state, isCacheable, message }: FailureForm,
  channelId: string | null,
): Headers {
  const nowMs = clock.nowMs()
  const { freshness, priceMaxAgeSeconds, cacheTagHeader } = config
  const ages = { asOfMs: nowMs, oldestPriceMs: null, config: freshness, priceMaxAgeSeconds, isGrid: true }
  return {
    'Content-Type': 'text/html; charset=utf-8',
    'Cache-Control': isCacheable ? toCacheControl(ages, nowMs) : 'no-store',
    'Vitrine-State': state,
    'Vitrine-Error': message ?? undefined,
    'Cache-Status': toCacheStatus(state === 'invalid' ? 'invalid' : 'unavailable'),
    // What may not be stored is never purged.
    ...(isCacheable && toCacheTags(cacheTagHeader, { channelId, gtin: null, isGrid: false })),
  }
}
