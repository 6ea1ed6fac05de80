import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { HOUR_MS, MINUTE_MS } from '../../src/clock.ts'
import { computePeriodMs } from '../../src/copy/schedule.ts'
import { CHANNEL_ID, makeWireProduct, sendJson } from '../helpers/fake-catalog.ts'
import { type Harness, NOON_MS, createHarness } from '../helpers/harness.ts'

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

  test('two walks asked for at once - are one', async () => {
    const { walks } = harness.context
    const [one, other] = await Promise.all([walks.runNow(), walks.runNow()])
    expect(one).toBe(other)
    expect(harness.catalog.countCalls(PAGES)).toBe(1)
  })

  test('first walk fails - is tried again after a minute, then after two, until it succeeds', async () => {
    const { catalog, clock, context } = harness
    catalog.fault = { matches: PAGES, does: (_request, response) => sendJson(response, 400, {}) }
    await context.walks.start()
    expect(catalog.countCalls(PAGES)).toBe(1)
    for (const [index, waitMs] of [MINUTE_MS, 2 * MINUTE_MS].entries()) {
      await vi.waitFor(() => expect(clock.pendingDelaysMs).toEqual([waitMs]))
      clock.advance(waitMs - 1)
      expect(catalog.countCalls(PAGES)).toBe(index + 1)
      if (index === 1) catalog.fault = null
      clock.advance(1)
      await vi.waitFor(() => expect(catalog.countCalls(PAGES)).toBe(index + 2))
    }
    await vi.waitFor(async () =>
      expect(await context.store.getCopyState(CHANNEL_ID)).toMatchObject({ currentWalk: 1 }),
    )
    await vi.waitFor(() => expect(clock.pendingWaits).toBe(0))
    expect(harness.logs()).toContain('the walk of a channel did not complete')
    expect(harness.logs()).toContain('walked a channel')
  })

  test('stop while the first walk is waiting for its next try - ends and walks no more', async () => {
    const { catalog, clock, context } = harness
    catalog.fault = { matches: PAGES, does: (_request, response) => sendJson(response, 400, {}) }
    await context.walks.start()
    await vi.waitFor(() => expect(clock.pendingDelaysMs).toEqual([MINUTE_MS]))
    await context.walks.stop()
    expect(clock.pendingWaits).toBe(0)
    await expect(context.walks.runNow()).rejects.toMatchObject({ code: 'VITRINE_WALK_FAILED' })
    expect(catalog.countCalls(PAGES)).toBe(1)
  })

  test('429 met by a walk - pauses the calls of visitors too', async () => {
    const { catalog, context } = harness
    catalog.fault = {
      matches: PAGES,
      does: (_request, response) => response.writeHead(429, { 'retry-after': '60' }).end(),
    }
    await context.walks.runNow()
    expect(context.gate.limitedUntilMs()).toBe(NOON_MS + MINUTE_MS)
    expect(context.gate.isOpen('refresh')).toBe(false)
  })

  test('walk - its calls, products and drops - are in the metrics', async () => {
    harness.catalog.products.set(CHANNEL_ID, [makeWireProduct({ title: '' }), makeWireProduct()])
    await harness.context.walks.runNow()
    const { text } = await harness.context.metrics.print()
    expect(text).toMatch(/operation="products",outcome="ok"\} 1/)
    expect(text).toContain(CHANNEL_ID)
    expect(text).toMatch(/reason="product"\} 1/)
  })
})

describe('walks switched off', () => {
  afterEach(() => harness.dispose())

  test('VITRINE_SYNC_CRON=off - start walks nothing, runNow does', async () => {
    await startHarness({ VITRINE_SYNC_CRON: 'off' })
    await harness.context.walks.start()
    expect(harness.catalog.calls).toEqual([])
    await harness.context.walks.runNow()
    expect(await harness.context.store.getCopyState(CHANNEL_ID)).toMatchObject({ currentWalk: 1 })
  })
})

describe('period of a schedule', () => {
  test.each([
    ['7 * * * *', HOUR_MS],
    ['*/20 * * * *', 20 * MINUTE_MS],
    ['0 3 * * *', 24 * HOUR_MS],
    ['0 8,20 * * *', 12 * HOUR_MS],
    ['0 8,9 * * *', 23 * HOUR_MS],
    ['0 0 * * 1', 7 * 24 * HOUR_MS],
  ])('pattern %s - the longest wait of its next runs', (pattern, periodMs) => {
    expect(computePeriodMs(pattern, NOON_MS)).toBe(periodMs)
  })

  test('off, or a single run - has none', () => {
    expect(computePeriodMs(null, NOON_MS)).toBeNull()
    expect(computePeriodMs('2027-01-01T00:00:00', NOON_MS)).toBeNull()
  })
})
