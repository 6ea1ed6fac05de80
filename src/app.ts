import type { RequestListener } from 'node:http'
import express, { type Express } from 'express'
import type { Context } from './context.ts'
import { createPrefixStripper } from './http/prefix.ts'
import { createAdminGate } from './routes/admin-gate.ts'
import { createAssetsRouter } from './routes/assets.ts'
import { createDemoRouter } from './routes/demo.ts'
import { createEmbedSender, createEmbedsRouter } from './routes/embeds.ts'
import {
  createErrorHandler,
  refuseLongAddresses,
  refuseOtherMethods,
  throwUnknownAddress,
} from './routes/error-handler.ts'
import { createFragmentSender, createFragmentsRouter } from './routes/fragments.ts'
import { createGalleryRouter } from './routes/gallery.ts'
import { createGoRouter } from './routes/go.ts'
import { createHealthRouter } from './routes/health.ts'
import { noteArrival } from './routes/note-answer.ts'
import { createOembedRouter } from './routes/oembed.ts'
import { createStudioRouter } from './routes/studio.ts'
import { createPlainWidgets } from './routes/widget-routes.ts'

/**
 * The widget server. It does no I/O of its own: everything long-lived comes in the context. Warm answers leave before
 * Express sees the request, and widgets at plain addresses are made before; everything else goes its way.
 */
export function createApp(context: Context, isStopping: () => boolean = () => false): RequestListener {
  const { answers } = context.memories
  const senders = { fragment: createFragmentSender(context), embed: createEmbedSender(context) }
  const app = createRouted(context, isStopping)
  const answerPlain = createPlainWidgets(context, senders, app)
  return (request, response) => {
    if (!answers.answer(request, response) && !answerPlain(request, response)) app(request, response)
  }
}

/** Every address and every failure, in reading order. */
export function createRouted(context: Context, isStopping: () => boolean): Express {
  const app = express()
  const gate = createAdminGate(context)
  app.disable('x-powered-by')
  app.set('etag', false)
  app.set('query parser', false)
  app.set('trust proxy', context.config.trustProxy)

  app.use((_request, response, next) => {
    noteArrival(context, response)
    next()
  })
  app.use(createPrefixStripper(context.publicUrl), refuseOtherMethods, refuseLongAddresses)
  app.use(createFragmentsRouter(context, createFragmentSender(context)))
  app.use(createEmbedsRouter(context, createEmbedSender(context)))
  app.use(createOembedRouter(context))
  app.use(createGoRouter(context))
  app.use(createAssetsRouter(context))
  app.use(createHealthRouter(context, { isStopping, gate }))
  app.use(createDemoRouter(context))
  app.use(createStudioRouter(context, gate))
  app.use(createGalleryRouter(context, gate))
  app.use(throwUnknownAddress)
  app.use(createErrorHandler(context))
  return app
}
