import { Counter, Gauge, Registry, collectDefaultMetrics } from 'prom-client'

/** Sampling interval of the event loop lag. Each sample wakes the CPU; see docs/contribute/notes/dependencies.md. */
export const EVENT_LOOP_SAMPLE_INTERVAL_MS = 100

/** Labels of a counted response. Their values are fixed, so that clients cannot create new series. */
type CountedResponse = Readonly<{ surface: string; state: string; cache: string }>

type ValuesByLabel = Readonly<Partial<Record<string, number>>>

/** `null`: no value, so the series is absent. */
export type GaugeValues = Readonly<Record<keyof typeof GAUGES, number | ValuesByLabel | null>>

/** Metrics of one process, rendered as Prometheus text. */
export type Metrics = ReturnType<typeof createMetrics>

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
    help: 'Dropped products and offers of the catalog by channel and reason',
    labelNames: ['channel', 'reason'],
    registers,
  })
  const storeFailures = new Counter({
    name: 'vitrine_store_failures_total',
    help: 'Failed reads and writes of the stored copy',
    registers,
  })
  const pictureFetches = new Counter({
    name: 'vitrine_picture_fetches_total',
    help: 'Fetches of original pictures by outcome, with VITRINE_PICTURES=proxy',
    labelNames: ['outcome'],
    registers,
  })
  const clicks = new Counter({
    name: 'vitrine_clicks_total',
    help: 'Counted clicks by channel, with VITRINE_LINKS=counted',
    labelNames: ['channel'],
    registers,
  })
  const overLimit = new Counter({
    name: 'vitrine_counts_over_limit_total',
    help: 'Counts of widgets and clicks beyond a limit: lost, or added without their sub-id',
    labelNames: ['outcome'],
    registers,
  })
  const deliveries = new Counter({
    name: 'vitrine_event_deliveries_total',
    help: 'Attempts to send an event to the webhook by outcome',
    labelNames: ['outcome'],
    registers,
  })
  return {
    countResponse: (response: CountedResponse): void => getResponseCounter(response)(),
    getResponseCounter,
    countCall({ operation, outcome }: Readonly<{ operation: string; outcome: string }>, count = 1): void {
      calls.inc({ operation, outcome }, count)
    },
    countDrops(dropCounts: ValuesByLabel, channel: string): void {
      for (const [reason, count] of Object.entries(dropCounts)) drops.inc({ channel, reason }, count)
    },
    countPictureFetch: (outcome: string): void => pictureFetches.inc({ outcome }),
    countClick: (channel: string): void => clicks.inc({ channel }),
    countOverLimit: (outcome: 'without_sub' | 'lost', count: number): void =>
      overLimit.inc({ outcome }, count),
    countDelivery: (outcome: 'ok' | 'failed'): void => deliveries.inc({ outcome }),
    countStoreFailure: (): void => storeFailures.inc(),
    recordWalk: createWalkMetrics(registry),
    setGauges: createGauges(registry),
    registry,
    async render(): Promise<Readonly<{ contentType: string; text: string }>> {
      return { contentType: registry.contentType, text: await registry.metrics() }
    },
  }
}

/** Create counters that cost one addition per response: labels are resolved once, and `collect` adds the counts on render. */
function createResponseCounters(registry: Registry) {
  const counters = new Map<string, { readonly labels: CountedResponse; count: number; add(): void }>()
  const counter = new Counter({
    name: 'vitrine_http_responses_total',
    help: 'Responses by surface, state and cache status',
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
    help: 'Duration of the last walk by channel',
    labelNames,
    registers,
  })
  const completed = new Gauge({
    name: 'vitrine_copy_completed_timestamp_seconds',
    help: 'Time of the last complete walk by channel, Unix seconds',
    labelNames,
    registers,
  })
  return ({ channel, outcome, durationMs, completedAtMs }: RecordedWalk): void => {
    counts.inc({ channel, outcome })
    durations.set({ channel }, durationMs / 1_000)
    if (completedAtMs !== null) completed.set({ channel }, completedAtMs / 1_000)
  }
}

/** `aggregator` combines the values of several processes. With `label`, a gauge has a series for each key of its value. */
type GaugeRow = Readonly<{ help: string; label?: string; aggregator: 'sum' | 'min' | 'max' }>

/** Gauges of the catalog service, with their help. The widget server has them for its embedded catalog. */
export const FEED_GAUGES = {
  vitrine_feed_age_seconds: 'Time since the last successful run of a feed; absent before the first',
  vitrine_feed_failing:
    '1 if the last run of a feed failed or is held, or it had no successful run for two intervals, else 0',
  vitrine_feed_offers: 'Offers of the last successful run of a feed',
} as const

/** No label value comes from a request. */
const GAUGES = {
  vitrine_store_up: { help: '1 if the stored copy can be read, else 0', aggregator: 'min' },
  vitrine_store_writable: {
    help: '1 if the database accepts writes; 0 if it is unavailable or read-only, such as a standby; 1 for a SQLite file',
    aggregator: 'min',
  },
  vitrine_catalog_calls_today: {
    help: 'Calls of all processes since 00:00 UTC by share of the daily limit',
    label: 'share',
    aggregator: 'max',
  },
  vitrine_catalog_calls_left: {
    help: 'Calls left until 00:00 UTC by share; absent without a known limit',
    label: 'share',
    aggregator: 'min',
  },
  vitrine_catalog_daily_limit: {
    help: 'Daily limit of calls by its origin, set or learned; absent without a limit',
    label: 'known',
    aggregator: 'max',
  },
  vitrine_catalog_paused_until_timestamp_seconds: {
    help: 'End of the pause of catalog calls by cause, Unix seconds',
    label: 'cause',
    aggregator: 'max',
  },
  vitrine_catalog_breaker_state: { help: 'Circuit breaker: 0 closed, 1 probing, 2 open', aggregator: 'max' },
  vitrine_channels: {
    help: 'Served channels that the catalog lists; absent without a list',
    aggregator: 'max',
  },
  vitrine_channel_list_held: {
    help: '1 if an empty channel list is held, else 0',
    aggregator: 'max',
  },
  vitrine_walk_held: {
    help: '1 if the last walk is held and the previous copy stays, else 0; by channel',
    label: 'channel',
    aggregator: 'max',
  },
  vitrine_copy_age_seconds: {
    help: 'Age of the last complete walk by channel; absent if a clock was wrong',
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
  vitrine_observed_days: {
    help: 'Kept days with an observed price by channel; absent with VITRINE_HISTORY_DAYS=0',
    label: 'channel',
    aggregator: 'max',
  },
  vitrine_feed_age_seconds: {
    help: FEED_GAUGES.vitrine_feed_age_seconds,
    label: 'feed',
    aggregator: 'min',
  },
  vitrine_feed_failing: { help: FEED_GAUGES.vitrine_feed_failing, label: 'feed', aggregator: 'max' },
  vitrine_feed_offers: { help: FEED_GAUGES.vitrine_feed_offers, label: 'feed', aggregator: 'max' },
  vitrine_clock_difference_seconds: {
    help: 'How far the clock of the catalog or the database is ahead of this machine',
    label: 'with',
    aggregator: 'max',
  },
  vitrine_cache_entries: { help: 'Entries by cache', label: 'cache', aggregator: 'sum' },
  vitrine_picture_bytes: {
    help: 'Bytes of the stored pictures; absent with VITRINE_PICTURES=direct',
    aggregator: 'max',
  },
  vitrine_cache_bytes: { help: 'Bytes by cache', label: 'cache', aggregator: 'sum' },
} as const satisfies Readonly<Record<string, GaugeRow>>

/** Create a function that sets the gauges of the server state. It is called only when metrics are requested. */
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
