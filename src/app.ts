import type { RequestListener } from 'node:http'
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import express from 'express'
import type { Express } from 'express'
import { SECOND_MS } from './clock.ts'
import type { Context } from './context.ts'
import { UnavailableError } from './errors.ts'
import { createAdminAuth } from './http/admin-auth.ts'
import { toVisitor } from './http/client-address.ts'
import { createFairQueue } from './lib/fair-queue.ts'
import { createAssetsRouter } from './routes/assets.ts'
import { createDataSurface } from './routes/data.ts'
import { createDemoRouter } from './routes/demo.ts'
import { createEmbedsSurface } from './routes/embeds.ts'
import { abandonExchange, createErrorHandler, throwUnknownAddress } from './routes/failures.ts'
import { createEventsRouter, createFeedsSurface } from './routes/feeds.ts'
import { createFragmentsSurface } from './routes/fragments.ts'
import { createHealthRouter } from './routes/health.ts'
import { createMailSurface } from './routes/mail.ts'
import { createOembedRouter } from './routes/oembed.ts'
import { createOfferRedirectRouter } from './routes/offer-redirect.ts'
import { createOpenApiRouter } from './routes/openapi.ts'
import { createPicturesRouter } from './routes/pictures.ts'
import { type Exchange, createRequestCheck, getPath } from './routes/requests.ts'
import { createStudioRouter } from './routes/studio.ts'

/** Requests of a turn of the event loop: 3 ms of work. All others wait: each connection has one, so their number is limited. */
const ROUTING_LIMITS = { parallelTasks: 16, maxWaiting: Infinity, maxWaitingPerVisitor: Infinity }
/** The server would end connections without progress at about this time. */
const ROUTING_TIMEOUT_MS: number = 15 * SECOND_MS

/** Create the widget server: it sends cached responses directly. All other requests wait their turn, by client. */
export function createApp(context: Context, isStopping: () => boolean = () => false): RequestListener {
  const { responses } = context.caches
  const checkRequest = createRequestCheck(context)
  const runInTurn = createTurns(context)
  const surfaces = new Map(
    [
      createFragmentsSurface(context),
      createEmbedsSurface(context),
      createDataSurface(context),
      createMailSurface(context),
      createFeedsSurface(context),
    ].map((surface) => [surface.prefix, surface]),
  )
  const app = createRoutes(context, { isStopping, runInTurn })
  return (request, response) => {
    if (responses.sendByTarget(request, response)) return
    const exchange = checkRequest(request, response)
    if (exchange === undefined) return
    const surface = surfaces.get(findPrefix(exchange.request))
    if (surface === undefined) app(request, response)
    else
      runInTurn(exchange, () => void surface.serve(exchange)).catch((error: unknown) =>
        abandonExchange(context, exchange, { error, surface: 'page' }),
      )
  }
}

/** Return the first segment of a path, with its slash. */
function findPrefix(request: Exchange['request']): string {
  const path = getPath(request)
  const end = path.indexOf('/', 1)
  return (end === -1 ? path : path.slice(0, end)).toLowerCase()
}

/** Pass an exchange on in the client's turn, unless the client is gone by then or its response was cached meanwhile. */
type RunInTurn = (exchange: Exchange, serve: () => void) => Promise<void>

function createRoutes(
  context: Context,
  { isStopping, runInTurn }: Readonly<{ isStopping: () => boolean; runInTurn: RunInTurn }>,
): Express {
  const app = express()
  const adminAuth = createAdminAuth(context)
  app.disable('x-powered-by')
  app.set('etag', false)
  app.set('query parser', false)
  app.set('trust proxy', context.config.trustProxy)

  // Load balancers do not wait for the requests of visitors.
  app.use(createHealthRouter(context, { isStopping, adminAuth }))
  app.use((request, response, next) => runInTurn({ request, response }, next))
  app.use(createOembedRouter(context))
  app.use(createOfferRedirectRouter(context))
  app.use(createAssetsRouter(context))
  app.use(createOpenApiRouter(context))
  app.use(createPicturesRouter(context))
  app.use(createEventsRouter(context, adminAuth))
  app.use(createDemoRouter(context))
  app.use(createStudioRouter(context, adminAuth))
  app.use(throwUnknownAddress)
  app.use(createErrorHandler(context, adminAuth))
  return app
}

function createTurns({ clock, config, caches }: Context): RunInTurn {
  const queue = createFairQueue(clock, ROUTING_LIMITS)
  return async ({ request, response }, serve) => {
    const visitor = toVisitor(request, config.trustProxy)
    try {
      await queue.run({ ...visitor, timeoutMs: ROUTING_TIMEOUT_MS }, async () => {
        await yieldToEventLoop()
        if (!visitor.isGone() && !caches.responses.sendByTarget(request, response)) serve()
      })
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error
      request.socket.destroy()
    }
  }
}
