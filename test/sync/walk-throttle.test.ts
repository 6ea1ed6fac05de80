import { beforeEach, describe, expect, test, vi } from 'vitest'
import { createQuotaState, recordRateLimit } from '../../src/catalog/quota.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/clock.ts'
import { LEASE_MS } from '../../src/storage/walk-leases.ts'
import type { WalkReport } from '../../src/sync/walk-runner.ts'
import { CHANNEL_ID } from '../helpers/fake-catalog.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { toGtin } from '../helpers/products.ts'
import { readBox } from '../storage/conformance/subject.ts'
import { createInstantClock } from './instant-clock.ts'
import {
  type WalkOptions,
  type WalkFixture,
  makeWalkFixture,
  makeWireProducts,
  setProducts,
} from './walk-fixture.ts'

const PAGES = /\/products\?/
const PRODUCT_COUNT = 1_000
const STEP_MS = LEASE_MS / 3

let fixture: WalkFixture
beforeEach(async () => {
  fixture = await makeWalkFixture()
  setProducts(fixture.catalog, makeWireProducts(PRODUCT_COUNT))
})

/** A walk may use four of eight calls a day, including one for the list of channels. */
const walkWithin = (options: WalkOptions = {}): Promise<WalkReport> =>
  fixture.walk({ ...options, job: { dailyLimit: 8, canWait: true, ...options.job } })

/** A first walk may also use the share of refreshes: four of five calls, too. */
const FIRST = { dailyLimit: 5 } as const

/** Walk yesterday, so that today's walk knows the catalog's size. */
async function walkYesterday(): Promise<void> {
  await fixture.walk()
  fixture.clock.advance(DAY_MS + 11 * HOUR_MS)
  fixture.catalog.calls.length = 0
}
/** An hour before the shares are reset. */
const TODAY_MS = NOON_MS + DAY_MS + 11 * HOUR_MS

/** Run a walk until it waits for its share, then stop it. */
async function stopWhileWaiting(job: WalkOptions['job'] = {}): Promise<WalkReport> {
  const stop = new AbortController()
  const walking = walkWithin({ signal: stop.signal, job })
  await vi.waitFor(() => expect(fixture.clock.pendingDelaysMs).toEqual([STEP_MS]))
  stop.abort()
  return walking
}

const pageCursors = (): (string | null)[] =>
  fixture.catalog.calls
    .filter(({ path }) => PAGES.test(path))
    .map(({ path }) => new URL(path, fixture.catalog.url).searchParams.get('cursor'))

describe('walk that does not fit into its share', () => {
  test('size known - its pages are spread over the rest of the day, and the next day the rest', async () => {
    await walkYesterday()
    const instantClock = createInstantClock(fixture.clock)
    const pagesAt: string[] = []
    const { walks } = await walkWithin({
      clock: instantClock,
      onProgress: ({ productCount, isWaiting }) => {
        const minutes = (fixture.clock.nowMs() - TODAY_MS) / MINUTE_MS
        pagesAt.push(`${minutes} min: ${productCount}${isWaiting ? ' waiting' : ''}`)
      },
    })
    expect(walks).toMatchObject([{ outcome: 'complete', productCount: PRODUCT_COUNT, durationMs: HOUR_MS }])
    expect(pagesAt).toEqual([
      '0 min: 0 waiting',
      '15 min: 200',
      '15 min: 200 waiting',
      '30 min: 400',
      '30 min: 400 waiting',
      '45 min: 600',
      '45 min: 600 waiting',
      '60 min: 800',
      '60 min: 1000',
    ])
    expect(Math.max(...instantClock.waitsMs)).toBe(STEP_MS)
    expect(fixture.catalog.countCalls(PAGES)).toBe(5)
  })

  test('size not known - walks until the share is used up, waits until 00:00 UTC, then continues', async () => {
    const instantClock = createInstantClock(fixture.clock)
    const progress: string[] = []
    const { walks } = await walkWithin({
      job: FIRST,
      clock: instantClock,
      onProgress: ({ productCount, isDone, isWaiting }) =>
        progress.push(`${productCount}${isWaiting ? ' waiting' : ''}${isDone ? ' done' : ''}`),
    })
    expect(walks).toMatchObject([{ outcome: 'complete', productCount: PRODUCT_COUNT }])
    expect(progress).toEqual(['200', '400', '600', '600 waiting', '800', '1000 done'])
    expect(instantClock.waitsMs.reduce((sum, waitMs) => sum + waitMs, 0)).toBe(12 * HOUR_MS)
    const days = await fixture.copy.updateQuota(fixture.clock.nowMs(), (state) => state)
    expect(days.calls.walk).toBe(2)
  })

  test.each([7, 11])('limit of %i - walks use at most half of it each day', async (dailyLimit) => {
    await walkYesterday()
    const today = Math.floor(TODAY_MS / DAY_MS)
    // The list of channels is the first call of the first day.
    const callsByDay = new Map([[today, 1]])
    const { walks } = await walkWithin({
      job: { dailyLimit },
      clock: createInstantClock(fixture.clock),
      onProgress: ({ isWaiting }) => {
        const day = Math.floor(fixture.clock.nowMs() / DAY_MS)
        if (!isWaiting) callsByDay.set(day, (callsByDay.get(day) ?? 0) + 1)
      },
    })
    expect(walks).toMatchObject([{ outcome: 'complete' }])
    expect([...callsByDay.values()].reduce((sum, calls) => sum + calls, 0)).toBe(6)
    expect(Math.max(...callsByDay.values()) * 2).toBeLessThanOrEqual(dailyLimit)
  })

  test('limit learned from a 429 - applies like a configured one', async () => {
    const yesterdayMs = NOON_MS - DAY_MS
    await fixture.copy.updateQuota(yesterdayMs, () => {
      const state = { ...createQuotaState(yesterdayMs), calls: { walk: 0, refresh: 20, lookup: 0 } }
      return recordRateLimit(state, { retryAfterMs: MINUTE_MS, nowMs: yesterdayMs, calledAtMs: yesterdayMs })
    })
    // 18 pages and the list of channels are one call more than both shares of 20.
    setProducts(fixture.catalog, makeWireProducts(3_600))
    const instantClock = createInstantClock(fixture.clock)
    const { walks } = await walkWithin({ job: { dailyLimit: null }, clock: instantClock })
    expect(walks).toMatchObject([{ outcome: 'complete', productCount: 3_600, durationMs: 12 * HOUR_MS }])
  })

  test('walk that fits - does not wait', async () => {
    await walkYesterday()
    const { walks } = await walkWithin({ job: { dailyLimit: 12 } })
    expect(walks).toMatchObject([{ outcome: 'complete', durationMs: 0 }])
    expect(fixture.clock.nowMs()).toBe(TODAY_MS)
  })
})

const acquireLeaseAsOther = (): Promise<boolean> =>
  fixture.copy.acquireWalkLease(CHANNEL_ID, { owner: 'stranger', forMs: HOUR_MS })

describe('lease of a walk that waits', () => {
  test('hours of waiting - no other process can acquire it, and it is released afterwards', async () => {
    await walkYesterday()
    let acquired = 0
    const instantClock = createInstantClock(fixture.clock, async () => {
      acquired += Number(await acquireLeaseAsOther())
    })
    expect((await walkWithin({ clock: instantClock })).walks).toMatchObject([{ outcome: 'complete' }])
    expect(instantClock.waitsMs.length).toBeGreaterThanOrEqual(90)
    expect(acquired).toBe(0)
    expect(await acquireLeaseAsOther()).toBe(true)
  })

  test('lost while waiting, as after a suspend of the machine - stops without another call', async () => {
    await walkYesterday()
    const instantClock = createInstantClock(fixture.clock, async () => {
      if (instantClock.waitsMs.length !== 5) return
      fixture.clock.advance(MINUTE_MS)
      expect(await acquireLeaseAsOther()).toBe(true)
    })
    const { walks } = await walkWithin({ clock: instantClock })
    expect(walks).toMatchObject([{ outcome: 'failed', failure: 'VITRINE_WALK_FAILED' }])
    expect(instantClock.waitsMs).toHaveLength(5)
    expect(fixture.catalog.countCalls(PAGES)).toBe(0)
    expect(await acquireLeaseAsOther()).toBe(true)
  })
})

describe('walk that is stopped while it waits', () => {
  test('stopped - ends at once, without a call and without a timer', async () => {
    await walkYesterday()
    const { walks } = await stopWhileWaiting()
    expect(walks).toMatchObject([{ outcome: 'failed', failure: 'VITRINE_WALK_FAILED', durationMs: 0 }])
    expect(fixture.clock.pendingWaits).toBe(0)
    expect(fixture.catalog.countCalls(PAGES)).toBe(0)
  })

  test.each([
    ['the next day', DAY_MS],
    ['a day and an hour later', DAY_MS + HOUR_MS],
  ])('restart, %s - continues after its stored pages', async (_when, laterMs) => {
    await stopWhileWaiting(FIRST)
    fixture.clock.advance(laterMs)
    fixture.catalog.calls.length = 0
    expect((await walkWithin({ job: FIRST })).walks).toMatchObject([
      { outcome: 'complete', productCount: PRODUCT_COUNT },
    ])
    expect(pageCursors()).toEqual([toGtin(599), toGtin(799)])
    expect(await readBox(fixture.copy, toGtin(0))).toBe(`Lamp 0 @${NOON_MS}`)
    expect(await readBox(fixture.copy, toGtin(999))).toBe(`Lamp 999 @${NOON_MS + laterMs}`)
  })

  test('restart more than a day and an hour later - starts again', async () => {
    await stopWhileWaiting(FIRST)
    fixture.clock.advance(DAY_MS + HOUR_MS + 1)
    fixture.catalog.calls.length = 0
    await walkWithin({ job: { dailyLimit: 100 } })
    expect(pageCursors()[0]).toBeNull()
    expect(pageCursors()).toHaveLength(5)
  })
})

describe('walk that may not wait', () => {
  test('share used up between pages - fails, keeps its stored pages and does not wait', async () => {
    const job = { ...FIRST, canWait: false }
    const { walks, calls } = await walkWithin({ job })
    expect(walks).toMatchObject([
      { outcome: 'failed', failure: 'VITRINE_CATALOG_CALL_BLOCKED', durationMs: 0 },
    ])
    expect(calls).toContainEqual({ operation: 'products', outcome: 'ok', count: 3 })
    expect(fixture.clock.pendingWaits).toBe(0)
    expect(await readBox(fixture.copy, toGtin(599))).toBe(`Lamp 599 @${NOON_MS}`)
    expect(await walkWithin({ job })).toMatchObject({ walks: [], failure: 'VITRINE_CATALOG_CALL_BLOCKED' })
    fixture.clock.advance(DAY_MS)
    expect((await walkWithin({ job })).walks).toMatchObject([{ outcome: 'complete' }])
    expect(pageCursors()).toHaveLength(5)
  })
})
