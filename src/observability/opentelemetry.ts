import { AsyncLocalStorage } from 'node:async_hooks'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import {
  type Attributes,
  type Context,
  DiagLogLevel,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  diag,
  trace,
} from '@opentelemetry/api'
import { parseTraceParent, setGlobalErrorHandler } from '@opentelemetry/core'
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import {
  type Resource,
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources'
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { type Clock, MINUTE_MS, SECOND_MS, isWithin } from '../clock.ts'
import type { Environment } from '../config/config.ts'
import { redactSecrets } from '../config/secrets.ts'
import { VERSION } from '../lib/files.ts'
import { tryWithTimeout } from '../lib/with-timeout.ts'
import type { Logger } from './logger.ts'

/** A call of the catalog. `url`: without a query; `template`: its path with names in place of ids. */
export type TracedCall = Readonly<{ url: string; template: string }>

/** Run a call in a client span. The call reports the status of each response. */
export type TraceCall = <T>(
  call: TracedCall,
  send: (onStatus: (statusCode: number) => void) => Promise<T>,
) => Promise<T>

/** Traces of one process (ADR 0040). */
export type Tracing = Readonly<{
  /** Wrap a listener so that each request has a server span, except requests of health checks. */
  traceRequests(listener: RequestListener, publicUrl: string): RequestListener
  traceCall: TraceCall
  /** Export the last spans, for a second at most. `false`: they could not be exported in time. */
  stop(): Promise<boolean>
}>

export type TracingOptions = Readonly<{ environment: Environment; clock: Clock; logger: Logger }>

/** The protocols of OTLP over HTTP. */
export type TraceProtocol = 'http/protobuf' | 'http/json'

/** How often failed exports are logged while the collector is unavailable. */
const FAILURE_LOG_MS: number = 10 * MINUTE_MS

/** Limit for the last export; the server must end within ten seconds. */
const FLUSH_TIMEOUT_MS: number = SECOND_MS

/** Load balancers and containers send these requests every few seconds. */
const HEALTH_PATHS: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics'])

/** Longest text of an attribute: a visitor can request an address of 8,000 characters. */
const MAX_ATTRIBUTE_CHARACTERS = 256

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE'])

/** Start the library, which reads its own settings from `process.env`. This file is bundled with it and loaded only then. */
export function createTracing({ clock, logger }: TracingOptions, protocol: TraceProtocol): Tracing {
  const warn = (reason: string): void => logger.warn({ reason }, 'a setting of OpenTelemetry is ignored')
  diag.setLogger(
    { error: warn, warn, info: warn, debug: warn, verbose: warn },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  )
  const exporter = protocol === 'http/json' ? new JsonExporter() : new ProtobufExporter()
  const provider = new BasicTracerProvider({
    resource: createResource(),
    spanProcessors: [new BatchSpanProcessor(exporter)],
    spanLimits: { attributeValueLengthLimit: MAX_ATTRIBUTE_CHARACTERS },
  })
  // From here on, the library would report every failed export and every dropped span.
  diag.disable()
  setGlobalErrorHandler(createFailureLog(clock, logger))
  const tracer = provider.getTracer('vitrine', VERSION)
  /** The request whose code is running; concurrent requests share the call of the first one. */
  const requests = new AsyncLocalStorage<Context>()
  return {
    traceRequests(listener, publicUrl) {
      const { protocol, hostname, pathname } = new URL(publicUrl)
      const prefix = pathname.replace(/\/$/, '')
      const serverAttributes = { 'url.scheme': protocol.slice(0, -1), 'server.address': hostname }
      return (request, response) => {
        const path = toPath(request.url)
        // A proxy may remove the prefix of the public address, or not.
        const paths =
          prefix !== '' && path.startsWith(`${prefix}/`) ? [path, path.slice(prefix.length)] : [path]
        if (paths.some((one) => HEALTH_PATHS.has(one.toLowerCase()))) return listener(request, response)
        const attributes = { ...serverAttributes, ...toRequestAttributes(request, path) }
        const parent = toRemoteContext(request.headers['traceparent'])
        const span = tracer.startSpan(toMethod(request), { kind: SpanKind.SERVER, attributes }, parent)
        if (span.isRecording()) recordResponse(span, { request, response, paths })
        requests.run(trace.setSpan(parent, span), () => listener(request, response))
      }
    },
    async traceCall(call, send) {
      const details = { kind: SpanKind.CLIENT, attributes: toCallAttributes(call) }
      const span = tracer.startSpan(`GET ${call.template}`, details, requests.getStore() ?? ROOT_CONTEXT)
      try {
        return await send((statusCode) => void span.setAttribute('http.response.status_code', statusCode))
      } catch (error) {
        setError(span, (error as { code?: string }).code ?? 'unknown')
        throw error
      } finally {
        span.end()
      }
    },
    stop: async () => (await tryWithTimeout(clock, FLUSH_TIMEOUT_MS, shutDown(provider))) ?? false,
  }
}

async function shutDown(provider: BasicTracerProvider): Promise<true> {
  await provider.shutdown()
  return true
}

/** `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` take precedence. */
function createResource(): Resource {
  const own = resourceFromAttributes({ 'service.name': 'vitrine', 'service.version': VERSION })
  return defaultResource()
    .merge(own)
    .merge(detectResources({ detectors: [envDetector] }))
}

/** Log failed exports seldom, and only by code: messages can contain the collector's response. */
function createFailureLog(clock: Clock, logger: Logger): (error: unknown) => void {
  let loggedMs: number | undefined
  return (error) => {
    const nowMs = clock.nowMs()
    if (loggedMs !== undefined && isWithin(loggedMs, FAILURE_LOG_MS, nowMs)) return
    loggedMs = nowMs
    const { code, name } = error as { code?: unknown; name?: unknown }
    logger.warn({ reason: String(code ?? name) }, 'traces could not be exported; they are dropped')
  }
}

/** Continue the trace of a proxy. `tracestate` and `baggage` are not read: visitors could put any text into the traces. */
function toRemoteContext(traceparent: unknown): Context {
  const parent = typeof traceparent === 'string' ? parseTraceParent(traceparent) : null
  return parent === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, { ...parent, isRemote: true })
}

/** Return the path of a request without its query and without secrets. */
function toPath(target = ''): string {
  return redactSecrets(target.replace(/[?#].*$/s, ''))
}

function toMethod({ method = '' }: IncomingMessage): string {
  return METHODS.has(method) ? method : 'HTTP'
}

function toRequestAttributes({ method = '' }: IncomingMessage, path: string): Attributes {
  return { 'http.request.method': METHODS.has(method) ? method : '_OTHER', 'url.path': path }
}

function toCallAttributes({ url, template }: TracedCall): Attributes {
  const { hostname, port, protocol } = new URL(url)
  return {
    'http.request.method': 'GET',
    'server.address': hostname,
    'server.port': Number(port || (protocol === 'https:' ? '443' : '80')),
    'url.full': redactSecrets(url),
    'url.template': template,
  }
}

/** `paths`: the path of the request, and without the prefix of the public address. */
type TracedResponse = Readonly<{
  request: IncomingMessage
  response: ServerResponse
  paths: readonly string[]
}>

/** End the span with the response. */
function recordResponse(span: Span, { request, response, paths }: TracedResponse): void {
  const readCacheStatus = watchCacheStatus(response)
  response.once('close', () => {
    const route = toRoute(request, paths)
    if (route !== undefined)
      span.updateName(`${toMethod(request)} ${route}`).setAttribute('http.route', route)
    if (response.headersSent) span.setAttribute('http.response.status_code', response.statusCode)
    const cache = readCacheStatus()
    if (cache !== undefined) span.setAttribute('vitrine.cache', cache)
    if (!response.writableFinished) setError(span, 'client_disconnected')
    else if (response.statusCode >= 500) setError(span, String(response.statusCode))
    span.end()
  })
}

function setError(span: Span, type: string): void {
  span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR })
}

const WIDGET_PATH =
  /^\/(fragments|embeds|data|mail|feeds)\/[^/]+\/(where-to-buy|picks|deals(?:\.atom)?)(?:\/.*)?$/is

/** Return the address with names in place of ids: a cached widget is sent before Express chooses the route. */
function toRoute(request: IncomingMessage, paths: readonly string[]): string | undefined {
  const widgetPath = paths.find((path) => WIDGET_PATH.test(path))
  if (widgetPath !== undefined) return widgetPath.toLowerCase().replace(WIDGET_PATH, '/$1/:channel/$2')
  const route: unknown = (request as { route?: { path?: unknown } }).route?.path
  return typeof route === 'string' ? route : undefined
}

/** Watch `Cache-Status`, which cached responses pass to `writeHead` in a list that the response does not keep. */
function watchCacheStatus(response: ServerResponse): () => string | undefined {
  let status: unknown
  const writeHead = response.writeHead.bind(response) as (...args: unknown[]) => ServerResponse
  response.writeHead = (...args: unknown[]) => {
    const list = args.at(-1)
    if (Array.isArray(list)) status = list[list.indexOf('Cache-Status') + 1]
    return writeHead(...args)
  }
  return () => toCacheLabel(status ?? response.getHeader('cache-status'))
}

/** Return `hit`, `miss`, `stale`, `rescued`, `unavailable` or `invalid`. */
function toCacheLabel(status: unknown): string | undefined {
  const [, label] = /^vitrine; (?:fwd=\w+; detail=|fwd=)?(\w+)/.exec(String(status)) ?? []
  return label
}
