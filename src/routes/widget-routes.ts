import { type Request, Router } from 'express'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Context } from '../context.ts'
import type { AskedRequest, NotedResponse } from '../http/answer.ts'
import { createSingleFlight } from '../lib/single-flight.ts'
import { createStrip } from '../http/prefix.ts'
import { type PlainAddress, readPlainAddress } from '../widgets/addresses.ts'
import type { Surface } from '../widgets/options.ts'
import { findClientAddress } from './client-address.ts'
import { parseQueryString } from '../widgets/query.ts'
import { noteArrival } from './note-answer.ts'
import { type AnyWidget, getParameter, parseQuery } from './widget-answer.ts'

/** A widget, and the exchange that asked for it. */
export type WidgetExchange = Readonly<{ request: AskedRequest; response: NotedResponse; widget: AnyWidget }>

/** Sends a widget on one surface. */
export type SendWidget = (exchange: WidgetExchange) => Promise<void>

/** Who comes to one address within this time waits with the others, and is given the same widget. */
const TOGETHER_MS = 10

/** Failures of plain addresses on their way to the router. */
const failures = new WeakMap<IncomingMessage, Readonly<{ error: unknown }>>()

/**
 * Answers plain addresses of boxes, whichever surface, without a router: nearly everything that is not warm is one of
 * them, and a router costs more than the widget. A grid needs the visitor's address, which Express finds. What fails goes to the routes, which know every form of a failure.
 * `false`: nothing was done.
 */
export function createPlainWidgets(
  context: Context,
  senders: Readonly<Record<Surface, SendWidget>>,
  fail: (request: IncomingMessage, response: ServerResponse) => void,
): (request: IncomingMessage, response: ServerResponse) => boolean {
  const strip = createStrip(context.publicUrl)
  const flights = createSingleFlight<AnyWidget>()
  return (request, response) => {
    const { method, url = '' } = request
    const address = strip(url)
    const plain = method === 'GET' || method === 'HEAD' ? readPlainAddress(address) : undefined
    if (plain === undefined || plain.gtin === null) return false
    const { gtin } = plain
    const moment = Math.floor(context.clock.nowMs() / TOGETHER_MS)
    // As Express would, so that whoever comes later finds them.
    const exchange = {
      request: Object.assign(request, { originalUrl: url }),
      response: Object.assign(response, { locals: {} }),
    }
    noteArrival(context, exchange.response)
    flights
      .run(`${moment} ${address}`, () => getPlainBox(context, { ...plain, gtin }))
      .then((widget) => senders[plain.surface]({ ...exchange, widget }))
      .catch((error: unknown) => {
        failures.set(request, { error })
        fail(request, response)
      })
    return true
  }
}

function getPlainBox(
  { widgets }: Context,
  { surface, channelId, gtin, query }: PlainAddress & Readonly<{ gtin: string }>,
): Promise<AnyWidget> {
  return widgets.getBox({ surface, channelId, gtin, query: parseQueryString(query) })
}

/** Routes of both widgets on a surface, for every spelling of their addresses. */
export function createWidgetRoutes(context: Context, surface: Surface, send: SendWidget): Router {
  const { widgets } = context
  const router = Router()
  router.get(`/${surface}s/:channel/where-to-buy{/*gtin}`, async (request, response) => {
    throwFailure(request)
    const channelId = getParameter(request.params, 'channel')
    const gtin = getParameter(request.params, 'gtin')
    const widget = await widgets.getBox({ channelId, gtin, query: parseQuery(request), surface })
    await send({ request, response, widget })
  })
  router.get(`/${surface}s/:channel/deals`, async (request, response) => {
    throwFailure(request)
    const channelId = getParameter(request.params, 'channel')
    const visitor = findClientAddress(context, request)
    const widget = await widgets.getGrid({ channelId, query: parseQuery(request), surface, visitor })
    await send({ request, response, widget })
  })
  return router
}

/** What has failed already is not tried again. */
function throwFailure(request: Request): void {
  const failure = failures.get(request)
  if (failure !== undefined) throw failure.error
}
