import { describe, expect, test } from 'vitest'
import { type Metrics, createMetrics } from '../src/metrics.ts'

/** The values of our own series, without help and type. */
async function readSeries(metrics: Metrics, name = 'vitrine_'): Promise<string[]> {
  const { text } = await metrics.print()
  return text.split('\n').filter((line) => line.startsWith(name))
}

describe('metrics, page', () => {
  test('nothing happened - no series but the one without labels, which is zero', async () => {
    expect(await readSeries(createMetrics())).toEqual(['vitrine_store_failures_total 0'])
  })

  test('page - printed - Prometheus text, each own metric with help and type, and the process itself', async () => {
    const { contentType, text } = await createMetrics().print()
    expect(contentType).toBe('text/plain; version=0.0.4; charset=utf-8')
    expect([...text.matchAll(/^# TYPE (vitrine_.*)$/gm)].map(([, type]) => type)).toEqual([
      'vitrine_answers_total counter',
      'vitrine_catalog_calls_total counter',
      'vitrine_dropped_total counter',
      'vitrine_store_failures_total counter',
      'vitrine_walks_total counter',
      'vitrine_walk_duration_seconds gauge',
      'vitrine_copy_completed_timestamp_seconds gauge',
    ])
    expect(text.match(/^# HELP vitrine_\w+ \S/gm)).toHaveLength(7)
    expect(text).toMatch(/^process_cpu_seconds_total \d/m)
    expect(text).toMatch(/^nodejs_eventloop_lag_seconds \d/m)
  })

  test('two processes in one - each counts for itself', async () => {
    const [one, other] = [createMetrics(), createMetrics()]
    one.countStoreFailure()
    expect(await readSeries(one)).toEqual(['vitrine_store_failures_total 1'])
    expect(await readSeries(other)).toEqual(['vitrine_store_failures_total 0'])
  })
})

describe('metrics, counters', () => {
  test('answers - alike and not - one series for each surface, state and cache status', async () => {
    const metrics = createMetrics()
    const answer = { surface: 'embed deals', state: 'shown', cache: 'hit' }
    for (const change of [{}, {}, { state: 'empty' }, { cache: 'stale' }, { surface: 'page' }])
      metrics.countAnswer({ ...answer, ...change })
    expect(await readSeries(metrics, 'vitrine_answers_total')).toEqual([
      'vitrine_answers_total{surface="embed deals",state="shown",cache="hit"} 2',
      'vitrine_answers_total{surface="embed deals",state="empty",cache="hit"} 1',
      'vitrine_answers_total{surface="embed deals",state="shown",cache="stale"} 1',
      'vitrine_answers_total{surface="page",state="shown",cache="hit"} 1',
    ])
  })

  test('calls - one, then several at once - are added up by operation and outcome', async () => {
    const metrics = createMetrics()
    metrics.countCall({ operation: 'products', outcome: 'ok' })
    metrics.countCall({ operation: 'products', outcome: 'ok' }, 41)
    metrics.countCall({ operation: 'products', outcome: 'VITRINE_CATALOG_DEADLINE' }, 1)
    expect(await readSeries(metrics, 'vitrine_catalog_calls_total')).toEqual([
      'vitrine_catalog_calls_total{operation="products",outcome="ok"} 42',
      'vitrine_catalog_calls_total{operation="products",outcome="VITRINE_CATALOG_DEADLINE"} 1',
    ])
  })

  test('drops - of several pages - are added up by reason; none - make no series', async () => {
    const metrics = createMetrics()
    metrics.countDrops({})
    expect(await readSeries(metrics, 'vitrine_dropped_total')).toEqual([])
    metrics.countDrops({ price: 3, link: 1 })
    metrics.countDrops({ price: 2 })
    expect(await readSeries(metrics, 'vitrine_dropped_total')).toEqual([
      'vitrine_dropped_total{reason="price"} 5',
      'vitrine_dropped_total{reason="link"} 1',
    ])
  })

  test('label - with quotes and line ends - stays one line', async () => {
    const metrics = createMetrics()
    metrics.countCall({ operation: 'a"b\\c\nd', outcome: 'ok' })
    expect(await readSeries(metrics, 'vitrine_catalog_calls_total')).toEqual([
      String.raw`vitrine_catalog_calls_total{operation="a\"b\\c\nd",outcome="ok"} 1`,
    ])
  })
})

describe('metrics, walks', () => {
  const walk = { channel: 'a', outcome: 'complete', durationMs: 1_234, completedAtMs: 1_790_000_000_500 }

  test('complete walk - counted, and measured in seconds', async () => {
    const metrics = createMetrics()
    metrics.measureWalk(walk)
    expect((await readSeries(metrics)).slice(1)).toEqual([
      'vitrine_walks_total{channel="a",outcome="complete"} 1',
      'vitrine_walk_duration_seconds{channel="a"} 1.234',
      'vitrine_copy_completed_timestamp_seconds{channel="a"} 1790000000.5',
    ])
  })

  test('failed walk after a complete one - the time of the copy stays, the duration is the last', async () => {
    const metrics = createMetrics()
    metrics.measureWalk(walk)
    metrics.measureWalk({ ...walk, outcome: 'failed', durationMs: 0, completedAtMs: null })
    expect((await readSeries(metrics)).slice(1)).toEqual([
      'vitrine_walks_total{channel="a",outcome="complete"} 1',
      'vitrine_walks_total{channel="a",outcome="failed"} 1',
      'vitrine_walk_duration_seconds{channel="a"} 0',
      'vitrine_copy_completed_timestamp_seconds{channel="a"} 1790000000.5',
    ])
  })

  test('failed walk of a new channel - no time of a copy that is not there', async () => {
    const metrics = createMetrics()
    metrics.measureWalk({ ...walk, channel: 'b', outcome: 'failed', completedAtMs: null })
    expect(await readSeries(metrics, 'vitrine_copy_completed')).toEqual([])
  })
})
