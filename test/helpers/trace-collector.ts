import { once } from 'node:events'
import { type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { vi } from 'vitest'
import type { Clock } from '../../src/clock.ts'
import type { Tracing } from '../../src/observability/opentelemetry.ts'
import { startTracing } from '../../src/observability/tracing.ts'
import type { Logger } from '../../src/observability/logger.ts'
import { addCleanup } from './cleanup.ts'

/** A received span. `parentSpanId`: absent for the first span of a trace. */
export type ReceivedSpan = Readonly<{
  name: string
  kind: 'server' | 'client'
  traceId: string
  spanId: string
  parentSpanId?: string
  isError: boolean
  attributes: Readonly<Record<string, unknown>>
  resource: Readonly<Record<string, unknown>>
}>

/** A collector that receives OTLP over HTTP. */
export type TraceCollector = Readonly<{
  url: string
  /** Path and `Content-Type` of each export. */
  exports: string[]
  /** Return all received bytes. */
  text(): string
  /** Return the spans of all exports in JSON. */
  spans(): readonly ReceivedSpan[]
  close(): Promise<void>
}>

type WireAttributes = readonly { key: string; value: Readonly<Record<string, unknown>> }[]
type WireSpan = Omit<ReceivedSpan, 'kind' | 'isError' | 'attributes' | 'resource'> &
  Readonly<{ kind: number; status: { code?: number }; attributes: WireAttributes }>
type WireExport = Readonly<{
  resourceSpans: readonly {
    resource: { attributes: WireAttributes }
    scopeSpans: readonly { spans: readonly WireSpan[] }[]
  }[]
}>

const accept = (response: ServerResponse): void =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end('{}')

/** Start a collector that is closed after the test. */
export async function startTraceCollector(respond = accept): Promise<TraceCollector> {
  const bodies: Buffer[] = []
  const exports: string[] = []
  const server = createServer((request, response) => {
    const receive = async (): Promise<void> => {
      bodies.push(await buffer(request))
      exports.push(`${request.url} ${request.headers['content-type']}`)
      respond(response)
    }
    void receive()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = async (): Promise<void> => {
    if (!server.listening) return
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
  addCleanup(close)
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    exports,
    text: () => Buffer.concat(bodies).toString('latin1'),
    spans: () => bodies.flatMap((body) => parseExport(JSON.parse(body.toString()) as WireExport)),
    close,
  }
}

function parseExport({ resourceSpans }: WireExport): readonly ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map(({ attributes, kind, status, ...span }) => ({
        ...span,
        kind: kind === 2 ? ('server' as const) : ('client' as const),
        isError: status.code === 2,
        attributes: toRecord(attributes),
        resource: toRecord(resource.attributes),
      })),
    ),
  )
}

function toRecord(attributes: WireAttributes): Readonly<Record<string, unknown>> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
}

/** Start tracing in this process with variables that are removed after the test. */
export function startTestTracing(
  parts: Readonly<{ clock: Clock; logger: Logger }>,
  environment: Readonly<Record<string, string>>,
): Promise<Tracing | null> {
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value)
  addCleanup(() => vi.unstubAllEnvs())
  return startTracing({ ...parts, environment })
}
