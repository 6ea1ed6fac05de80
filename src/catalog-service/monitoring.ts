import { type Request, type Response, Router } from 'express'
import { Histogram } from 'prom-client'
import { type Clock, SECOND_MS } from '../clock.ts'
import type { Secret } from '../config/secrets.ts'
import { createAdminLimiter } from '../http/admin-limiter.ts'
import { findAdminRefusal } from '../http/admin-auth.ts'
import { isLocalRequest, toLimiterKey } from '../http/client-address.ts'
import { sendJson, sendResponse } from '../http/response.ts'
import { LogRateLimiter } from '../observability/log-rate-limiter.ts'
import { type FeedReport, toFeedGauges } from '../catalog/feed-report.ts'
import { createFeedGauges, createRegistry } from '../observability/metrics.ts'
import { readFeedReport } from './feeds/feed-warnings.ts'
import { rejectMethod } from './responses.ts'
import type { CatalogStore } from './store/catalog-store.ts'

export type StandaloneOptions = Readonly<{
  adminPassword: Secret | null
  isLocal: boolean
  logger: Readonly<{ info(fields: object, message: string): void }>
  /** From this age on, the prices of a feed count as too old. */
  priceMaxAgeSeconds: number
}>

/** `locals`: values for the request log and the metrics, once they are known. */
export type ServiceResponse = Response<unknown, { operation?: string; organizationId?: string }>

const PATHS = ['/healthz', '/readyz', '/metrics']

const RESPONSE_HEADERS = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' }

const RESPONSE_TIME_BUCKETS_SECONDS = [0.001, 0.005, 0.025, 0.1, 0.5, 1, 5]

/** Longer paths are cut in the log; every valid path is shorter. */
const MAX_PATH_CHARACTERS = 200

/** API keys that were put into a path by mistake must not be logged. */
const API_KEY_PATTERN = /vk_[\w-]+/g

/** Serve `/healthz`, `/readyz` and `/metrics` without an API key or limit; log, measure and pass on every other request. */
export function createMonitoringRouter(store: CatalogStore, options: StandaloneOptions): Router {
  const { clock } = store
  const metrics = createMetrics()
  const readFeeds = (): Promise<FeedReport | undefined> =>
    readFeedReport(store, { ...options, hasWarnings: false }).catch(() => undefined)
  const findRefusal = createRefusalFinder(clock, options)
  const router = Router({ strict: true, caseSensitive: true })
  router.use(PATHS, (_request, response, next) => {
    response.set(RESPONSE_HEADERS)
    next()
  })
  router.get('/healthz', (request, response) => sendJson(request, response, { status: 'ok' }))
  // Balancers send no password: only the detail depends on it.
  router.get('/readyz', async (request, response) => {
    try {
      // A cheap query: no organization has an empty id.
      await store.fetchChannels('')
      const isAdmin = request.headers.authorization !== undefined && (await findRefusal(request)) === null
      const report = isAdmin ? await readFeeds() : undefined
      const readiness = { ready: true, reason: 'the database can be read' }
      const value = { ...readiness, ...(report && { detail: { feeds: report.feeds } }) }
      sendJson(request, response, value)
    } catch {
      const value = { ready: false, error: 'the database cannot be read' }
      sendJson(request, response, value, { status: 503 })
    }
  })
  router.get('/metrics', async (request, response) => {
    const refusal = await findRefusal(request)
    if (refusal !== null) return sendJson(request, response, { error: refusal.message }, refusal)
    metrics.setFeedGauges(toFeedGauges(await readFeeds(), clock.nowMs()))
    const { contentType, text } = await metrics.render()
    sendResponse(request, response, { headers: { 'Content-Type': contentType }, body: text })
  })
  router.all(PATHS, rejectMethod)
  router.use(createRequestLog(clock, metrics, options.logger))
  return router
}

type Refusal = Readonly<{ status: number; headers: Record<string, string>; message: string }>

/** Require the admin password; without one, admit only requests from this machine that did not pass through a proxy. */
function createRefusalFinder(clock: Clock, { adminPassword, isLocal }: StandaloneOptions) {
  const limiter = createAdminLimiter(clock)
  return async ({ headers, socket }: Request): Promise<Refusal | null> => {
    if (adminPassword === null)
      return isLocal && isLocalRequest(headers)
        ? null
        : { status: 404, headers: {}, message: 'there is no such address' }
    const address = toLimiterKey(socket.remoteAddress ?? '') ?? ''
    return findAdminRefusal(
      { limiter, password: adminPassword },
      { authorization: headers.authorization, address },
    )
  }
}

/** `operation` comes from a fixed list, so that callers cannot create new time series. */
function createMetrics() {
  const { registry, createCounter, render } = createRegistry()
  const responses = createCounter(
    'vitrine_catalog_service_responses_total',
    'Responses of the catalog service by operation and status',
    ['operation', 'status'],
  )
  const seconds = new Histogram({
    name: 'vitrine_catalog_service_response_seconds',
    help: 'Time from a request to the end of its response, by operation',
    labelNames: ['operation'],
    buckets: RESPONSE_TIME_BUCKETS_SECONDS,
    registers: [registry],
  })
  return { responses, seconds, setFeedGauges: createFeedGauges(registry), render }
}

/** Log and count each request, without its query, headers or client address. The number of log lines is limited. */
function createRequestLog(
  clock: Clock,
  metrics: ReturnType<typeof createMetrics>,
  logger: StandaloneOptions['logger'],
) {
  const lineLimiter = new LogRateLimiter(clock)
  return (request: Request, response: ServiceResponse, next: () => void): void => {
    const startedMs = clock.nowMs()
    response.once('close', () => {
      const durationMs = Math.max(0, clock.nowMs() - startedMs)
      const { operation = 'other', organizationId } = response.locals
      const status = response.statusCode
      metrics.responses.inc({ operation, status: String(status) })
      metrics.seconds.observe({ operation }, durationMs / SECOND_MS)
      const suppressedLines = lineLimiter.tryAcquire()
      if (suppressedLines === undefined) return
      const path = request.path.slice(0, MAX_PATH_CHARACTERS).replace(API_KEY_PATTERN, '[redacted]')
      const fields = {
        method: request.method,
        path,
        status,
        durationMs,
        ...(organizationId !== undefined && { organizationId }),
        ...(!response.writableFinished && { isCutOff: true }),
        ...(suppressedLines > 0 && { leftOut: suppressedLines }),
      }
      logger.info(fields, 'request completed')
    })
    next()
  }
}
