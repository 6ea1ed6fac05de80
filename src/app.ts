import type { RequestListener } from 'node:http'
import express, { type Express } from 'express'
import type { Context } from './context.ts'
import { createPrefixStripper } from './http/prefix.ts'
import { createAdminGate } from './http/admin-gate.ts'
import { createAssetsRouter } from './routes/assets.ts'
import { createDemoRouter } from './routes/demo.ts'
import { createEmbedSender, createEmbedsRouter } from './routes/embeds.ts'
import {
  createErrorHandler,
  refuseFragmentTargets,
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
import { type SendWidget, createPlainWidgets } from './routes/widget-routes.ts'
import type { Surface } from './widgets/options.ts'

/**
 * The widget server. It does no I/O of its own: everything long-lived comes in the context. Warm answers leave before
 * Express sees the request, and widgets at plain addresses are made before; everything else goes its way.
 */
export function createApp(context: Context, isStopping: () => boolean = () => false): RequestListener {
  const { answers } = context.memories
  const senders = createSenders(context)
  const app = createRouted(context, isStopping, senders)
  const answerPlain = createPlainWidgets(context, senders, app)
  return (request, response) => {
    if (!answers.answer(request, response) && !answerPlain(request, response)) app(request, response)
  }
}

/** What sends the widgets of each surface. */
type Senders = Readonly<Record<Surface, SendWidget>>

function createSenders(context: Context): Senders {
  return { fragment: createFragmentSender(context), embed: createEmbedSender(context) }
}

/** Every address and every failure, in reading order. */
export function createRouted(
  context: Context,
  isStopping: () => boolean,
  senders: Senders = createSenders(context),
): Express {
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
  app.use(
    createPrefixStripper(context.publicUrl),
    refuseOtherMethods,
    refuseLongAddresses,
    refuseFragmentTargets,
  )
  app.use(createFragmentsRouter(context, senders.fragment))
  app.use(createEmbedsRouter(context, senders.embed))
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
