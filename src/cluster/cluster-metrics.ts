import { AggregatorRegistry, Counter, Gauge, Registry } from 'prom-client'
import type { Context } from '../context.ts'
import { updateStateGauges } from '../server-status.ts'
import type { MetricValues } from './messages.ts'

/** Metrics of a process, such as its memory: they carry the label `process` instead of being summed. */
const PER_PROCESS_METRIC = /^(?:process|nodejs)_|^vitrine_clock_difference_seconds$/

export type MetricsPage = Awaited<ReturnType<Context['metrics']['render']>>

type MeasuredWorker = Readonly<{
  workerNumber: number
  values: MetricValues
  /** Request the metrics of the worker. Resolves with `false` when it misses the deadline. */
  refreshValues(): Promise<boolean>
}>

/** The counters of the primary, and the metrics page of all processes. */
export class ClusterMetrics {
  readonly restarts: Counter
  readonly reloads: Counter<'outcome'>
  readonly #timeouts: Counter
  readonly #workerCount: Gauge
  readonly #context: Context
  readonly #workers: ReadonlySet<MeasuredWorker>
  /** Counters and histograms of workers that have ended. */
  #folded: MetricValues = []

  /** `workers`: those that have not ended. */
  constructor(context: Context, workers: ReadonlySet<MeasuredWorker>) {
    this.#context = context
    this.#workers = workers
    const registers = [context.metrics.registry]
    this.reloads = new Counter({
      name: 'vitrine_reloads_total',
      help: 'Reloads of the workers by outcome',
      labelNames: ['outcome'],
      registers,
    })
    // Start at zero: Prometheus sees no increase when a series begins with 1.
    for (const outcome of ['done', 'failed']) this.reloads.inc({ outcome }, 0)
    this.restarts = new Counter({
      name: 'vitrine_worker_restarts_total',
      help: 'Workers that ended by themselves and were replaced',
      registers,
    })
    this.#timeouts = new Counter({
      name: 'vitrine_worker_scrape_timeouts_total',
      help: 'Times that a worker did not send its metrics in time; its previous values were reused',
      registers,
    })
    this.#workerCount = new Gauge({ name: 'vitrine_workers', help: 'Worker processes that run', registers })
  }

  /** Add the counters and histograms of a worker that has ended, so that the sums never fall. */
  fold(values: MetricValues): void {
    const counters = values.filter(
      ({ name, type }) => ['counter', 'histogram'].includes(String(type)) && !PER_PROCESS_METRIC.test(name),
    )
    const sum = AggregatorRegistry.aggregate([this.#folded, counters])
    this.#folded = sum.getMetricsAsArray() as unknown as MetricValues
  }

  /** Render the page: counters and histograms are summed, gauges combined by their own `aggregator`. */
  async render(): Promise<MetricsPage> {
    const results = await Promise.all([...this.#workers].map((worker) => worker.refreshValues()))
    this.#timeouts.inc(results.filter((isInTime) => !isInTime).length)
    this.#workerCount.set(this.#workers.size)
    const primary = addProcessLabel(await collectMetricValues(this.#context), 'primary')
    // No await from here on: each worker must be counted exactly once, as running or as folded.
    const parts = [...this.#workers].map(({ values, workerNumber }) =>
      addProcessLabel(values, `worker-${workerNumber}`),
    )
    const text = await AggregatorRegistry.aggregate([primary, ...parts, [...this.#folded]]).metrics()
    return { contentType: Registry.PROMETHEUS_CONTENT_TYPE, text }
  }
}

export async function collectMetricValues(context: Context): Promise<MetricValues> {
  await updateStateGauges(context)
  return context.metrics.registry.getMetricsAsJSON()
}

function addProcessLabel(values: MetricValues, process: string): MetricValues {
  return values.map((metric) => {
    if (!PER_PROCESS_METRIC.test(metric.name)) return metric
    const labelledValues = metric.values.map((value) => ({ ...value, labels: { ...value.labels, process } }))
    return { ...metric, aggregator: 'first' as const, values: labelledValues }
  })
}
