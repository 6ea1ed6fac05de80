import { AggregatorRegistry, Registry } from 'prom-client'
import type { Context } from '../context.ts'
import { readServerState, toMeasuredState } from '../observability/server-status.ts'
import type { MetricValues } from './messages.ts'

/** What one process has counted. `process` is its name; `null` for one that is leaving or has gone. */
export type ProcessValues = Readonly<{ process: string | null; values: MetricValues }>

/**
 * What tells of a process and not of the work: memory, event loop, garbage collection, and the clocks as it compared them last; one of
 * these numbers, which may be old, would hide the others.
 */
const OF_PROCESS = /^(?:process|nodejs)_|^vitrine_clock_difference_seconds$/

/** Reads what this process has counted, with its own view of what is shared. */
export async function collectValues(context: Context): Promise<MetricValues> {
  context.metrics.measureState(toMeasuredState(context, await readServerState(context)))
  return context.metrics.readValues()
}

/**
 * One page for all processes: counters, histograms and caches are summed, what all share is told once (by each gauge's own
 * `aggregator`), and what is of a process has its name as a label.
 */
export async function printSums(
  parts: readonly ProcessValues[],
): Promise<Readonly<{ contentType: string; text: string }>> {
  const registry = AggregatorRegistry.aggregate(parts.map(toNamed))
  return { contentType: Registry.PROMETHEUS_CONTENT_TYPE, text: await registry.metrics() }
}

/** What stays in the sums when a process has gone, so that they never fall: its counters, added to those before it. */
export function retireValues(kept: MetricValues, ended: MetricValues): MetricValues {
  const counted = ended.filter(({ name, type }) => COUNTING.has(String(type)) && !OF_PROCESS.test(name))
  const registry = AggregatorRegistry.aggregate([kept, counted])
  // What it registers are the summed values themselves.
  return registry.getMetricsAsArray() as unknown as MetricValues
}

/** Types of metrics that only ever grow. */
const COUNTING = new Set(['counter', 'histogram'])

function toNamed({ process, values }: ProcessValues): MetricValues {
  return values.flatMap((metric) => {
    if (!OF_PROCESS.test(metric.name)) return [metric]
    if (process === null) return []
    const named = metric.values.map((value) => ({ ...value, labels: { ...value.labels, process } }))
    return [{ ...metric, aggregator: 'first' as const, values: named }]
  })
}
