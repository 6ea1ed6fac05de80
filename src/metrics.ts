import { Counter, Gauge, Registry, collectDefaultMetrics } from 'prom-client'
import { type MeasuredState, createStateMetrics } from './state-metrics.ts'
import type { Drops } from './catalog/parse.ts'

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
  countCall(call: Readonly<{ operation: string; outcome: string }>, count?: number): void
  countDrops(drops: Drops): void
  countStoreFailure(): void
  measureWalk(walk: MeasuredWalk): void
  /** Takes over what is measured only when somebody looks. */
  measureState(state: MeasuredState): void
  /** Content type and text of the page. */
  print(): Promise<Readonly<{ contentType: string; text: string }>>
}>

/** Makes the metrics of one process, with a registry of its own. */
export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const registers = [registry]
  const answers = new Counter({
    name: 'vitrine_answers_total',
    help: 'Answers by surface, state and cache status',
    labelNames: ['surface', 'state', 'cache'],
    registers,
  })
  const calls = new Counter({
    name: 'vitrine_catalog_calls_total',
    help: 'Calls to the catalog by operation and outcome',
    labelNames: ['operation', 'outcome'],
    registers,
  })
  const drops = new Counter({
    name: 'vitrine_dropped_total',
    help: 'Products and offers of the catalog that were left out, by reason',
    labelNames: ['reason'],
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
    countAnswer: ({ surface, state, cache }) => answers.inc({ surface, state, cache }),
    countCall: ({ operation, outcome }, count = 1) => calls.inc({ operation, outcome }, count),
    countDrops(left) {
      for (const [reason, count] of Object.entries(left)) drops.inc({ reason }, count)
    },
    countStoreFailure: () => storeFailures.inc(),
    measureWalk: walks,
    measureState: state,
    print: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
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
