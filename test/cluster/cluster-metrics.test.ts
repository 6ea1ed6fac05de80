import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { describe, expect, test } from 'vitest'
import { createMetrics } from '../../src/observability/metrics.ts'
import type { MetricValues } from '../../src/cluster/messages.ts'
import { ClusterMetrics } from '../../src/cluster/cluster-metrics.ts'
import { startHarness } from '../app/app-client.ts'
import { sumSeries } from '../system/cluster/cluster-server.ts'

const RESPONSE = { surface: 'fragment', state: 'shown', cache: 'hit' } as const

async function countResponses(times: number): Promise<MetricValues> {
  const metrics = createMetrics()
  for (let turn = 0; turn < times; turn += 1) metrics.countResponse(RESPONSE)
  return metrics.registry.getMetricsAsJSON()
}

/** A counter, a histogram and gauges of each kind. */
function makeValues(value: number): Promise<MetricValues> {
  const registry = new Registry()
  const registers = [registry]
  new Counter({ name: 'c_total', help: 'c', labelNames: ['kind'], registers }).inc({ kind: 'a' }, value)
  new Histogram({ name: 'h_seconds', help: 'h', buckets: [1, 10], registers }).observe(value)
  for (const aggregator of ['sum', 'min', 'max'] as const)
    new Gauge({ name: `g_${aggregator}`, help: 'g', aggregator, registers }).set(value)
  return registry.getMetricsAsJSON()
}

/** The state that a worker measured. */
function measure(clockDifferences: Readonly<Record<string, number>>): Promise<MetricValues> {
  const metrics = createMetrics()
  metrics.setGauges({
    vitrine_store_up: 1,
    vitrine_store_writable: 1,
    vitrine_catalog_calls_today: { walk: 7 },
    vitrine_catalog_calls_left: { walk: 90 },
    vitrine_catalog_daily_limit: { set: 100 },
    vitrine_catalog_paused_until_timestamp_seconds: { limit: 5, key: 0 },
    vitrine_catalog_breaker_state: 0,
    vitrine_channels: 1,
    vitrine_channel_list_held: 0,
    vitrine_walk_calls_needed_per_day: 48,
    vitrine_walk_behind_schedule: 0,
    vitrine_walk_held: { c: 0 },
    vitrine_copy_age_seconds: { c: 2 },
    vitrine_copy_products: { c: 10 },
    vitrine_copy_deals: { c: 4 },
    vitrine_observed_days: { c: 31 },
    vitrine_feed_age_seconds: { kopje: 60 },
    vitrine_feed_failing: { kopje: 0 },
    vitrine_feed_offers: { kopje: 7 },
    vitrine_clock_difference_seconds: clockDifferences,
    vitrine_cache_entries: { products: 3 },
    vitrine_cache_bytes: { products: 300 },
    vitrine_picture_bytes: 5,
  })
  return metrics.registry.getMetricsAsJSON()
}

type Options = Readonly<{ ended?: readonly MetricValues[]; isInTime?: boolean }>

/** The metrics page of a primary with these workers; `ended`: workers that have exited. */
async function renderMetrics(
  workers: readonly MetricValues[],
  { ended = [], isInTime = true }: Options = {},
): Promise<Readonly<{ contentType: string; text: string }>> {
  const { context } = await startHarness()
  const workerList = workers.map((values, index) => ({
    workerNumber: index + 1,
    values,
    refreshValues: () => Promise.resolve(isInTime),
  }))
  const metrics = new ClusterMetrics(context, new Set(workerList))
  for (const values of ended) metrics.fold(values)
  return metrics.render()
}

describe('metrics of all processes', () => {
  test('counters and histograms - are summed; gauges as each one defines', async () => {
    const { text, contentType } = await renderMetrics([await makeValues(3), await makeValues(5)])
    expect(contentType).toMatch(/^text\/plain/)
    expect(text.split('\n')).toEqual(
      expect.arrayContaining([
        'c_total{kind="a"} 8',
        'h_seconds_bucket{le="1"} 0',
        'h_seconds_bucket{le="10"} 2',
        'h_seconds_bucket{le="+Inf"} 2',
        'h_seconds_sum 8',
        'h_seconds_count 2',
        'g_sum 8',
        'g_min 3',
        'g_max 5',
        'vitrine_workers 2',
        'vitrine_worker_scrape_timeouts_total 0',
      ]),
    )
    expect(text.match(/^# TYPE c_total/gm)).toHaveLength(1)
  })

  test('worker that does not reply in time - is counted, and its previous values stay', async () => {
    const { text } = await renderMetrics([await makeValues(3)], { isInTime: false })
    expect([sumSeries(text, 'c_total'), sumSeries(text, 'vitrine_worker_scrape_timeouts_total')]).toEqual([
      3, 1,
    ])
  })

  test('clocks compared by one worker only - are reported per worker', async () => {
    const { text } = await renderMetrics([await measure({ database: -110 }), await measure({ database: 0 })])
    expect(text).toContain('vitrine_clock_difference_seconds{with="database",process="worker-1"} -110')
    expect(text).toContain('vitrine_clock_difference_seconds{with="database",process="worker-2"} 0')
  })

  test('memory and event loop - have the label of their process; an exited one keeps only its counters', async () => {
    const { text } = await renderMetrics([await countResponses(2)], { ended: [await countResponses(3)] })
    const memory = text.split('\n').filter((line) => line.startsWith('process_resident_memory_bytes{'))
    expect(memory.map((line) => line.split(' ')[0])).toEqual([
      'process_resident_memory_bytes{process="primary"}',
      'process_resident_memory_bytes{process="worker-1"}',
    ])
    expect(text).toMatch(/^nodejs_eventloop_lag_p99_seconds\{process="worker-1"\} /m)
    expect(text).toMatch(/^process_start_time_seconds\{process="worker-1"\} /m)
    expect(sumSeries(text, 'vitrine_http_responses_total', 'surface="fragment"')).toBe(5)
  })

  test('shared state - is reported once', async () => {
    const values = await measure({ catalog: 90 })
    const { text } = await renderMetrics([values, values])
    expect(text.split('\n')).toEqual(
      expect.arrayContaining([
        'vitrine_store_up 1',
        'vitrine_catalog_calls_today{share="walk"} 7',
        'vitrine_catalog_calls_left{share="walk"} 90',
        'vitrine_catalog_daily_limit{known="set"} 100',
        'vitrine_catalog_paused_until_timestamp_seconds{cause="limit"} 5',
        'vitrine_catalog_breaker_state 0',
        'vitrine_copy_age_seconds{channel="c"} 2',
        'vitrine_copy_products{channel="c"} 10',
        'vitrine_copy_deals{channel="c"} 4',
        'vitrine_observed_days{channel="c"} 31',
        'vitrine_clock_difference_seconds{with="catalog",process="worker-1"} 90',
        'vitrine_cache_entries{cache="products"} 6',
        'vitrine_cache_bytes{cache="products"} 600',
      ]),
    )
  })

  test('exited processes - stay only in counters and histograms', async () => {
    const ended = [await makeValues(3), await makeValues(5)]
    const { text } = await renderMetrics([await makeValues(1)], { ended })
    expect(text.split('\n')).toEqual(
      expect.arrayContaining([
        'c_total{kind="a"} 9',
        'h_seconds_sum 9',
        'h_seconds_count 3',
        'g_sum 1',
        'g_max 1',
      ]),
    )
    const alone = await renderMetrics([], { ended: [await measure({ catalog: 90 })] })
    expect(alone.text).not.toMatch(/^vitrine_catalog_daily_limit\{|^vitrine_clock_difference_seconds\{/m)
    expect(sumSeries(alone.text, 'vitrine_cache_entries')).toBe(0)
  })

  test('the same values folded twice - are counted twice and not modified', async () => {
    const ended = await makeValues(3)
    expect(sumSeries((await renderMetrics([], { ended: [ended, ended] })).text, 'c_total')).toBe(6)
    expect(sumSeries((await renderMetrics([], { ended: [ended] })).text, 'c_total')).toBe(3)
  })
})
