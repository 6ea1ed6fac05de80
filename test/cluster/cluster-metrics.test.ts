import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { describe, expect, test } from 'vitest'
import { createMetrics } from '../../src/observability/metrics.ts'
import type { MetricValues } from '../../src/cluster/messages.ts'
import { foldCounters, labelProcess, printSum } from '../../src/cluster/cluster-metrics.ts'
import { sumSeries } from '../system/cluster/fleet-harness.ts'

const ANSWER = { surface: 'fragment', state: 'shown', cache: 'hit' } as const

async function countAnswers(times: number): Promise<MetricValues> {
  const metrics = createMetrics()
  for (let turn = 0; turn < times; turn += 1) metrics.countAnswer(ANSWER)
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

/** What a worker has measured of the state. */
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
    vitrine_walk_held: { c: 0 },
    vitrine_copy_age_seconds: { c: 2 },
    vitrine_copy_products: { c: 10 },
    vitrine_copy_deals: { c: 4 },
    vitrine_clock_difference_seconds: clockDifferences,
    vitrine_cache_entries: { products: 3 },
    vitrine_cache_bytes: { products: 300 },
  })
  return metrics.registry.getMetricsAsJSON()
}

describe('metrics of all processes', () => {
  test('counters and histograms - are summed, gauges as each says', async () => {
    const { text, contentType } = await printSum([await makeValues(3), await makeValues(5)])
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
      ]),
    )
    expect(text.match(/^# TYPE c_total/gm)).toHaveLength(1)
  })

  test('clocks compared by one worker, and not yet by another - are told of each', async () => {
    const parts = [-110, 0].map(async (database, index) =>
      labelProcess(await measure({ database }), `worker-${index}`),
    )
    const { text } = await printSum(await Promise.all(parts))
    expect(text).toContain('vitrine_clock_difference_seconds{with="database",process="worker-0"} -110')
    expect(text).toContain('vitrine_clock_difference_seconds{with="database",process="worker-1"} 0')
  })

  test('memory and event loop - carry the name of their process; one that has ended keeps only its counters', async () => {
    const { text } = await printSum([
      labelProcess(await countAnswers(0), 'primary'),
      labelProcess(await countAnswers(2), 'worker-1'),
      foldCounters([], await countAnswers(3)),
    ])
    const memory = text.split('\n').filter((line) => line.startsWith('process_resident_memory_bytes{'))
    expect(memory.map((line) => line.split(' ')[0])).toEqual([
      'process_resident_memory_bytes{process="primary"}',
      'process_resident_memory_bytes{process="worker-1"}',
    ])
    expect(text).toMatch(/^nodejs_eventloop_lag_p99_seconds\{process="worker-1"\} /m)
    expect(text).toMatch(/^process_start_time_seconds\{process="worker-1"\} /m)
    expect(sumSeries(text, 'vitrine_answers_total', 'surface="fragment"')).toBe(5)
  })

  test('state that all share - is told once', async () => {
    const values = await measure({ catalog: 90 })
    const { text } = await printSum([labelProcess(values, 'worker-1'), labelProcess(values, 'worker-2')])
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
        'vitrine_clock_difference_seconds{with="catalog",process="worker-1"} 90',
        'vitrine_cache_entries{cache="products"} 6',
        'vitrine_cache_bytes{cache="products"} 600',
      ]),
    )
  })

  test('processes that have ended - stay in counters and histograms, and in nothing else', async () => {
    const first = foldCounters([], await makeValues(3))
    const both = foldCounters(first, await makeValues(5))
    const { text } = await printSum([await makeValues(1), both])
    expect(text.split('\n')).toEqual(
      expect.arrayContaining([
        'c_total{kind="a"} 9',
        'h_seconds_sum 9',
        'h_seconds_count 3',
        'g_sum 1',
        'g_max 1',
      ]),
    )
    expect(foldCounters([], await countAnswers(1)).map(({ name }) => name)).not.toContainEqual(
      expect.stringMatching(/^(?:process|nodejs)_|vitrine_cache/),
    )
  })

  test('a process that is folded twice - changes neither the values before nor its own', async () => {
    const ended = await makeValues(3)
    const first = foldCounters([], ended)
    foldCounters(first, ended)
    const { text } = await printSum([first])
    expect(sumSeries(text, 'c_total')).toBe(3)
  })
})
