import { AggregatorRegistry, Counter, Gauge, Registry } from 'prom-client'
import type { Context } from '../context.ts'
import { measureState } from '../server-status.ts'
import type { MetricValues } from './messages.ts'
import type { WorkerProcess } from './worker-process.ts'

/** Metrics of a process, such as its memory: they carry the label `process` instead of being summed. */
const OF_PROCESS = /^(?:process|nodejs)_|^vitrine_clock_difference_seconds$/

export type MetricsPage = Readonly<{ contentType: string; text: string }>

/** What the primary counts, and the page of all processes. */
export type ClusterMetrics = Readonly<{
  countRestart(): void
  countReload(outcome: 'done' | 'failed'): void
  /** Keep the counters of a worker that has ended, so that the sums never fall. */
  fold(values: MetricValues): void
  print(): Promise<MetricsPage>
}>

/** `workers` are those that have not ended. */
export function createClusterMetrics(context: Context, workers: ReadonlySet<WorkerProcess>): ClusterMetrics {
  const { restarts, reloads, timeouts, workerCount } = createCounters(context.metrics.registry)
  let folded: MetricValues = []
  return {
    countRestart: () => restarts.inc(),
    countReload: (outcome) => reloads.inc({ outcome }),
    fold: (values) => void (folded = foldCounters(folded, values)),
    async print() {
      const answers = await Promise.all([...workers].map((worker) => worker.refreshValues()))
      timeouts.inc(answers.filter((isInTime) => !isInTime).length)
      workerCount.set(workers.size)
      const primary = labelProcess(await collectValues(context), 'primary')
      // No await from here on: a worker that ends is either among those that run or folded.
      const parts = [...workers].map(({ values, number }) => labelProcess(values, `worker-${number}`))
      return printSum([primary, ...parts, folded])
    },
  }
}

/** The metrics of this process, with its own view of the shared state. */
export async function collectValues(context: Context): Promise<MetricValues> {
  await measureState(context)
  return context.metrics.registry.getMetricsAsJSON()
}

/** Counters and histograms are summed, gauges as their own `aggregator` says. */
export async function printSum(parts: readonly MetricValues[]): Promise<MetricsPage> {
  const text = await AggregatorRegistry.aggregate([...parts]).metrics()
  return { contentType: Registry.PROMETHEUS_CONTENT_TYPE, text }
}

/** Add the counters and histograms of a worker that has ended to those of its predecessors. */
export function foldCounters(folded: MetricValues, ended: MetricValues): MetricValues {
  const counters = ended.filter(
    ({ name, type }) => ['counter', 'histogram'].includes(String(type)) && !OF_PROCESS.test(name),
  )
  return AggregatorRegistry.aggregate([folded, counters]).getMetricsAsArray() as unknown as MetricValues
}

/** Put the name of the process on its own metrics. */
export function labelProcess(values: MetricValues, process: string): MetricValues {
  return values.map((metric) => {
    if (!OF_PROCESS.test(metric.name)) return metric
    const labelled = metric.values.map((value) => ({ ...value, labels: { ...value.labels, process } }))
    return { ...metric, aggregator: 'first' as const, values: labelled }
  })
}

function createCounters(registry: Registry) {
  const registers = [registry]
  const reloads = new Counter({
    name: 'vitrine_reloads_total',
    help: 'Reloads of the workers by outcome',
    labelNames: ['outcome'],
    registers,
  })
  // Start at zero: Prometheus sees no increase in a series that appears with the value 1.
  for (const outcome of ['done', 'failed']) reloads.inc({ outcome }, 0)
  const restarts = new Counter({
    name: 'vitrine_worker_restarts_total',
    help: 'Workers that ended by themselves and were replaced',
    registers,
  })
  const timeouts = new Counter({
    name: 'vitrine_worker_silences_total',
    help: 'Times that a worker did not send its metrics in time; its previous values were reused',
    registers,
  })
  const workerCount = new Gauge({ name: 'vitrine_workers', help: 'Worker processes that run', registers })
  return { reloads, restarts, timeouts, workerCount }
}
