import express, { type Express } from 'express'
import type { CatalogHandler } from './handler.ts'

/** Makes the Express app around the interface. It opens no socket. */
export function createCatalogServiceApp(handle: CatalogHandler): Express {
  const app = express()
  app.disable('x-powered-by')
  app.use((request, response) => void handle(request, response))
  return app
}
