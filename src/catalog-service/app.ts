import express, {
  type Express,
  type NextFunction,
  type Request,
  type RequestHandler,
  type Response,
} from 'express'
import { CACHE_SECONDS, VERSION_PATH, type WireProductPage } from '../catalog/contract.ts'
import { type Clock, SECOND_MS, nextMidnightUtcMs } from '../clock.ts'
import type { Secret } from '../config/secrets.ts'
import { ServiceError } from '../errors.ts'
import { createAuthenticate } from './authenticate.ts'
import { createOpenApiRouter } from './openapi/routes.ts'
import { makeCursor, parseGtin, parsePageRequest } from './requests.ts'
import { fetchChannels, hasChannel } from './store/channels.ts'
import type { CatalogStore } from './store/open-store.ts'
import { fetchProductPage, findVisibleProduct } from './store/products.ts'
import { countRequest } from './store/usage.ts'

/** What the service runs on. */
export type CatalogServiceOptions = Readonly<{
  store: CatalogStore
  clock: Clock
  logger: Readonly<{ error(fields: object, words: string): void }>
  /** A key known to this process only, accepted beside the stored ones, for the catalog's first organization. */
  ownKey?: Secret
}>

/** Makes the Express app of the contract. It opens no socket. */
export function createCatalogServiceApp(options: CatalogServiceOptions): Express {
  const { store } = options
  const app = express()
  app.disable('x-powered-by')
  app.set('etag', 'strong')
  app.use(createOpenApiRouter())
  app.use(setHeaders, createGate(options))
  const channels = `${VERSION_PATH}/channels`
  app.route(channels).get(createChannelList(store)).all(refuseMethod)
  app.route(`${channels}/:channelId/products`).get(createProductList(store)).all(refuseMethod)
  app.route(`${channels}/:channelId/products/:gtin`).get(createProductLookup(store)).all(refuseMethod)
  app.use(() => {
    throw new ServiceError(404, 'there is no such address')
  })
  app.use(createErrorHandler(options))
  return app
}

/** The organization whose key made the request; the gate has put it there. */
function getOrganizationId(response: Response): string {
  return String(response.locals['organizationId'])
}

function setHeaders(_request: Request, response: Response, next: NextFunction): void {
  response.set({
    'Cache-Control': `private, max-age=${CACHE_SECONDS}`,
    Vary: 'Authorization',
    'X-Content-Type-Options': 'nosniff',
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
    'Referrer-Policy': 'no-referrer',
  })
  next()
}

/** Key first, then the daily limit: a 401 is not counted, everything else is, whatever it is answered with. */
function createGate(options: CatalogServiceOptions): RequestHandler {
  const authenticate = createAuthenticate(options.store, options.ownKey)
  return async (request, response, next) => {
    const organization = await authenticate(request.get('Authorization'))
    if (!(await countRequest(options.store, organization))) {
      throw new ServiceError(429, 'the daily request limit is reached; it resets at 00:00 UTC')
    }
    response.locals['organizationId'] = organization.id
    next()
  }
}

function createChannelList(store: CatalogStore): RequestHandler {
  return async (_request, response) => {
    response.json({ items: await fetchChannels(store, getOrganizationId(response)) })
  }
}

function createProductList(store: CatalogStore): RequestHandler<{ channelId: string }> {
  return async (request, response) => {
    const page = parsePageRequest(request.query)
    const channelId = await getChannelId(store, request, response)
    const { items, lastGtin } = await fetchProductPage(store, { channelId, ...page })
    const body: WireProductPage = { items, next_cursor: lastGtin === null ? null : makeCursor(lastGtin) }
    response.json(body)
  }
}

function createProductLookup(store: CatalogStore): RequestHandler<{ channelId: string; gtin: string }> {
  return async (request, response) => {
    const gtin = parseGtin(request.params.gtin)
    const channelId = await getChannelId(store, request, response)
    const product = await findVisibleProduct(store, channelId, gtin)
    if (product === undefined)
      throw new ServiceError(404, 'no shop that the channel is approved for sells it')
    response.json(product)
  }
}

/** A channel of another organization is as unknown as one that does not exist. */
async function getChannelId(
  store: CatalogStore,
  request: Request<{ channelId: string }>,
  response: Response,
): Promise<string> {
  const channelId = request.params.channelId.toLowerCase()
  if (await hasChannel(store, getOrganizationId(response), channelId)) return channelId
  throw new ServiceError(404, 'there is no such channel')
}

function refuseMethod(_request: Request, response: Response): void {
  // An unread body would otherwise stay in the way of the next request on this connection.
  response.set({ Allow: 'GET, HEAD', Connection: 'close' })
  throw new ServiceError(405, 'only GET is possible here')
}

/** Answers `{ "error": … }`. Express knows an error handler by its four parameters. */
function createErrorHandler(options: CatalogServiceOptions) {
  // oxlint-disable-next-line max-params -- Express counts them
  return (error: unknown, request: Request, response: Response, next: NextFunction): void => {
    if (response.headersSent) return next(error)
    const answer = toServiceError(error)
    if (answer.statusCode === 500) {
      options.logger.error({ err: error, path: request.path }, 'the catalog service failed to answer')
    }
    // A product that nobody sells is an answer like any other; every other error should be asked about again.
    if (answer.statusCode !== 404) response.set('Cache-Control', 'no-store')
    if (answer.statusCode === 401) response.set('WWW-Authenticate', 'Bearer')
    if (answer.statusCode === 429)
      response.set('Retry-After', String(computeSecondsToMidnight(options.clock)))
    response.status(answer.statusCode).json({ error: answer.publicMessage })
  }
}

/** Errors of Express's own carry a 4xx (a badly encoded address); anything else is a fault of ours. */
function toServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error
  const status = error instanceof Error && 'status' in error ? error.status : undefined
  if (status === 400) return new ServiceError(400, 'the address is malformed')
  return new ServiceError(500, 'something went wrong in the catalog service')
}

function computeSecondsToMidnight(clock: Clock): number {
  const nowMs = clock.nowMs()
  return Math.max(1, Math.ceil((nextMidnightUtcMs(nowMs) - nowMs) / SECOND_MS))
}
