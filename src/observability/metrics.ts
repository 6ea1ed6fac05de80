import { Counter, Gauge, Registry, collectDefaultMetrics } from 'prom-client'

/**
 * How often each process looks how late its event loop turns: an idle one reads this much. Each look wakes the processor, day and
 * night; docs/contribute/notes/dependencies.md says why this often.
 */
export const EVENT_LOOP_SAMPLE_INTERVAL_MS = 100

/** An answer as it is counted: labels from closed lists only, so that nobody can make new series. */
type CountedResponse = Readonly<{ surface: string; state: string; cache: string }>

type ValuesByLabel = Readonly<Partial<Record<string, number>>>

/** The values of all gauges of the server's state; `null`: there is nothing to tell. */
export type GaugeValues = Readonly<Record<keyof typeof GAUGES, number | ValuesByLabel | null>>

/** What the process counts, as Prometheus text at `/metrics`. */
export type Metrics = ReturnType<typeof createMetrics>

/** Create the metrics of one process, with a registry of its own. */
export function createMetrics() {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_SAMPLE_INTERVAL_MS })
  const registers = [registry]
  const getResponseCounter = createResponseCounters(registry)
  const calls = new Counter({
    name: 'vitrine_catalog_calls_total',
    help: 'Calls to the catalog by operation and outcome',
    labelNames: ['operation', 'outcome'],
    registers,
  })
  const drops = new Counter({
    name: 'vitrine_catalog_items_dropped_total',
    help: 'Products and offers of the catalog that were left out, by channel and reason',
    labelNames: ['channel', 'reason'],
    registers,
  })
  const storeFailures = new Counter({
    name: 'vitrine_store_failures_total',
    help: 'Reads and writes of the stored copy that failed',
    registers,
  })
  return {
    countResponse: (response: CountedResponse): void => getResponseCounter(response)(),
    getResponseCounter,
    countCall({ operation, outcome }: Readonly<{ operation: string; outcome: string }>, count = 1): void {
      calls.inc({ operation, outcome }, count)
    },
    /** Count what was left out of a channel, by reason. */
    countDrops(dropCounts: ValuesByLabel, channel: string): void {
      for (const [reason, count] of Object.entries(dropCounts)) drops.inc({ channel, reason }, count)
    },
    countStoreFailure: (): void => storeFailures.inc(),
    recordWalk: createWalkMetrics(registry),
    setGauges: createGauges(registry),
    registry,
    async render(): Promise<Readonly<{ contentType: string; text: string }>> {
      return { contentType: registry.contentType, text: await registry.metrics() }
    },
  }
}

/**
 * Counts answers of one kind, each for the price of an addition: a counter finds its labels anew at each step. These add up by
 * themselves, and are handed over when the page is printed.
 */
function createResponseCounters(registry: Registry) {
  const counters = new Map<string, { readonly labels: CountedResponse; count: number; add(): void }>()
  const counter = new Counter({
    name: 'vitrine_http_responses_total',
    help: 'Answers by surface, state and cache status',
    labelNames: ['surface', 'state', 'cache'],
    registers: [registry],
    collect() {
      for (const row of counters.values()) {
        counter.inc({ ...row.labels }, row.count)
        row.count = 0
      }
    },
  })
  return ({ surface, state, cache }: CountedResponse): (() => void) => {
    const key = `${surface} ${state} ${cache}`
    const existing = counters.get(key)
    if (existing !== undefined) return existing.add
    const row = { labels: { surface, state, cache }, count: 0, add: () => void (row.count += 1) }
    counters.set(key, row)
    return row.add
  }
}

type RecordedWalk = Readonly<{
  channel: string
  outcome: string
  durationMs: number
  completedAtMs: number | null
}>

function createWalkMetrics(registry: Registry) {
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
  return ({ channel, outcome, durationMs, completedAtMs }: RecordedWalk): void => {
    counts.inc({ channel, outcome })
    durations.set({ channel }, durationMs / 1_000)
    if (completedAtMs !== null) completed.set({ channel }, completedAtMs / 1_000)
  }
}

/** `across`: how the values of several processes become one. With `label` a gauge has a series for each key of its value. */
type GaugeRow = Readonly<{ help: string; label?: string; aggregator: 'sum' | 'min' | 'max' }>

/** The server's state. Every label comes from a closed list. */
const GAUGES = {
  vitrine_store_up: { help: 'Can the stored copy be read? 1 or 0', aggregator: 'min' },
  vitrine_store_writable: {
    help: 'Does the database take writes? 0 while it is away or only reads, as a standby does; a SQLite file counts as 1',
    aggregator: 'min',
  },
  vitrine_catalog_calls_today: {
    help: 'Calls since 00:00 UTC by share of the daily limit, of all processes',
    label: 'share',
    aggregator: 'max',
  },
  vitrine_catalog_calls_left: {
    help: 'Calls left until 00:00 UTC by share; absent without a known limit',
    label: 'share',
    aggregator: 'min',
  },
  vitrine_catalog_daily_limit: {
    help: 'Calls a day by how the limit is known, set or learned; absent without one',
    label: 'known',
    aggregator: 'max',
  },
  vitrine_catalog_paused_until_timestamp_seconds: {
    help: 'Until when nothing is called, by cause, Unix seconds',
    label: 'cause',
    aggregator: 'max',
  },
  vitrine_catalog_breaker_state: { help: 'Circuit breaker: 0 closed, 1 probing, 2 open', aggregator: 'max' },
  vitrine_channels: {
    help: 'Served channels that the catalog lists; absent while no list can be read',
    aggregator: 'max',
  },
  vitrine_channel_list_held: {
    help: 'Does the catalog list no channels where it listed some, which is not believed yet? 1 or 0',
    aggregator: 'max',
  },
  vitrine_walk_held: {
    help: 'Is the last walk of a channel held, so that the copy before it stays current? 1 or 0, by channel',
    label: 'channel',
    aggregator: 'max',
  },
  vitrine_copy_age_seconds: {
    help: 'Age of the last complete walk by channel; absent while it is unknown, because a clock was wrong',
    label: 'channel',
    aggregator: 'min',
  },
  vitrine_copy_products: {
    help: 'Products of the last complete walk by channel',
    label: 'channel',
    aggregator: 'max',
  },
  vitrine_copy_deals: {
    help: 'Products with an offer on sale by channel',
    label: 'channel',
    aggregator: 'max',
  },
  vitrine_clock_difference_seconds: {
    help: 'By how much the clock of the catalog or of the database is ahead of that of this machine',
    label: 'with',
    aggregator: 'max',
  },
  vitrine_cache_entries: { help: 'Entries in memory by cache', label: 'cache', aggregator: 'sum' },
  vitrine_cache_bytes: { help: 'Bytes in memory by cache', label: 'cache', aggregator: 'sum' },
} as const satisfies Readonly<Record<string, GaugeRow>>

/** Set the gauges of the server's state, which is read only for the page. */
function createGauges(registry: Registry) {
  const gauges = Object.entries<GaugeRow>(GAUGES).map(([name, { help, label, aggregator }]) => {
    const labelNames = label === undefined ? [] : [label]
    const gauge = new Gauge({ name, help, labelNames, aggregator, registers: [registry] })
    return { name: name as keyof typeof GAUGES, label: label ?? '', gauge }
  })
  return (values: GaugeValues): void => {
    for (const { name, label, gauge } of gauges) {
      const value = values[name]
      gauge.reset()
      if (value === null) gauge.remove()
      else if (typeof value === 'number') gauge.set(value)
      else for (const [key, labelValue = 0] of Object.entries(value)) gauge.set({ [label]: key }, labelValue)
    }
  }
}
