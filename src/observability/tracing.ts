import type { Environment } from '../config/config.ts'
import { redactInLog } from '../config/secrets.ts'
import { parseUrl } from '../lib/urls.ts'
import type { TraceProtocol, Tracing, TracingOptions } from './opentelemetry.ts'

/**
 * Start tracing if the standard `OTEL_` variables ask for it; otherwise return `null` and load no OpenTelemetry code. Settings that
 * cannot be used are logged: a problem of the monitoring never stops the server.
 */
export async function startTracing(options: TracingOptions): Promise<Tracing | null> {
  const { environment, logger } = options
  try {
    const protocol = findProtocol(environment)
    if (protocol === null) return null
    redactHeaders(environment)
    provideEnvironment(environment)
    const { createTracing } = await import('./opentelemetry.ts')
    return createTracing(options, protocol)
  } catch (error) {
    logger.warn({ reason: (error as Error).message }, 'no traces: OpenTelemetry could not be started')
    return null
  }
}

const ENDPOINTS = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'] as const

/** Return the protocol, or `null` when traces are off. @throws Error with the name of an unusable variable, but no value */
function findProtocol(environment: Environment): TraceProtocol | null {
  const read = (name: string): string | undefined => environment[name]?.trim() || undefined
  const endpointName = ENDPOINTS.find((name) => read(name) !== undefined)
  const exporter = read('OTEL_TRACES_EXPORTER') ?? (endpointName === undefined ? 'none' : 'otlp')
  if (exporter === 'none' || read('OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return null
  if (exporter !== 'otlp') throw new Error('OTEL_TRACES_EXPORTER: only "otlp" and "none" are supported')
  if (endpointName !== undefined) checkEndpoint(endpointName, read(endpointName))
  return parseProtocol(read('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL') ?? read('OTEL_EXPORTER_OTLP_PROTOCOL'))
}

function checkEndpoint(name: string, text = ''): void {
  const protocol = parseUrl(text)?.protocol
  if (protocol !== 'http:' && protocol !== 'https:') throw new Error(`${name}: expected an http or https URL`)
}

function parseProtocol(text = 'http/protobuf'): TraceProtocol {
  if (text === 'http/protobuf' || text === 'http/json') return text
  throw new Error(
    'OTEL_EXPORTER_OTLP_PROTOCOL: only "http/protobuf" and "http/json" are supported; collectors receive them on port 4318',
  )
}

/** The library reads `process.env`; the settings may also be in the file `.env`. */
function provideEnvironment(environment: Environment): void {
  for (const [name, value] of Object.entries(environment))
    if (name.startsWith('OTEL_') && value !== undefined) process.env[name] ??= value
}

/** Names of headers with credentials. Values of others, such as the name of a tenant, may be words of ordinary log lines. */
const CREDENTIAL_NAME = /auth|key|token|secret|pass|credential|cookie/i

/** Keep the collector's keys out of the log, percent-encoded and decoded, also without a scheme such as "Bearer". */
function redactHeaders(environment: Environment): void {
  for (const variable of ['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_TRACES_HEADERS']) {
    for (const pair of environment[variable]?.split(',') ?? []) {
      const [name = '', ...rest] = pair.split('=')
      const value = rest.join('=').trim()
      if (!CREDENTIAL_NAME.test(name)) continue
      const decoded = decodePercent(value)
      for (const text of [value, decoded, decoded.replace(/^\S+\s+/, '')]) redactInLog(text)
    }
  }
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
