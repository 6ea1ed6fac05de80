import express, { type Express, type NextFunction, type Request, type Response } from 'express'
import type { CatalogHandler } from './handler.ts'
import { createOpenApiRouter } from './openapi/routes.ts'

/** Makes the Express app around the interface: its description, and whatever else is asked. It opens no socket. */
export function createCatalogServiceApp(handler: CatalogHandler): Express {
  const app = express()
  app.disable('x-powered-by')
  app.set('etag', 'strong')
  app.use(createOpenApiRouter())
  app.use((request, response) => void handler.answer(request, response))
  // oxlint-disable-next-line max-params -- Express knows an error handler by its four parameters
  app.use((error: unknown, request: Request, response: Response, _next: NextFunction) =>
    handler.fail(request, response, error),
  )
  return app
}
