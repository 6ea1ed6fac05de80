import { Counter, Histogram, Registry, collectDefaultMetrics } from 'prom-client'
import { SECOND_MS } from '../clock.ts'
import { LOOP_LOOK_MS } from '../observability/metrics.ts'

/** Upper bounds of response times, in seconds. A look-up takes about a millisecond. */
const BUCKETS_SECONDS = [0.001, 0.005, 0.025, 0.1, 0.5, 1, 5]

/** A response as it is counted: `operation` from a closed list, so that nobody can make new series. */
export type CountedResponse = Readonly<{ operation: string; status: number; durationMs: number }>

/** What a catalog service that runs alone counts, as Prometheus text. */
export type ServiceMetrics = Readonly<{
  countResponse(response: CountedResponse): void
  print(): Promise<Readonly<{ contentType: string; text: string }>>
}>

/** Create the metrics with a registry of their own. */
export function createServiceMetrics(): ServiceMetrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_LOOK_MS })
  const responses = new Counter({
    name: 'vitrine_catalog_service_responses_total',
    help: 'Responses of the catalog service by operation and status',
    labelNames: ['operation', 'status'],
    registers: [registry],
  })
  const seconds = new Histogram({
    name: 'vitrine_catalog_service_response_seconds',
    help: 'Time from a request to the end of its response, by operation',
    labelNames: ['operation'],
    buckets: BUCKETS_SECONDS,
    registers: [registry],
  })
  return {
    countResponse({ operation, status, durationMs }) {
      responses.inc({ operation, status: String(status) })
      seconds.observe({ operation }, durationMs / SECOND_MS)
    },
    print: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
  }
}
