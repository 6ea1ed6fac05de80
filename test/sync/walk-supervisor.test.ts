import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/clock.ts'
import { serializeDatabaseAddress } from '../../src/config/database-address.ts'
import { LEASE_MS } from '../../src/storage/walk-leases.ts'
import { runWalk } from '../../src/sync/walk.ts'
import type { WalkProgress } from '../../src/sync/walk-runner.ts'
import { CHANNEL_ID, makeWireProduct, sendJson } from '../helpers/fake-catalog.ts'
import { type Harness, NOON_MS, createHarness } from '../helpers/harness.ts'
import { createInstantClock } from './instant-clock.ts'
import { makeWireProducts, setProducts } from './walk-fixture.ts'
import { NO_PROXIES } from '../helpers/proxies.ts'

const PAGES = /\/products\?/

let harness: Harness
const startHarness = async (settings: Record<string, string> = {}): Promise<void> => {
  harness = await createHarness({ settings })
  harness.catalog.products.set(CHANNEL_ID, [makeWireProduct()])
}

describe('walks of a process', () => {
  beforeEach(() => startHarness())
  afterEach(() => harness.dispose())

  test('start without a copy - walks at once', async () => {
    await harness.context.walks.start()
    expect(await harness.context.store.getCopyState(CHANNEL_ID)).toMatchObject({ currentWalk: 1 })
  })

  test('start with a copy - does not walk', async () => {
    await harness.context.walks.runNow()
    await harness.context.walks.start()
    expect(harness.catalog.countCalls(PAGES)).toBe(1)
  })

  test('two walks requested at once - share one', async () => {
    const { walks } = harness.context
    const [one, other] = await Promise.all([walks.runNow(), walks.runNow()])
    expect(one).toBe(other)
    expect(harness.catalog.countCalls(PAGES)).toBe(1)
  })

  test('first walk fails - is retried after a minute, then after two, until it succeeds', async () => {
    const { catalog, clock, context } = harness
    catalog.fault = { pathPattern: PAGES, respond: (_request, response) => sendJson(response, 400, {}) }
    await context.walks.start()
    expect(catalog.countCalls(PAGES)).toBe(1)
    for (const [index, waitMs] of [MINUTE_MS, 2 * MINUTE_MS].entries()) {
      // The schedule waits a minute at a time.
      await vi.waitFor(() =>
        expect(clock.pendingDelaysMs.toSorted((a, b) => a - b)).toEqual([MINUTE_MS, waitMs]),
      )
      clock.advance(waitMs - 1)
      expect(catalog.countCalls(PAGES)).toBe(index + 1)
      if (index === 1) catalog.fault = null
      clock.advance(1)
      await vi.waitFor(() => expect(catalog.countCalls(PAGES)).toBe(index + 2))
    }
    await vi.waitFor(async () =>
      expect(await context.store.getCopyState(CHANNEL_ID)).toMatchObject({ currentWalk: 1 }),
    )
    await vi.waitFor(() => expect(clock.pendingWaits).toBe(1))
    expect(harness.logs()).toContain('channel walk failed')
    expect(harness.logs()).toContain('walked a channel')
  })

  test('stop while the first walk waits for a retry - ends and walks no more', async () => {
    const { catalog, clock, context } = harness
    catalog.fault = { pathPattern: PAGES, respond: (_request, response) => sendJson(response, 400, {}) }
    await context.walks.start()
    await vi.waitFor(() => expect(clock.pendingDelaysMs).toEqual([MINUTE_MS, MINUTE_MS]))
    await context.walks.stop()
    expect(clock.pendingWaits).toBe(0)
    await expect(context.walks.runNow()).rejects.toMatchObject({ code: 'VITRINE_WALK_FAILED' })
    expect(catalog.countCalls(PAGES)).toBe(1)
  })

  test('429 during a walk - also pauses calls for visitors', async () => {
    const { catalog, context } = harness
    catalog.fault = {
      pathPattern: PAGES,
      respond: (_request, response) => response.writeHead(429, { 'retry-after': '60' }).end(),
    }
    await context.walks.runNow()
    expect(context.callPolicy.getRateLimitedUntilMs()).toBe(NOON_MS + MINUTE_MS)
    expect(context.callPolicy.canCall('refresh')).toBe(false)
  })

  test('calls, products and drops of a walk - are in the metrics', async () => {
    harness.catalog.products.set(CHANNEL_ID, [makeWireProduct({ title: '' }), makeWireProduct()])
    await harness.context.walks.runNow()
    const { text } = await harness.context.metrics.render()
    expect(text).toMatch(/operation="products",outcome="ok"\} 1/)
    expect(text).toContain(CHANNEL_ID)
    expect(text).toMatch(/reason="product"\} 1/)
  })
})

describe('walks that cannot keep their schedule', () => {
  afterEach(() => harness.dispose())

  test('daily limit too small - the log says after each walk what it would need', async () => {
    await startHarness({ VITRINE_CATALOG_DAILY_LIMIT: '20' })
    await harness.context.walks.runNow()
    expect(harness.logs()).toContain(
      'walks do not keep their schedule: a walk every 1 h needs 48 calls a day (2 each), more than its half of the daily limit',
    )
  })

  test('daily limit that suffices - the log says nothing', async () => {
    await startHarness({ VITRINE_CATALOG_DAILY_LIMIT: '96' })
    await harness.context.walks.runNow()
    expect(harness.logs()).not.toContain('keep their schedule')
  })

  test('walk still in progress when the next one is due - the log says so', async () => {
    await startHarness({ VITRINE_SYNC_CRON: '* * * * *' })
    const { catalog, clock, context } = harness
    await context.walks.runNow()
    clock.advance(5 * MINUTE_MS)
    catalog.fault = { pathPattern: PAGES, respond: () => {} }
    await context.walks.start()
    for (let minute = 0; minute < 3; minute += 1) {
      await vi.waitFor(() => expect(clock.pendingDelaysMs).toContain(MINUTE_MS))
      clock.advance(MINUTE_MS)
    }
    await vi.waitFor(() => expect(harness.logs()).toContain('a walk is due, but the last one has not ended'))
  })
})

describe('walks switched off', () => {
  afterEach(() => harness.dispose())

  test('VITRINE_SYNC_CRON=off - start does not walk, runNow does', async () => {
    await startHarness({ VITRINE_SYNC_CRON: 'off' })
    await harness.context.walks.start()
    expect(harness.catalog.calls).toEqual([])
    await harness.context.walks.runNow()
    expect(await harness.context.store.getCopyState(CHANNEL_ID)).toMatchObject({ currentWalk: 1 })
  })
})

describe('walks within a daily limit', () => {
  // A first walk may use four of five calls a day: the list of channels, and three of its five pages.
  const settings = { VITRINE_CATALOG_DAILY_LIMIT: '5' }
  const STEP_MS = LEASE_MS / 3
  const startLimited = async (): Promise<void> => {
    await startHarness(settings)
    setProducts(harness.catalog, makeWireProducts(1_000))
  }
  afterEach(() => harness.dispose())

  test('first walk waits for its share - start resolves, and boxes of its pages are served', async () => {
    await startLimited()
    const { context, catalog, clock } = harness
    await context.walks.start()
    expect(catalog.countCalls(PAGES)).toBe(3)
    await vi.waitFor(() => expect(clock.pendingDelaysMs).toContain(STEP_MS))
    expect(await context.store.getCopyState(CHANNEL_ID)).toMatchObject({ currentWalk: 0, isRunning: true })
    const gtin = makeWireProducts(1)[0]?.gtin ?? ''
    expect((await context.store.findProduct(CHANNEL_ID, gtin))?.product?.title).toBe('Lamp 0')
  })

  test('first walk waits - it has borrowed the share of refreshes, but not that of first look-ups', async () => {
    await startLimited()
    const { context } = harness
    await context.walks.start()
    expect((await context.callPolicy.readState()).remaining).toEqual({ walk: 0, refresh: 0, lookup: 1 })
    expect(context.callPolicy.canCall('refresh')).toBe(false)
    expect(context.callPolicy.canCall('lookup')).toBe(true)
    expect(context.callPolicy.canCall('walk')).toBe(false)
  })

  test('walk that waits - reports it, and continues after 00:00 UTC', async () => {
    const progress: WalkProgress[] = []
    harness = await createHarness({
      settings,
      over: {
        walkRunner: (job, control) =>
          runWalk(
            job,
            {
              signal: control.signal,
              onProgress: (step) => {
                progress.push(step)
                control.onProgress?.(step)
              },
            },
            createInstantClock(harness.clock),
          ),
      },
    })
    setProducts(harness.catalog, makeWireProducts(1_000))
    harness.clock.advance(11.9 * HOUR_MS)
    await harness.context.walks.start()
    await vi.waitFor(async () =>
      expect(await harness.context.store.getCopyState(CHANNEL_ID)).toMatchObject({ currentWalk: 1 }),
    )
    expect(harness.clock.nowMs()).toBe(NOON_MS + 12 * HOUR_MS)
    expect(progress.map(({ isWaiting }) => isWaiting)).toEqual([false, false, false, true, false, false])
    expect(progress.map(({ productCount }) => productCount)).toEqual([200, 400, 600, 600, 800, 1_000])
  })

  test('stop while it waits - ends at once; a restart the next day continues after its pages', async () => {
    await startLimited()
    const { context, catalog, clock } = harness
    await context.walks.start()
    await context.walks.stop()
    expect(clock.pendingWaits).toBe(0)
    expect(await context.store.getCopyState(CHANNEL_ID)).toMatchObject({ failure: 'VITRINE_WALK_FAILED' })
    clock.advance(DAY_MS)
    catalog.calls.length = 0
    const { config, baseUrl } = { config: context.config, baseUrl: catalog.url }
    const report = await runWalk(
      {
        ...config,
        database: serializeDatabaseAddress(config.database),
        catalog: baseUrl,
        baseUrl,
        key: context.key.current().reveal(),
        timeoutMs: config.catalogTimeoutMs,
        maxBytes: config.catalogMaxBytes,
        proxies: NO_PROXIES,
        ownOrigin: context.ownOrigin,
        shops: [],
        pausedUntilMs: 0,
        dailyLimit: config.catalogDailyLimit,
        canWait: true,
        skipWalkedSinceMs: null,
        isTakeover: false,
        owner: 'restarted',
        isAccepted: false,
        isListAccepted: false,
        confirmAfterMs: HOUR_MS,
      },
      { signal: new AbortController().signal },
      clock,
    )
    expect(report.walks).toMatchObject([{ outcome: 'complete', productCount: 1_000 }])
    expect(catalog.countCalls(PAGES)).toBe(2)
  })

  test('runNow, share used up during the walk - fails without waiting and reports why', async () => {
    await startLimited()
    const { context, catalog, clock } = harness
    const { walks } = await context.walks.runNow()
    expect(walks).toMatchObject([{ outcome: 'failed', failure: 'VITRINE_CATALOG_CALL_BLOCKED' }])
    expect(await context.walks.runNow()).toMatchObject({ walks: [], failure: 'VITRINE_CATALOG_CALL_BLOCKED' })
    expect([clock.pendingWaits, clock.nowMs()]).toEqual([0, NOON_MS])
    expect(catalog.countCalls(PAGES)).toBe(3)
    clock.advance(12 * HOUR_MS)
    expect((await context.walks.runNow()).walks).toMatchObject([{ outcome: 'complete' }])
    expect(catalog.countCalls(PAGES)).toBe(5)
  })
})
