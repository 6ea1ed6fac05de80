import { Counter, Gauge, Registry, collectDefaultMetrics } from 'prom-client'

/** Sampling interval of the event loop lag. Each sample wakes the CPU; see docs/contribute/notes/dependencies.md. */
export const EVENT_LOOP_SAMPLE_INTERVAL_MS = 100

/** Labels of a counted response. Their values are fixed, so that clients cannot create new series. */
type CountedResponse = Readonly<{ surface: string; state: string; cache: string }>

type ValuesByLabel = Readonly<Partial<Record<string, number>>>

/** `null`: no value, so the series is absent. */
type Values<Name extends string> = Readonly<Record<Name, number | ValuesByLabel | null>>

export type GaugeValues = Values<Exclude<keyof typeof GAUGES, keyof FeedGauges>> & FeedGauges

/** Create the registry of a server, with the metrics of its process. */
export function createRegistry() {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_SAMPLE_INTERVAL_MS })
  return {
    registry,
    createCounter: <Label extends string = never>(
      name: string,
      help: string,
      labelNames: readonly Label[] = [],
    ): Counter<Label> => new Counter({ name, help, labelNames, registers: [registry] }),
    /** Render all metrics as Prometheus text. */
    async render(): Promise<Readonly<{ contentType: string; text: string }>> {
      return { contentType: registry.contentType, text: await registry.metrics() }
    },
  }
}

/** Metrics of one process, rendered as Prometheus text. */
export type Metrics = ReturnType<typeof createMetrics>

export function createMetrics() {
  const { registry, createCounter, render } = createRegistry()
  const getResponseCounter = createResponseCounters(registry)
  const calls = createCounter(
    'vitrine_catalog_calls_total',
    'Calls to the catalog by operation and outcome',
    ['operation', 'outcome'],
  )
  const drops = createCounter(
    'vitrine_catalog_items_dropped_total',
    'Dropped products and offers of the catalog by channel and reason',
    ['channel', 'reason'],
  )
  const storeFailures = createCounter(
    'vitrine_store_failures_total',
    'Failed reads and writes of the stored copy',
  )
  const pictureFetches = createCounter(
    'vitrine_picture_fetches_total',
    'Fetches of original pictures by outcome, with VITRINE_PICTURES=proxy',
    ['outcome'],
  )
  const clicks = createCounter(
    'vitrine_clicks_total',
    'Counted clicks by channel, with VITRINE_LINKS=counted',
    ['channel'],
  )
  const overLimit = createCounter(
    'vitrine_counts_over_limit_total',
    'Counts of widgets and clicks beyond a limit: lost, or added without their sub-id',
    ['outcome'],
  )
  const deliveries = createCounter(
    'vitrine_event_deliveries_total',
    'Attempts to send an event to the webhook by outcome',
    ['outcome'],
  )
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
    setGauges: createStateGauges(registry),
    registry,
    render,
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

/** Gauges of the catalog service. The widget server has them for its embedded catalog. */
const FEED_GAUGES = {
  vitrine_feed_age_seconds: {
    help: 'Time since the last successful run of a feed; absent before the first',
    label: 'feed',
    aggregator: 'min',
  },
  vitrine_feed_failing: {
    help: '1 if the last run of a feed failed or is held, or it had no successful run for two intervals, else 0',
    label: 'feed',
    aggregator: 'max',
  },
  vitrine_feed_offers: {
    help: 'Offers of the last successful run of a feed',
    label: 'feed',
    aggregator: 'max',
  },
} as const satisfies Readonly<Record<string, GaugeRow>>

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
  vitrine_walk_calls_needed_per_day: {
    help: 'Catalog calls a day that walks on the schedule need; absent without a schedule, and before the first walk',
    aggregator: 'max',
  },
  vitrine_walk_behind_schedule: {
    help: '1 if walks cannot keep their schedule, because of the daily limit or their duration, else 0; absent without a schedule, and before the first walk',
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
  ...FEED_GAUGES,
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

/** Create gauges, and return a function that sets them; those without a value keep theirs. It is called only when metrics are requested. */
function createGauges<Name extends string>(registry: Registry, rows: Readonly<Record<Name, GaugeRow>>) {
  const gauges = Object.entries<GaugeRow>(rows).map(([name, { help, label, aggregator }]) => {
    const labelNames = label === undefined ? [] : [label]
    const gauge = new Gauge({ name, help, labelNames, aggregator, registers: [registry] })
    return { name: name as Name, label: label ?? '', gauge }
  })
  return (values: Partial<Values<Name>>): void => {
    for (const { name, label, gauge } of gauges) {
      const value = values[name]
      if (value === undefined) continue
      gauge.reset()
      if (value === null) gauge.remove()
      else if (typeof value === 'number') gauge.set(value)
      else
        for (const [key, labelValue = 0] of Object.entries<number | undefined>(value))
          gauge.set({ [label]: key }, labelValue)
    }
  }
}

function createStateGauges(registry: Registry): (values: GaugeValues) => void {
  return createGauges(registry, GAUGES)
}

export function createFeedGauges(registry: Registry) {
  return createGauges(registry, FEED_GAUGES)
}

export type FeedGauges = Partial<Values<keyof typeof FEED_GAUGES>>
