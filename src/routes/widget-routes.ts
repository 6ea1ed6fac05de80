import { type Request, type Response, Router } from 'express'
import type { Context } from '../context.ts'
import type { Surface } from '../widgets/options.ts'
import { type AnyWidget, getParameter, parseQuery } from './widget-answer.ts'

/** A widget, and the exchange that asked for it. */
export type WidgetExchange = Readonly<{ request: Request; response: Response; widget: AnyWidget }>

/** Routes of both widgets on a surface: parse, get, and `send`. */
export function createWidgetRoutes(
  { widgets }: Context,
  surface: Surface,
  send: (exchange: WidgetExchange) => Promise<void>,
): Router {
  const router = Router()
  router.get(`/${surface}s/:channel/where-to-buy{/*gtin}`, async (request, response) => {
    const channelId = getParameter(request.params, 'channel')
    const gtin = getParameter(request.params, 'gtin')
    const widget = await widgets.getBox({ channelId, gtin, query: parseQuery(request), surface })
    await send({ request, response, widget })
  })
  router.get(`/${surface}s/:channel/deals`, async (request, response) => {
    const channelId = getParameter(request.params, 'channel')
    const widget = await widgets.getGrid({ channelId, query: parseQuery(request), surface })
    await send({ request, response, widget })
  })
  return router
}
