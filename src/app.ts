import type { RequestListener } from 'node:http'
import express, { type Express } from 'express'
import type { Context } from './context.ts'
import { createAdminAuth } from './http/admin-auth.ts'
import { createAssetsRouter } from './routes/assets.ts'
import { createDataRouter } from './routes/data.ts'
import { createDemoRouter } from './routes/demo.ts'
import { createEmbedsRouter } from './routes/embeds.ts'
import { createErrorHandler, throwUnknownAddress } from './routes/failures.ts'
import { createEventsRouter } from './routes/events.ts'
import { createFeedsRouter } from './routes/feeds.ts'
import { createFragmentsRouter } from './routes/fragments.ts'
import { createMailRouter } from './routes/mail.ts'
import { createOfferRedirectRouter } from './routes/offer-redirect.ts'
import { createHealthRouter } from './routes/health.ts'
import { createOembedRouter } from './routes/oembed.ts'
import { createOpenApiRouter } from './routes/openapi.ts'
import { createPicturesRouter } from './routes/pictures.ts'
import { createRequestCheck } from './routes/requests.ts'
import { createStudioRouter } from './routes/studio.ts'

/** Create the widget server: it sends cached responses directly and routes all other requests through Express. */
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
  app.use(createHealthRouter(context, { isStopping, adminAuth }))
  app.use(createEventsRouter(context, adminAuth))
  app.use(createDemoRouter(context))
  app.use(createStudioRouter(context, adminAuth))
  app.use(throwUnknownAddress)
  app.use(createErrorHandler(context, adminAuth))
  return app
}
