import type { IncomingMessage, ServerResponse } from 'node:http'
import { createAdminLimiter } from '../http/admin-limiter.ts'
import type { Clock } from '../clock.ts'
import type { Secret } from '../config/secrets.ts'
import { refuseUnlessAdmin } from '../http/admin-password.ts'
import { toLimiterKey } from '../http/client-address.ts'
import { isAskedLocally } from '../http/local-demo.ts'
import type { ServiceMetrics } from './service-metrics.ts'

/** What the pages are made of. `isLocal`: the service listens on loopback. */
export type OperatorPagesOptions = Readonly<{
  clock: Clock
  metrics: ServiceMetrics
  adminPassword: Secret | null
  isLocal: boolean
  /** Rejects when the database cannot be read. */
  readDatabase(): Promise<unknown>
}>

type Page = Readonly<{ status: number; body: string; headers?: Readonly<Record<string, string>> }>

/**
 * `/healthz`, `/readyz` and `/metrics` of a catalog service that runs alone. They need no API key and count against no limit.
 * The returned function answers `false` for every other address, and leaves the request alone.
 */
export function createOperatorPages(
  options: OperatorPagesOptions,
): (request: IncomingMessage, response: ServerResponse) => boolean {
  const admit = createMetricsGate(options)
  const pages: Readonly<Record<string, (request: IncomingMessage) => Promise<Page>>> = {
    '/healthz': () => Promise.resolve(toPage(200, { status: 'ok' })),
    '/readyz': () =>
      options.readDatabase().then(
        () => toPage(200, { ready: true, reason: 'the database can be read' }),
        () => toPage(503, { ready: false, error: 'the database cannot be read' }),
      ),
    '/metrics': async (request) => {
      const refusal = await admit(request)
      if (refusal !== undefined) return refusal
      const { contentType, text } = await options.metrics.print()
      return { status: 200, body: text, headers: { 'Content-Type': contentType } }
    },
  }
  return (request, response) => {
    const [path = ''] = (request.url ?? '').split('?', 1)
    const make = Object.hasOwn(pages, path) ? pages[path] : undefined
    if (make === undefined) return false
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    const page = isRead ? make(request) : Promise.resolve(NOT_ALLOWED)
    page.then((made) => send(request, response, made)).catch(() => response.destroy())
    return true
  }
}

const NOT_ALLOWED: Page = {
  ...toPage(405, { error: 'only GET is possible here' }),
  headers: { Allow: 'GET, HEAD', Connection: 'close' },
}

function toPage(status: number, value: unknown): Page {
  return { status, body: JSON.stringify(value) }
}

function send(request: IncomingMessage, response: ServerResponse, { status, body, headers }: Page): void {
  response.writeHead(status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'Content-Length': Buffer.byteLength(body),
    ...headers,
  })
  response.end(request.method === 'HEAD' ? undefined : body)
}

/**
 * Who may read the metrics, as on a widget server: everybody who knows the admin password; without one only this machine,
 * and not through a proxy. Answers how anybody else is refused.
 */
function createMetricsGate({
  clock,
  adminPassword,
  isLocal,
}: OperatorPagesOptions): (request: IncomingMessage) => Promise<Page | undefined> {
  if (adminPassword === null)
    return ({ headers }) =>
      Promise.resolve(isLocal && isAskedLocally(headers) ? undefined : toPage(404, { error: NO_ADDRESS }))
  const limiter = createAdminLimiter(clock)
  return async ({ headers: { authorization }, socket }) => {
    const address = toLimiterKey(socket.remoteAddress ?? '') ?? ''
    const refusal = await refuseUnlessAdmin({ limiter, password: adminPassword }, { authorization, address })
    if (refusal === null) return undefined
    return { ...toPage(refusal.status, { error: refusal.message }), headers: refusal.headers }
  }
}

const NO_ADDRESS = 'there is no such address'
