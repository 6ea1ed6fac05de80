import { describe, expect, test } from 'vitest'
import { SECOND_MS } from '../../src/clock.ts'
import {
  type GaugeValues,
  EVENT_LOOP_SAMPLE_INTERVAL_MS,
  type Metrics,
  createMetrics,
} from '../../src/observability/metrics.ts'

/** Return the series with a prefix, without help and type. */
async function readSeries(metrics: Metrics, name = 'vitrine_'): Promise<string[]> {
  const { text } = await metrics.render()
  return text.split('\n').filter((line) => line.startsWith(name))
}

describe('metrics, output', () => {
  test('no events - only series without labels, which are zero', async () => {
    expect(await readSeries(createMetrics())).toEqual([
      'vitrine_store_failures_total 0',
      'vitrine_store_up 0',
      'vitrine_store_writable 0',
      'vitrine_catalog_breaker_state 0',
      'vitrine_channels 0',
      'vitrine_channel_list_held 0',
      'vitrine_walk_calls_needed_per_day 0',
      'vitrine_walk_behind_schedule 0',
      'vitrine_picture_bytes 0',
    ])
  })

  test('output - Prometheus text with help and type for each metric, and process metrics', async () => {
    const { contentType, text } = await createMetrics().render()
    expect(contentType).toBe('text/plain; version=0.0.4; charset=utf-8')
    expect([...text.matchAll(/^# TYPE (vitrine_.*)$/gm)].map(([, type]) => type)).toEqual([
      'vitrine_http_responses_total counter',
      'vitrine_catalog_calls_total counter',
      'vitrine_catalog_items_dropped_total counter',
      'vitrine_store_failures_total counter',
      'vitrine_picture_fetches_total counter',
      'vitrine_clicks_total counter',
      'vitrine_counts_over_limit_total counter',
      'vitrine_event_deliveries_total counter',
      'vitrine_walks_total counter',
      'vitrine_walk_duration_seconds gauge',
      'vitrine_copy_completed_timestamp_seconds gauge',
      'vitrine_store_up gauge',
      'vitrine_store_writable gauge',
      'vitrine_catalog_calls_today gauge',
      'vitrine_catalog_calls_left gauge',
      'vitrine_catalog_daily_limit gauge',
      'vitrine_catalog_paused_until_timestamp_seconds gauge',
      'vitrine_catalog_breaker_state gauge',
      'vitrine_channels gauge',
      'vitrine_channel_list_held gauge',
      'vitrine_walk_calls_needed_per_day gauge',
      'vitrine_walk_behind_schedule gauge',
      'vitrine_walk_held gauge',
      'vitrine_copy_age_seconds gauge',
      'vitrine_copy_products gauge',
      'vitrine_copy_deals gauge',
      'vitrine_observed_days gauge',
      'vitrine_feed_age_seconds gauge',
      'vitrine_feed_failing gauge',
      'vitrine_feed_offers gauge',
      'vitrine_clock_difference_seconds gauge',
      'vitrine_cache_entries gauge',
      'vitrine_picture_bytes gauge',
      'vitrine_cache_bytes gauge',
    ])
    expect(text.match(/^# HELP vitrine_\w+ \S/gm)).toHaveLength(34)
    expect(text).toMatch(/^process_cpu_seconds_total \d/m)
    expect(text).toMatch(/^nodejs_eventloop_lag_seconds \d/m)
  })

  test('idle event loop - reports the sampling interval; more than that is delay', async () => {
    const metrics = createMetrics()
    const readMedianMs = async (): Promise<number> => {
      const [line = ''] = await readSeries(metrics, 'nodejs_eventloop_lag_p50_seconds')
      return Number(line.split(' ')[1]) * SECOND_MS
    }
    // The first value covers the loading of this file; each read resets it.
    await readMedianMs()
    await expect
      .poll(readMedianMs, { interval: 5 * EVENT_LOOP_SAMPLE_INTERVAL_MS })
      .toBeGreaterThan(EVENT_LOOP_SAMPLE_INTERVAL_MS * 0.8)
  })

  test('two instances - count separately', async () => {
    const [one, other] = [createMetrics(), createMetrics()]
    one.countStoreFailure()
    expect(await readSeries(one)).toContain('vitrine_store_failures_total 1')
    expect(await readSeries(other)).toContain('vitrine_store_failures_total 0')
  })
})

describe('metrics, counters', () => {
  test('responses - one series for each surface, state and cache status', async () => {
    const metrics = createMetrics()
    const response = { surface: 'embed deals', state: 'shown', cache: 'hit' }
    for (const change of [{}, {}, { state: 'empty' }, { cache: 'stale' }, { surface: 'page' }])
      metrics.countResponse({ ...response, ...change })
    expect(await readSeries(metrics, 'vitrine_http_responses_total')).toEqual([
      'vitrine_http_responses_total{surface="embed deals",state="shown",cache="hit"} 2',
      'vitrine_http_responses_total{surface="embed deals",state="empty",cache="hit"} 1',
      'vitrine_http_responses_total{surface="embed deals",state="shown",cache="stale"} 1',
      'vitrine_http_responses_total{surface="page",state="shown",cache="hit"} 1',
    ])
  })

  test('calls - are added up by operation and outcome', async () => {
    const metrics = createMetrics()
    metrics.countCall({ operation: 'products', outcome: 'ok' })
    metrics.countCall({ operation: 'products', outcome: 'ok' }, 41)
    metrics.countCall({ operation: 'products', outcome: 'VITRINE_CATALOG_DEADLINE' }, 1)
    expect(await readSeries(metrics, 'vitrine_catalog_calls_total')).toEqual([
      'vitrine_catalog_calls_total{operation="products",outcome="ok"} 42',
      'vitrine_catalog_calls_total{operation="products",outcome="VITRINE_CATALOG_DEADLINE"} 1',
    ])
  })

  test('drops of several pages - are added up by channel and reason; without drops there is no series', async () => {
    const metrics = createMetrics()
    metrics.countDrops({}, 'a')
    expect(await readSeries(metrics, 'vitrine_catalog_items_dropped_total')).toEqual([])
    metrics.countDrops({ price: 3, link: 1 }, 'a')
    metrics.countDrops({ price: 2 }, 'a')
    metrics.countDrops({ price: 7 }, 'b')
    expect(await readSeries(metrics, 'vitrine_catalog_items_dropped_total')).toEqual([
      'vitrine_catalog_items_dropped_total{channel="a",reason="price"} 5',
      'vitrine_catalog_items_dropped_total{channel="a",reason="link"} 1',
      'vitrine_catalog_items_dropped_total{channel="b",reason="price"} 7',
    ])
  })

  test('label with quotes and line breaks - stays one line', async () => {
    const metrics = createMetrics()
    metrics.countCall({ operation: 'a"b\\c\nd', outcome: 'ok' })
    expect(await readSeries(metrics, 'vitrine_catalog_calls_total')).toEqual([
      String.raw`vitrine_catalog_calls_total{operation="a\"b\\c\nd",outcome="ok"} 1`,
    ])
  })
})

const readWalks = (metrics: Metrics): Promise<string[]> =>
  Promise.all(
    ['vitrine_walks', 'vitrine_walk_duration', 'vitrine_copy_completed'].map((name) =>
      readSeries(metrics, name),
    ),
  ).then((series) => series.flat())

describe('metrics, walks', () => {
  const walk = { channel: 'a', outcome: 'complete', durationMs: 1_234, completedAtMs: 1_790_000_000_500 }

  test('complete walk - is counted and measured in seconds', async () => {
    const metrics = createMetrics()
    metrics.recordWalk(walk)
    expect(await readWalks(metrics)).toEqual([
      'vitrine_walks_total{channel="a",outcome="complete"} 1',
      'vitrine_walk_duration_seconds{channel="a"} 1.234',
      'vitrine_copy_completed_timestamp_seconds{channel="a"} 1790000000.5',
    ])
  })

  test('failed walk after a complete one - keeps the time of the copy and updates the duration', async () => {
    const metrics = createMetrics()
    metrics.recordWalk(walk)
    metrics.recordWalk({ ...walk, outcome: 'failed', durationMs: 0, completedAtMs: null })
    expect(await readWalks(metrics)).toEqual([
      'vitrine_walks_total{channel="a",outcome="complete"} 1',
      'vitrine_walks_total{channel="a",outcome="failed"} 1',
      'vitrine_walk_duration_seconds{channel="a"} 0',
      'vitrine_copy_completed_timestamp_seconds{channel="a"} 1790000000.5',
    ])
  })

  test('failed walk of a new channel - no time of a copy', async () => {
    const metrics = createMetrics()
    metrics.recordWalk({ ...walk, channel: 'b', outcome: 'failed', completedAtMs: null })
    expect(await readSeries(metrics, 'vitrine_copy_completed')).toEqual([])
  })
})

describe('metrics, gauges', () => {
  const VALUES: GaugeValues = {
    vitrine_store_up: 1,
    vitrine_store_writable: 1,
    vitrine_catalog_calls_today: { walk: 12, refresh: 5 },
    vitrine_catalog_calls_left: { walk: 38 },
    vitrine_catalog_daily_limit: { set: 100 },
    vitrine_catalog_paused_until_timestamp_seconds: { limit: 1_790_000_000.5, key: 0 },
    vitrine_catalog_breaker_state: 1,
    vitrine_channels: 2,
    vitrine_channel_list_held: 0,
    vitrine_walk_calls_needed_per_day: 48,
    vitrine_walk_behind_schedule: 1,
    vitrine_walk_held: { a: 0, b: 1 },
    vitrine_copy_age_seconds: { a: 90.5 },
    vitrine_copy_products: { a: 1_000 },
    vitrine_copy_deals: { a: 40 },
    vitrine_observed_days: { a: 31 },
    vitrine_feed_age_seconds: { kopje: 60 },
    vitrine_feed_failing: { kopje: 0 },
    vitrine_feed_offers: { kopje: 7 },
    vitrine_clock_difference_seconds: { catalog: -0.25 },
    vitrine_cache_entries: { products: 3 },
    vitrine_cache_bytes: { products: 300 },
    vitrine_picture_bytes: 5,
  }

  test('set - one series for each label, in order', async () => {
    const metrics = createMetrics()
    metrics.setGauges(VALUES)
    const series = await readSeries(metrics)
    expect(series.filter((line) => !line.startsWith('vitrine_store_failures_total'))).toEqual([
      'vitrine_store_up 1',
      'vitrine_store_writable 1',
      'vitrine_catalog_calls_today{share="walk"} 12',
      'vitrine_catalog_calls_today{share="refresh"} 5',
      'vitrine_catalog_calls_left{share="walk"} 38',
      'vitrine_catalog_daily_limit{known="set"} 100',
      'vitrine_catalog_paused_until_timestamp_seconds{cause="limit"} 1790000000.5',
      'vitrine_catalog_paused_until_timestamp_seconds{cause="key"} 0',
      'vitrine_catalog_breaker_state 1',
      'vitrine_channels 2',
      'vitrine_channel_list_held 0',
      'vitrine_walk_calls_needed_per_day 48',
      'vitrine_walk_behind_schedule 1',
      'vitrine_walk_held{channel="a"} 0',
      'vitrine_walk_held{channel="b"} 1',
      'vitrine_copy_age_seconds{channel="a"} 90.5',
      'vitrine_copy_products{channel="a"} 1000',
      'vitrine_copy_deals{channel="a"} 40',
      'vitrine_observed_days{channel="a"} 31',
      'vitrine_feed_age_seconds{feed="kopje"} 60',
      'vitrine_feed_failing{feed="kopje"} 0',
      'vitrine_feed_offers{feed="kopje"} 7',
      'vitrine_clock_difference_seconds{with="catalog"} -0.25',
      'vitrine_cache_entries{cache="products"} 3',
      'vitrine_picture_bytes 5',
      'vitrine_cache_bytes{cache="products"} 300',
    ])
  })

  test('set again without a label or to null - previous series are removed', async () => {
    const metrics = createMetrics()
    metrics.setGauges(VALUES)
    metrics.setGauges({
      ...VALUES,
      vitrine_channels: null,
      vitrine_walk_held: { a: 0 },
      vitrine_copy_deals: {},
    })
    expect(await readSeries(metrics, 'vitrine_channels')).toEqual([])
    expect(await readSeries(metrics, 'vitrine_walk_held')).toEqual(['vitrine_walk_held{channel="a"} 0'])
    expect(await readSeries(metrics, 'vitrine_copy_deals')).toEqual([])
  })
})
