import { match } from 'path-to-regexp'
import { SECOND_MS } from '../clock.ts'
import type { Context } from '../context.ts'
import { isCountedRequest } from '../coverage/counted-requests.ts'
import { ClosedAddressError, StoreError, UnavailableError, UnknownAddressError } from '../errors.ts'
import { classifyAge } from '../freshness/age.ts'
import { type CacheLifetime, toCacheControl, toCacheStatus } from '../http/cache-headers.ts'
import { toVisitor } from '../http/client-address.ts'
import { type BodySource, openBody } from '../http/render-queue.ts'
import {
  type CachedResponse,
  findEncoding,
  isBodyKnown,
  sendPreparedResponse,
} from '../http/response-cache.ts'
import type { BodyForm, WidgetBodies } from '../http/widget-bodies.ts'
import { createSingleFlight } from '../lib/concurrency.ts'
import type { Visitor } from '../lib/fair-queue.ts'
import { type WidgetAddress, hasEncodedOptionName } from '../widgets/address.ts'
import type { WidgetKind } from '../widgets/option-list.ts'
import { getQueryString } from '../widgets/parameters.ts'
import type { AnyView } from '../widgets/view-models.ts'
import type { OpenedWidget } from '../widgets/widgets.ts'
import {
  type SurfaceExchange,
  abandonExchange,
  createFailureSender,
  isRetriedElsewhere,
  normalizeError,
  toFailureResponse,
} from './failures.ts'
import { type Prepared, type SurfaceOptions, createPreparer } from './prepare-response.ts'
import { logResponse } from './request-log.ts'
import { type Exchange, getPath } from './requests.ts'

/** Return the ETag of a surface that sends several encodings of a response, also of a hidden widget. */
export const toWeakEtag = (digest: string): string => `W/"${digest}"`

export const HTML_TYPE = 'text/html; charset=utf-8'

/** Paths of all widgets below a prefix, as Express writes them. */
export const WIDGET_PATHS: Readonly<Record<WidgetKind, string>> = {
  'where-to-buy': '/:channel/where-to-buy{/*gtin}',
  picks: '/:channel/picks{/*gtin}',
  deals: '/:channel/deals',
}

/** Requests for one box within this time share one preparation. */
const SHARED_PREPARATION_MS = 10

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
        await sendFailure(error, surfaceExchange).catch((bug: unknown) =>
          abandonExchange(context, exchange, { error: bug, surface: options.surface }),
        )
      }
    },
  }
}

/** Render a view as a fragment with slots for the id of the placement; empty for a hidden widget. */
export function renderView({ renderer }: Context, view: AnyView | undefined): string {
  return view === undefined ? '' : renderer.renderWidget(view)
}

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
  const sendNew = async (exchange: WidgetExchange): Promise<void> => {
    const { key, target, visitor } = exchange
    const current = target === null ? undefined : responses.findCurrent(key)
    const bodies = current && responses.findBodies(current.digest)
    if (current !== undefined && bodies !== undefined) return sendCurrent(exchange, current, bodies)
    const prepared = await getPrepared(exchange)
    if (!visitor.isGone()) await sendPrepared(exchange, prepared)
  }
  return (exchange) =>
    sendNew(exchange).catch(async (error: unknown) => {
      const last = findLastResponse(context, exchange, error)
      if (last === undefined) throw error
      await sendPrepared(exchange, last)
    })
}

/** Find the last response if the database cannot be read and nothing newer is known, unless another server may have newer data. */
function findLastResponse(
  context: Context,
  { key, address, request }: WidgetExchange,
  error: unknown,
): Prepared | undefined {
  const { responses } = context.caches
  const cached = responses.findLast(key)
  const bodies = cached && responses.findBodies(cached.digest)
  const isUnread = error instanceof StoreError || (error instanceof UnavailableError && error.isUnread)
  if (!isUnread || isRetriedElsewhere(error, request) || cached === undefined || bodies === undefined)
    return undefined
  const isShown = cached.isShown && isShowable(context, cached.lifetime)
  return isShown ? { cached, status: 'rescued', kind: address.kind, makeBodies: () => bodies } : undefined
}

/** Whether old data may still be shown, with the prices in them. */
function isShowable(
  { clock, config }: Context,
  { asOfMs, oldestPriceMs, saleEndMs }: CacheLifetime,
): boolean {
  const nowMs = clock.nowMs()
  const age = classifyAge(asOfMs, nowMs, config.freshness)
  const arePricesOld = oldestPriceMs !== null && nowMs - oldestPriceMs > config.priceMaxAgeSeconds * SECOND_MS
  return age !== 'gone' && age !== 'unknown' && !arePricesOld && (saleEndMs === null || saleEndMs > nowMs)
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
