import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { LRUCache } from 'lru-cache'
import { MINUTE_MS, SECOND_MS } from '../clock.ts'
import type { Secret } from '../config/secrets.ts'
import { isAskedLocally } from '../http/local-demo.ts'
import type { ServiceMetrics } from './service-metrics.ts'

/** Wrong passwords from one address before it is locked, how long it stays so, and how many addresses are remembered. */
const MAX_WRONG = 10
const LOCKED_MS: number = 15 * MINUTE_MS
const MAX_ADDRESSES = 10_000

/** What the pages are made of. `isLocal`: the service listens on loopback. */
export type OperatorPagesOptions = Readonly<{
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
      const refusal = admit(request)
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
  adminPassword,
  isLocal,
}: OperatorPagesOptions): (request: IncomingMessage) => Page | undefined {
  if (adminPassword === null)
    return ({ headers }) =>
      isLocal && isAskedLocally(headers) ? undefined : toPage(404, { error: 'there is no such address' })
  const expected = digest(`admin:${adminPassword.reveal()}`)
  const wrong = new LRUCache<string, number>({ max: MAX_ADDRESSES, ttl: LOCKED_MS })
  return ({ headers, socket }) => {
    const address = socket.remoteAddress ?? ''
    const count = wrong.get(address) ?? 0
    if (count >= MAX_WRONG) return LOCKED
    const [scheme = '', encoded = ''] = (headers.authorization ?? '').split(' ')
    const given = scheme.toLowerCase() === 'basic' ? Buffer.from(encoded, 'base64').toString('utf8') : ''
    if (timingSafeEqual(digest(given), expected)) return undefined
    // A request without a password is a browser's first one, or a probe: it guesses nothing.
    if (headers.authorization !== undefined) wrong.set(address, count + 1)
    return NO_PASSWORD
  }
}

const LOCKED: Page = {
  ...toPage(429, {
    error: 'too many wrong admin passwords came from this address; it is locked for 15 minutes',
  }),
  headers: { 'Retry-After': String(LOCKED_MS / SECOND_MS) },
}

const NO_PASSWORD: Page = {
  ...toPage(401, { error: 'the user is admin, the password that of VITRINE_ADMIN_PASSWORD' }),
  headers: { 'WWW-Authenticate': 'Basic realm="Vitrine", charset="UTF-8"' },
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
