import { describe, expect, test, vi } from 'vitest'
import {
  BOX,
  BOX_EMBED,
  GRID,
  GTIN,
  startHarness,
  startStockedHarness,
  fetchPath,
} from '../app/app-client.ts'
import { sendJson } from '../helpers/fake-catalog.ts'

/** The headers about the state of a widget. */
const NAMES = ['cache-control', 'vitrine-state', 'vitrine-reason', 'vitrine-error', 'cache-status'] as const
const pick = (headers: Readonly<Record<string, string | undefined>>): (string | undefined)[] =>
  NAMES.map((name) => headers[name])

describe('headers of a widget', () => {
  test('a shown box or grid has state and lifetime, and no reason', async () => {
    const harness = await startStockedHarness()
    harness.clock.advance(200_000)
    for (const status of ['vitrine; hit', 'vitrine; hit'])
      expect(pick((await fetchPath(harness, BOX)).headers)).toEqual([
        'public, max-age=100, stale-while-revalidate=600, stale-if-error=86200',
        'shown',
        undefined,
        undefined,
        status,
      ])
    expect((await fetchPath(harness, GRID)).headers['cache-control']).toBe(
      'public, max-age=300, stale-while-revalidate=600, stale-if-error=86200',
    )
  })

  test('a hidden box has a reason, and no price limits its stale times', async () => {
    const harness = await startStockedHarness(undefined, {
      settings: { VITRINE_PRICE_MAX_AGE_SECONDS: '500' },
    })
    expect((await fetchPath(harness, BOX)).headers['cache-control']).toBe(
      'public, max-age=300, stale-while-revalidate=500, stale-if-error=500',
    )
    for (const status of ['vitrine; hit', 'vitrine; hit'])
      expect(pick((await fetchPath(harness, `${BOX}?merchant=nobody`)).headers)).toEqual([
        'public, max-age=300, stale-while-revalidate=600, stale-if-error=86400',
        'hidden',
        'The option merchant=nobody hides the only offer of this product. Its shops: Kopje.',
        undefined,
        status,
      ])
  })

  test('an invalid GTIN is explained, and cacheable like a box', async () => {
    const { headers } = await fetchPath(await startHarness(), BOX.replace(GTIN, 'x'))
    expect(pick(headers)).toEqual([
      'public, max-age=300, stale-while-revalidate=600, stale-if-error=86400',
      'invalid',
      undefined,
      expect.stringContaining('GTIN'),
      'vitrine; fwd=miss; detail=invalid',
    ])
  })

  test('an unavailable box is not stored and has no reason', async () => {
    const harness = await startHarness()
    harness.catalog.fault = { pathPattern: /./, respond: (_call, response) => sendJson(response, 500, {}) }
    expect(pick((await fetchPath(harness, BOX)).headers)).toEqual([
      'no-store',
      'unavailable',
      undefined,
      undefined,
      'vitrine; fwd=miss; detail=unavailable',
    ])
  })
})

describe('concurrent requests of one widget', () => {
  test.each([BOX, BOX_EMBED])('%s is rendered once, and each response is counted', async (path) => {
    const harness = await startStockedHarness()
    const render = vi.spyOn(harness.context.renderer, 'renderWidget')
    const seen = await Promise.all([1, 2, 3].map(() => fetchPath(harness, path)))
    expect(new Set(seen.map(({ text }) => text)).size).toBe(1)
    expect(render).toHaveBeenCalledTimes(1)
    expect((await harness.context.metrics.render()).text).toMatch(
      /vitrine_http_responses_total\{surface="\w+ where-to-buy",state="shown",cache="hit"\} 3/,
    )
  })

  test('a failed rendering fails only for its requests and is not cached', async () => {
    const { headers } = await fetchPath(await startStockedHarness(), BOX_EMBED)
    const harness = await startStockedHarness()
    vi.spyOn(harness.context.renderer, 'renderEmbed').mockImplementationOnce(() => {
      throw new TypeError('a bug')
    })
    const known = await fetchPath(harness, BOX_EMBED, { 'If-None-Match': headers['etag'] ?? '' })
    const failed = await fetchPath(harness, BOX_EMBED)
    const next = await fetchPath(harness, BOX_EMBED)
    expect([known.status, failed.headers['cache-control'], next.headers['vitrine-state']]).toEqual([
      304,
      'no-store',
      'shown',
    ])
  })
})

test('a box with unchanged data keeps its body when it is no longer fresh', async () => {
  const harness = await startStockedHarness()
  const render = vi.spyOn(harness.context.renderer, 'renderWidget')
  const first = await fetchPath(harness, BOX)
  harness.catalog.fault = { pathPattern: /./, respond: (_call, response) => sendJson(response, 500, {}) }
  harness.clock.advance(400_000)
  const stale = await fetchPath(harness, BOX)
  expect([stale.headers['cache-status'], stale.text]).toEqual([
    'vitrine; fwd=stale; detail=stale',
    first.text,
  ])
  expect(render).toHaveBeenCalledTimes(1)
})

test('each stale box is logged at level debug', async () => {
  const harness = await startStockedHarness()
  harness.catalog.fault = { pathPattern: /./, respond: (_call, response) => sendJson(response, 500, {}) }
  harness.clock.advance(400_000)
  for (let visits = 0; visits < 3; visits += 1) await fetchPath(harness, GRID)
  expect(harness.logs().split('"cache":"stale"').length - 1).toBe(3)
})
