import { readFileSync } from 'node:fs'
import { parse as parseQuery } from 'node:querystring'
import express, { type Express, type NextFunction, type Request, type Response, Router } from 'express'
import { CACHE_SECONDS, VERSION_PATH } from '../catalog/contract.ts'
import { SECOND_MS, computeNextMidnightUtcMs } from '../clock.ts'
import type { Secret } from '../config/secrets.ts'
import { isInvalidStatement, isProgramFault } from '../database/failures.ts'
import { CatalogServiceError, StoreError } from '../errors.ts'
import { createGuardedServer } from '../http/guarded-server.ts'
import { listen } from '../http/listen.ts'
import { JSON_TYPE, createEtag, sendResponse } from '../http/response.ts'
import { createAuthenticator } from './authenticate.ts'
import { type ServiceResponse, type StandaloneOptions, createMonitoringRouter } from './monitoring.ts'
import { createCursor, parseGtin, parsePageRequest } from './requests.ts'
import { type Result, formatRefusal, rejectMethod, sendError, sendResult } from './responses.ts'
import type { CatalogStore, ChannelQuery } from './store/catalog-store.ts'

/** How long `close` waits for unfinished responses before it cuts their connections. */
const CLOSE_GRACE_PERIOD_MS: number = 2 * SECOND_MS

/** Channel ids are uuids. PostgreSQL rejects some other texts, such as those with U+0000. */
const CHANNEL_ID_PATTERN = /^[0-9a-f-]{36}$/

const CHANNEL_NOT_FOUND = 'there is no such channel'

/** The OpenAPI document of the service. Tests validate every response against it. */
const DOCUMENT_FILE = new URL('openapi.json', import.meta.url)

const DOCUMENT_HEADERS = {
  'Referrer-Policy': 'no-referrer',
  'Content-Type': JSON_TYPE,
  'Cache-Control': `public, max-age=${CACHE_SECONDS}`,
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
}

export type CatalogServiceOptions = Readonly<{
  store: CatalogStore
  logger: Readonly<{ error(fields: object, message: string): void }>
  /** A key that only this process knows. It is accepted for the catalog's first organization. */
  internalKey?: Secret
  /** Set for a standalone service: adds health and metrics endpoints, a request log and compression. */
  standalone?: StandaloneOptions
}>

/** A catalog service. Closing it does not close the store. */
export type CatalogService = Readonly<{
  /** Start to listen, or throw as `listen` does; port 0 chooses a free port. `url` is `{base_url}` without a trailing slash. */
  listen(host: string, port: number): Promise<{ url: string }>
  /** Stop listening and end all connections. Closing twice, or before listening, does nothing. */
  close(): Promise<void>
}>

export function createCatalogService(options: CatalogServiceOptions): CatalogService {
  const app = createApp(options)
  const guarded = createGuardedServer({
    options: {},
    handleRequest: app,
    // Handle a request with `Expect` like any other: no body is ever read.
    handleExpectation: app,
    formatRefusal,
  })
  return {
    async listen(host, port) {
      const assignedPort = await listen(guarded.server, host, port)
      return { url: `http://${host.includes(':') ? `[${host}]` : host}:${assignedPort}` }
    },
    async close() {
      if (guarded.server.listening) await guarded.end(options.store.clock, CLOSE_GRACE_PERIOD_MS)
    },
  }
}

function createApp(options: CatalogServiceOptions): Express {
  const app = express()
  app.disable('x-powered-by')
  app.set('etag', false)
  // A repeated parameter becomes a list. `maxKeys: 0`: no limit, so that padding cannot hide a parameter.
  app.set('query parser', (text: string) => parseQuery(text, '&', '=', { maxKeys: 0 }))
  if (options.standalone) app.use(createMonitoringRouter(options.store, options.standalone))
  app.use(createDocumentRouter())
  app.use(createApiRouter(options))
  // oxlint-disable-next-line max-params -- Express knows an error handler by its four parameters
  app.use((error: unknown, request: Request, response: Response, _next: NextFunction) => {
    const failure = toServiceError(error)
    if (failure !== error)
      options.logger.error({ err: error, path: request.path }, 'catalog service request failed')
    sendError(request, response, failure)
  })
  return app
}

/** Serve the OpenAPI document without a key, uncounted. */
function createDocumentRouter(): Router {
  const body = readFileSync(DOCUMENT_FILE, 'utf8')
  const etag = createEtag(body)
  const router = Router({ strict: true, caseSensitive: true })
  router.get('/openapi.json', (request, response) => {
    sendResponse(request, response, { headers: DOCUMENT_HEADERS, etag, body })
  })
  router.all('/openapi.json', rejectMethod)
  return router
}

/** Serve the contract's operations (section 4): check the key, then the daily limit, then the path, so that errors count too. */
function createApiRouter({ store, internalKey, standalone }: CatalogServiceOptions): Router {
  const { clock } = store
  const authenticate = createAuthenticator(store, internalKey)
  const admit = async (request: Request, response: ServiceResponse): Promise<string> => {
    const { organization, keyId } = await authenticate(request.headers.authorization)
    const receivedAtMs = clock.nowMs()
    if (!(await store.countRequest(organization))) throw toLimitError(receivedAtMs, clock.nowMs())
    if (keyId !== null) store.recordKeyUse(keyId)
    response.locals.organizationId = organization.id
    return organization.id
  }
  const serve =
    (operation: string, handle: (request: Request, organizationId: string) => Promise<Result>) =>
    async (request: Request, response: ServiceResponse): Promise<void> => {
      response.locals.operation = operation
      const organizationId = await admit(request, response)
      if (request.method !== 'GET' && request.method !== 'HEAD')
        throw new CatalogServiceError(405, 'only GET and HEAD are allowed here')
      const result = await handle(request, organizationId)
      sendResult(request, response, { ...result, canCompress: standalone !== undefined })
    }
  // Strict: a path that ends in "products/" is a look-up without a GTIN, not the list.
  const router = Router({ strict: true })
  router.all(
    `${VERSION_PATH}/channels{/}`,
    serve('listChannels', async (_request, id) => ({ value: { items: await store.fetchChannels(id) } })),
  )
  router.all(
    `${VERSION_PATH}/channels/:channelId/products`,
    serve('listProducts', (request, id) => fetchPage(store, request, id)),
  )
  router.all(
    `${VERSION_PATH}/channels/:channelId/products/:gtin{/}`,
    serve('getProduct', (request, id) => findProduct(store, request, id)),
  )
  router.use(async (request, response) => {
    await admit(request, response)
    throw new CatalogServiceError(404, 'there is no such address')
  })
  // oxlint-disable-next-line max-params -- Express knows an error handler by its four parameters
  router.use(async (error: unknown, request: Request, response: Response, _next: NextFunction) => {
    // Express failed to decode a parameter before the key was checked: check it now.
    if (!(error instanceof URIError)) throw error
    await admit(request, response)
    throw new CatalogServiceError(400, 'the address is malformed')
  })
  return router
}

function parseChannelQuery({ params }: Request, organizationId: string): ChannelQuery {
  const channelId = String(params['channelId']).toLowerCase()
  if (!CHANNEL_ID_PATTERN.test(channelId)) throw new CatalogServiceError(404, CHANNEL_NOT_FOUND)
  return { organizationId, channelId }
}

async function fetchPage(store: CatalogStore, request: Request, organizationId: string): Promise<Result> {
  const pageRequest = parsePageRequest(request.query)
  const page = await store.fetchPage({ ...parseChannelQuery(request, organizationId), ...pageRequest })
  if (page === undefined) throw new CatalogServiceError(404, CHANNEL_NOT_FOUND)
  const { items, lastGtin, changesAtMs } = page
  const value = { items, next_cursor: lastGtin === null ? null : createCursor(lastGtin) }
  return { value, changesInMs: computeChangesInMs(store, changesAtMs) }
}

function computeChangesInMs({ clock }: CatalogStore, changesAtMs: number | null): number | undefined {
  return changesAtMs === null ? undefined : changesAtMs - clock.nowMs()
}

async function findProduct(store: CatalogStore, request: Request, organizationId: string): Promise<Result> {
  const gtin = parseGtin(request.params['gtin'])
  const found = await store.findProduct(parseChannelQuery(request, organizationId), gtin)
  if (found === undefined) throw new CatalogServiceError(404, CHANNEL_NOT_FOUND)
  if (found === null) throw new CatalogServiceError(404, 'no shop that the channel is approved for sells it')
  return { value: found.product, changesInMs: computeChangesInMs(store, found.changesAtMs) }
}

function toServiceError(error: unknown): CatalogServiceError {
  if (error instanceof CatalogServiceError) return error
  if (error instanceof StoreError && !isInvalidStatement(error) && !isProgramFault(error))
    return new CatalogServiceError(503, 'the catalog is busy; try again in a moment')
  return new CatalogServiceError(500, 'something went wrong in the catalog service')
}

/** Compute `Retry-After` from the time of the request: one that came before midnight counted on the previous day. */
function toLimitError(receivedAtMs: number, nowMs: number): CatalogServiceError {
  const waitMs = Math.max(0, computeNextMidnightUtcMs(receivedAtMs) - nowMs)
  const seconds = Math.max(1, Math.ceil(waitMs / SECOND_MS))
  return new CatalogServiceError(429, 'the daily request limit is reached; it resets at 00:00 UTC', seconds)
}
