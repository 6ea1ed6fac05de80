import { Counter, Gauge, Registry, collectDefaultMetrics } from 'prom-client'
import type { Drops } from '../catalog/parse.ts'
import { type MeasuredState, createStateMetrics } from './state-metrics.ts'

/**
 * How often each process looks how late its event loop turns: an idle one reads this much. Each look wakes the processor, day and
 * night; docs/notes/metrics.md has the figures.
 */
export const LOOP_LOOK_MS = 100

/** An answer as it is counted: labels from closed lists only, so that nobody can make new series. */
export type CountedAnswer = Readonly<{ surface: string; state: string; cache: string }>

/** A walk as it is measured. */
export type MeasuredWalk = Readonly<{
  channel: string
  outcome: string
  durationMs: number
  completedAtMs: number | null
}>

/** What the process counts, as Prometheus text at `/metrics`. */
export type Metrics = Readonly<{
  countAnswer(answer: CountedAnswer): void
  /** Counts answers of one kind, each for the price of an addition. */
  getAnswerCounter(answer: CountedAnswer): () => void
  countCall(call: Readonly<{ operation: string; outcome: string }>, count?: number): void
  countDrops(drops: Drops, channel: string): void
  countStoreFailure(): void
  measureWalk(walk: MeasuredWalk): void
  /** Takes over what is measured only when somebody looks. */
  measureState(state: MeasuredState): void
  registry: Registry
  /** Content type and text of the page. */
  print(): Promise<Readonly<{ contentType: string; text: string }>>
}>

/** Makes the metrics of one process, with a registry of its own. */
export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_LOOK_MS })
  const registers = [registry]
  const getAnswerCounter = createAnswerCounters(registry)
  const calls = new Counter({
    name: 'vitrine_catalog_calls_total',
    help: 'Calls to the catalog by operation and outcome',
    labelNames: ['operation', 'outcome'],
    registers,
  })
  const drops = new Counter({
    name: 'vitrine_dropped_total',
    help: 'Products and offers of the catalog that were left out, by channel and reason',
    labelNames: ['channel', 'reason'],
    registers,
  })
  const storeFailures = new Counter({
    name: 'vitrine_store_failures_total',
    help: 'Reads and writes of the stored copy that failed',
    registers,
  })
  const walks = createWalkMetrics(registry)
  const state = createStateMetrics(registry)
  return {
    countAnswer: (answer) => getAnswerCounter(answer)(),
    getAnswerCounter,
    countCall: ({ operation, outcome }, count = 1) => calls.inc({ operation, outcome }, count),
    countDrops(left, channel) {
      for (const [reason, count] of Object.entries(left)) drops.inc({ channel, reason }, count)
    },
    countStoreFailure: () => storeFailures.inc(),
    measureWalk: walks,
    measureState: state,
    registry,
    print: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
  }
}

/** A counter finds its labels anew at each step; these add up by themselves, and are handed over when somebody looks. */
function createAnswerCounters(registry: Registry): Metrics['getAnswerCounter'] {
  const added = new Map<string, { readonly answer: CountedAnswer; count: number; add(): void }>()
  const counter = new Counter({
    name: 'vitrine_answers_total',
    help: 'Answers by surface, state and cache status',
    labelNames: ['surface', 'state', 'cache'],
    registers: [registry],
    collect() {
      for (const row of added.values()) {
        counter.inc({ ...row.answer }, row.count)
        row.count = 0
      }
    },
  })
  return ({ surface, state, cache }) => {
    const key = `${surface} ${state} ${cache}`
    const known = added.get(key)
    if (known !== undefined) return known.add
    const row = { answer: { surface, state, cache }, count: 0, add: () => void (row.count += 1) }
    added.set(key, row)
    return row.add
  }
}

function createWalkMetrics(registry: Registry): Metrics['measureWalk'] {
  const registers = [registry]
  const labelNames = ['channel']
  const counts = new Counter({
    name: 'vitrine_walks_total',
    help: 'Walks of a channel by outcome',
    labelNames: ['channel', 'outcome'],
    registers,
  })
  const durations = new Gauge({
    name: 'vitrine_walk_duration_seconds',
    help: 'How long the last walk of a channel took',
    labelNames,
    registers,
  })
  const completed = new Gauge({
    name: 'vitrine_copy_completed_timestamp_seconds',
    help: 'When the channel was last walked whole, Unix seconds',
    labelNames,
    registers,
  })
  return ({ channel, outcome, durationMs, completedAtMs }) => {
    counts.inc({ channel, outcome })
    durations.set({ channel }, durationMs / 1_000)
    if (completedAtMs !== null) completed.set({ channel }, completedAtMs / 1_000)
  }
}
