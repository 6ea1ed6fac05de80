import { describe, expect, test } from 'vitest'
import { createQuotaState } from '../src/catalog/quota.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../src/clock.ts'
import type { Context, Demo } from '../src/context.ts'
import { StoreError } from '../src/errors.ts'
import { updateStateGauges, readServerState } from '../src/server-status.ts'
import { BOX, startHarness, startStockedHarness, fetchPath } from './app/app-client.ts'
import { CHANNEL_ID } from './helpers/fake-catalog.ts'
import { NOON_MS } from './helpers/harness.ts'

const OTHER_ID = '00000000-0000-4000-8000-000000000002'
const broken = (): Promise<never> => Promise.reject(new StoreError('broken'))
const withStore = (context: Context, over: Partial<Context['store']>): Context => ({
  ...context,
  store: { ...context.store, ...over },
})

describe('server state', () => {
  test('after a walk - store, call policy and copies, without a catalog call', async () => {
    const { context, catalog, clock } = await startStockedHarness()
    clock.advance(MINUTE_MS)
    const callCount = catalog.calls.length
    for (let turn = 0; turn < 5; turn += 1) await readServerState(context)
    expect(await readServerState(context)).toMatchObject({
      isStoreUp: true,
      isStoreWritable: true,
      callPolicy: { quota: { calls: { walk: 2, refresh: 0, lookup: 0 } }, breaker: 'closed' },
      copies: [{ channel: CHANNEL_ID, ageMs: MINUTE_MS, productCount: 1, dealCount: 1 }],
    })
    expect(catalog.calls).toHaveLength(callCount)
  })

  test('before a walk - no copies', async () => {
    const { context } = await startHarness()
    expect((await readServerState(context)).copies).toEqual([])
  })

  test('channel without a complete walk, and channel that is not served - have no copy', async () => {
    const { context, catalog } = await startStockedHarness()
    const other = { id: OTHER_ID, name: 'Other', kind: 'app', url: null } as const
    await context.store.putChannelList([...catalog.channels, other], NOON_MS)
    expect((await readServerState(context)).copies.map(({ channel }) => channel)).toEqual([CHANNEL_ID])
    const config = { ...context.config, channels: [OTHER_ID] }
    expect((await readServerState({ ...context, config })).copies).toEqual([])
  })

  test('clock behind that of the walking process - age 0, never negative', async () => {
    const { context } = await startStockedHarness()
    const clock = { ...context.clock, nowMs: () => NOON_MS - MINUTE_MS }
    expect((await readServerState({ ...context, clock })).copies).toMatchObject([{ ageMs: 0 }])
  })

  test('unreadable store - is down without copies, the rest is reported', async () => {
    const { context } = await startStockedHarness()
    expect(await readServerState(withStore(context, { ping: broken }))).toMatchObject({
      isStoreUp: false,
      copies: [],
      callPolicy: { quota: { calls: { walk: 2 } } },
    })
  })

  test.each(['findChannelList', 'getCopyState', 'countObservedDays'] as const)(
    'store that fails only at %s - is up without copies',
    async (name) => {
      const { context } = await startStockedHarness()
      expect(await readServerState(withStore(context, { [name]: broken }))).toMatchObject({
        isStoreUp: true,
        isStoreWritable: true,
        copies: [],
      })
    },
  )
})

type CallPolicyMethods = Awaited<ReturnType<Context['callPolicy']['readState']>>

const CALL_POLICY: CallPolicyMethods = {
  quota: createQuotaState(NOON_MS),
  limit: undefined,
  remaining: undefined,
  keyRefusedUntilMs: 0,
  breaker: 'closed',
}

const withCallPolicy = (context: Context, over: Partial<CallPolicyMethods>): Context => ({
  ...context,
  callPolicy: { ...context.callPolicy, readState: () => Promise.resolve({ ...CALL_POLICY, ...over }) },
})

/** Return the series whose names start with one of `names`, which omit the common prefix. */
async function readSeries(context: Context, ...names: readonly string[]): Promise<string[]> {
  await updateStateGauges(context)
  const { text } = await context.metrics.render()
  const starts = names.map((name) => `vitrine_${name}`)
  return text.split('\n').filter((line) => starts.some((start) => line.startsWith(start)))
}

describe('state gauges', () => {
  test('feeds, while the embedded catalog does not respond - keep their values, so that alerts on them do not end', async () => {
    let isBroken = false
    const feed = { name: 'shop', status: 'failed', isQuiet: false, fetchedAtMs: NOON_MS, offers: 7 }
    const readFeeds = () => (isBroken ? broken() : Promise.resolve({ feeds: [feed], warnings: [] }))
    const { context } = await startHarness({ over: { demo: { readFeeds } as unknown as Demo } })
    const before = await readSeries(context, 'feed_')
    expect(before).toEqual([
      'vitrine_feed_age_seconds{feed="shop"} 0',
      'vitrine_feed_failing{feed="shop"} 1',
      'vitrine_feed_offers{feed="shop"} 7',
    ])
    isBroken = true
    expect(await readSeries(context, 'feed_')).toEqual(before)
  })

  test('call policy - calls, pauses in seconds, and circuit breaker', async () => {
    const { context } = await startHarness()
    const quota = {
      ...createQuotaState(NOON_MS),
      calls: { walk: 1, refresh: 2, lookup: 3 },
      limitedUntilMs: 1_790_000_000_500,
    }
    const remaining = { walk: 4, refresh: 5, lookup: 6 }
    const open = withCallPolicy(context, { quota, remaining, keyRefusedUntilMs: 7_000, breaker: 'open' })
    expect(await readSeries(open, 'catalog_', 'store_up', 'store_writable')).toEqual([
      'vitrine_store_up 1',
      'vitrine_store_writable 1',
      'vitrine_catalog_calls_today{share="walk"} 1',
      'vitrine_catalog_calls_today{share="refresh"} 2',
      'vitrine_catalog_calls_today{share="lookup"} 3',
      'vitrine_catalog_calls_left{share="walk"} 4',
      'vitrine_catalog_calls_left{share="refresh"} 5',
      'vitrine_catalog_calls_left{share="lookup"} 6',
      'vitrine_catalog_paused_until_timestamp_seconds{cause="limit"} 1790000000.5',
      'vitrine_catalog_paused_until_timestamp_seconds{cause="key"} 7',
      'vitrine_catalog_breaker_state 2',
    ])
  })

  test('limit learned, set and unknown - one label each; previous series are removed', async () => {
    const { context } = await startHarness()
    const readLimit = (limit: CallPolicyMethods['limit']): Promise<string[]> =>
      readSeries(withCallPolicy(context, { limit }), 'catalog_daily_limit')
    expect(await readLimit({ calls: 80, isLearned: true })).toEqual([
      'vitrine_catalog_daily_limit{known="learned"} 80',
    ])
    expect(await readLimit({ calls: 100, isLearned: false })).toEqual([
      'vitrine_catalog_daily_limit{known="set"} 100',
    ])
    expect(await readLimit(undefined)).toEqual([])
  })

  test.each([
    ['closed', 0],
    ['probing', 1],
    ['open', 2],
  ] as const)('breaker %s - is %i', async (breaker, value) => {
    const { context } = await startHarness()
    expect(await readSeries(withCallPolicy(context, { breaker }), 'catalog_breaker')).toEqual([
      `vitrine_catalog_breaker_state ${value}`,
    ])
  })

  test('copies and channels - ages in seconds; 1 for a held walk or a held channel list', async () => {
    const { context, clock } = await startStockedHarness()
    clock.advance(90_500)
    const label = `{channel="${CHANNEL_ID}"}`
    const names = ['channel', 'copy_age', 'copy_products', 'copy_deals', 'observed_days', 'walk_held']
    expect(await readSeries(context, ...names)).toEqual([
      'vitrine_channels 1',
      'vitrine_channel_list_held 0',
      `vitrine_walk_held${label} 0`,
      `vitrine_copy_age_seconds${label} 90.5`,
      `vitrine_copy_products${label} 1`,
      `vitrine_copy_deals${label} 1`,
      `vitrine_observed_days${label} 1`,
    ])
    await context.store.recordEmptyChannelList(NOON_MS)
    const held = { reason: 'few_products', sinceMs: 1, startedAtMs: 1, productCount: 0 } as const
    const heldContext = withStore(context, {
      getCopyState: async (id) => ({ ...(await context.store.getCopyState(id)), held }),
    })
    expect(await readSeries(heldContext, 'channel_list', 'walk_held')).toEqual([
      'vitrine_channel_list_held 1',
      `vitrine_walk_held${label} 1`,
    ])
  })

  test('observed days - are counted once a day; without a history, the series is absent', async () => {
    const { context, clock } = await startStockedHarness()
    for (const stepMs of [HOUR_MS, DAY_MS, 2 * DAY_MS]) {
      clock.step(stepMs)
      await context.walks.runNow()
    }
    const label = `{channel="${CHANNEL_ID}"}`
    expect(await readSeries(context, 'observed_days')).toEqual([`vitrine_observed_days${label} 3`])
    const off = withStore(context, { countObservedDays: () => Promise.resolve(null) })
    expect(await readSeries(off, 'observed_days')).toEqual([])
    expect((await readServerState(off)).copies).toMatchObject([{ observedDays: null }])
  })

  test('copy of unknown age - its series is absent, not 0', async () => {
    const { context } = await startStockedHarness()
    const clock = { ...context.clock, nowMs: () => NOON_MS - 10 * MINUTE_MS }
    const label = `{channel="${CHANNEL_ID}"}`
    expect(await readSeries({ ...context, clock }, 'copy_age', 'copy_products', 'copy_deals')).toEqual([
      `vitrine_copy_products${label} 1`,
      `vitrine_copy_deals${label} 1`,
    ])
  })

  test('unreadable store - is 0, without channels and copies', async () => {
    const { context } = await startStockedHarness()
    await updateStateGauges(context)
    const names = ['store_up', 'channels', 'copy_age', 'copy_products', 'copy_deals']
    expect(await readSeries(withStore(context, { ping: broken }), ...names)).toEqual(['vitrine_store_up 0'])
  })

  test('clocks - the difference of each in seconds', async () => {
    const { context } = await startHarness()
    const clockMonitor = { ...context.clockMonitor, getSkewsMs: () => ({ catalog: -250, database: 90_000 }) }
    expect(await readSeries({ ...context, clockMonitor }, 'clock_difference')).toEqual([
      'vitrine_clock_difference_seconds{with="catalog"} -0.25',
      'vitrine_clock_difference_seconds{with="database"} 90',
    ])
  })

  test('caches - entries and bytes by name', async () => {
    const harness = await startStockedHarness()
    const { context } = harness
    await fetchPath(harness, BOX)
    const { products, deals, histories, responses } = context.caches
    expect(await readSeries(context, 'cache_')).toEqual([
      'vitrine_cache_entries{cache="products"} 1',
      'vitrine_cache_entries{cache="deals"} 0',
      'vitrine_cache_entries{cache="histories"} 0',
      'vitrine_cache_entries{cache="responses"} 1',
      `vitrine_cache_bytes{cache="products"} ${products.byteCount()}`,
      `vitrine_cache_bytes{cache="deals"} ${deals.byteCount()}`,
      `vitrine_cache_bytes{cache="histories"} ${histories.byteCount()}`,
      `vitrine_cache_bytes{cache="responses"} ${responses.byteCount()}`,
    ])
    expect(responses.byteCount()).toBeGreaterThan(100)
  })
})
