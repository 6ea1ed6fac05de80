import type { RequestListener } from 'node:http'
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import express from 'express'
import type { Express, RequestHandler } from 'express'
import { SECOND_MS } from './clock.ts'
import type { Context } from './context.ts'
import { UnavailableError } from './errors.ts'
import { createAdminAuth } from './http/admin-auth.ts'
import { toVisitor } from './http/client-address.ts'
import { createFairQueue } from './lib/fair-queue.ts'
import { createAssetsRouter } from './routes/assets.ts'
import { createDataRouter } from './routes/data.ts'
import { createDemoRouter } from './routes/demo.ts'
import { createEmbedsRouter } from './routes/embeds.ts'
import { createErrorHandler, throwUnknownAddress } from './routes/failures.ts'
import { createEventsRouter, createFeedsRouter } from './routes/feeds.ts'
import { createFragmentsRouter } from './routes/fragments.ts'
import { createHealthRouter } from './routes/health.ts'
import { createMailRouter } from './routes/mail.ts'
import { createOembedRouter } from './routes/oembed.ts'
import { createOfferRedirectRouter } from './routes/offer-redirect.ts'
import { createOpenApiRouter } from './routes/openapi.ts'
import { createPicturesRouter } from './routes/pictures.ts'
import { createRequestCheck } from './routes/requests.ts'
import { createStudioRouter } from './routes/studio.ts'

/** Requests of a turn of the event loop: 3 ms of work. All others wait: each connection has one, so their number is limited. */
const ROUTING_LIMITS = { parallelTasks: 16, maxWaiting: Infinity, maxWaitingPerVisitor: Infinity }
/** The server would end connections without progress at about this time. */
const ROUTING_TIMEOUT_MS: number = 15 * SECOND_MS

/** Create the widget server: it sends cached responses directly and routes all other requests through Express, in turn by client. */
export function createApp(context: Context, isStopping: () => boolean = () => false): RequestListener {
  const { responses } = context.caches
  const app = createRoutes(context, isStopping)
  return (request, response) => {
    if (!responses.sendByTarget(request, response)) app(request, response)
  }
}

function createRoutes(context: Context, isStopping: () => boolean): Express {
  const app = express()
  const adminAuth = createAdminAuth(context)
  app.disable('x-powered-by')
  app.set('etag', false)
  app.set('query parser', false)
  app.set('trust proxy', context.config.trustProxy)

  app.use(createRequestCheck(context))
  // Load balancers do not wait for the requests of visitors.
  app.use(createHealthRouter(context, { isStopping, adminAuth }))
  app.use(createTurns(context))
  app.use(createFragmentsRouter(context))
  app.use(createEmbedsRouter(context))
  app.use(createDataRouter(context))
  app.use(createMailRouter(context))
  app.use(createFeedsRouter(context))
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

/** Create the handler in which clients take turns. A response that was cached meanwhile is sent. */
function createTurns({ clock, config, caches }: Context): RequestHandler {
  const queue = createFairQueue(clock, ROUTING_LIMITS)
  return async (request, response, next) => {
    const visitor = toVisitor(request, config.trustProxy)
    try {
      await queue.run({ ...visitor, timeoutMs: ROUTING_TIMEOUT_MS }, async () => {
        await yieldToEventLoop()
        if (!visitor.isGone() && !caches.responses.sendByTarget(request, response)) next()
      })
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error
      request.socket.destroy()
    }
  }
}
