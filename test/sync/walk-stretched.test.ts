import { beforeEach, describe, expect, test, vi } from 'vitest'
import { createQuotaState, noteLimited } from '../../src/catalog/quota.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/clock.ts'
import { LEASE_MS } from '../../src/storage/sql-leases.ts'
import type { WalkReport } from '../../src/sync/walk-runner.ts'
import { CHANNEL_ID } from '../helpers/fake-catalog.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { toGtin } from '../helpers/products.ts'
import { readBox } from '../storage/conformance/subject.ts'
import { createHurriedClock } from './hurried-clock.ts'
import { type WalkOptions, type WalkPlace, makeWalkPlace, makeWireProducts, stock } from './walk-place.ts'

const PAGES = /\/products\?/
const PRODUCT_COUNT = 1_000
const STEP_MS = LEASE_MS / 3

let place: WalkPlace
beforeEach(async () => {
  place = await makeWalkPlace()
  stock(place.catalog, makeWireProducts(PRODUCT_COUNT))
})

/** A daily limit of eight calls: a walk has four of them, its list of channels one of these. */
const walkWithin = (options: WalkOptions = {}): Promise<WalkReport> =>
  place.walk({ ...options, order: { dailyLimit: 8, mayWait: true, ...options.order } })

/** Makes the catalog's size known with a walk of yesterday, so that today's knows what is ahead. */
async function walkYesterday(): Promise<void> {
  await place.walk()
  place.clock.advance(DAY_MS + 11 * HOUR_MS)
  place.catalog.calls.length = 0
}
/** An hour before the shares are renewed. */
const TODAY_MS = NOON_MS + DAY_MS + 11 * HOUR_MS

/** Runs a walk until it waits for its share, on the clock that the test moves, and stops it there. */
async function stopWhileWaiting(): Promise<WalkReport> {
  const stop = new AbortController()
  const walking = walkWithin({ signal: stop.signal })
  await vi.waitFor(() => expect(place.clock.pendingDelaysMs).toEqual([STEP_MS]))
  stop.abort()
  return walking
}

const pageCursors = (): (string | null)[] =>
  place.catalog.calls
    .filter(({ path }) => PAGES.test(path))
    .map(({ path }) => new URL(path, place.catalog.url).searchParams.get('cursor'))

describe('walk that does not fit into its share', () => {
  test('size known - its pages are spread over the rest of the day, and the next day the rest', async () => {
    await walkYesterday()
    const hurried = createHurriedClock(place.clock)
    const pagesAt: string[] = []
    const { walks } = await walkWithin({
      clock: hurried,
      onProgress: ({ productCount, isWaiting }) => {
        const minutes = (place.clock.nowMs() - TODAY_MS) / MINUTE_MS
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
    expect(Math.max(...hurried.waitsMs)).toBe(STEP_MS)
    expect(place.catalog.countCalls(PAGES)).toBe(5)
  })

  test('size not known - goes on until the share is spent, waits until 00:00 UTC, then goes on', async () => {
    const hurried = createHurriedClock(place.clock)
    const progress: string[] = []
    const { walks } = await walkWithin({
      clock: hurried,
      onProgress: ({ productCount, isDone, isWaiting }) =>
        progress.push(`${productCount}${isWaiting ? ' waiting' : ''}${isDone ? ' done' : ''}`),
    })
    expect(walks).toMatchObject([{ outcome: 'complete', productCount: PRODUCT_COUNT }])
    expect(progress).toEqual(['200', '400', '600', '600 waiting', '800', '1000 done'])
    expect(hurried.waitsMs.reduce((sum, waitMs) => sum + waitMs, 0)).toBe(12 * HOUR_MS)
    const days = await place.copy.updateQuota(place.clock.nowMs(), (state) => state)
    expect(days.calls.walk).toBe(2)
  })

  test.each([7, 11])('limit of %i - no day sees more calls than half of it', async (dailyLimit) => {
    await walkYesterday()
    const today = Math.floor(TODAY_MS / DAY_MS)
    // The list of channels is the first call of the first day.
    const callsByDay = new Map([[today, 1]])
    const { walks } = await walkWithin({
      order: { dailyLimit },
      clock: createHurriedClock(place.clock),
      onProgress: ({ isWaiting }) => {
        const day = Math.floor(place.clock.nowMs() / DAY_MS)
        if (!isWaiting) callsByDay.set(day, (callsByDay.get(day) ?? 0) + 1)
      },
    })
    expect(walks).toMatchObject([{ outcome: 'complete' }])
    expect([...callsByDay.values()].reduce((sum, calls) => sum + calls, 0)).toBe(6)
    expect(Math.max(...callsByDay.values()) * 2).toBeLessThanOrEqual(dailyLimit)
  })

  test('limit learned from a 429 - holds as a set one does', async () => {
    const yesterdayMs = NOON_MS - DAY_MS
    await place.copy.updateQuota(yesterdayMs, () => {
      const state = { ...createQuotaState(yesterdayMs), calls: { walk: 0, refresh: 20, lookup: 0 } }
      return noteLimited(state, { retryAfterMs: MINUTE_MS, nowMs: yesterdayMs, calledAtMs: yesterdayMs })
    })
    stock(place.catalog, makeWireProducts(2_000))
    const hurried = createHurriedClock(place.clock)
    const { walks } = await walkWithin({ order: { dailyLimit: null }, clock: hurried })
    expect(walks).toMatchObject([{ outcome: 'complete', productCount: 2_000, durationMs: 12 * HOUR_MS }])
  })

  test('walk that fits - does not wait', async () => {
    await walkYesterday()
    const { walks } = await walkWithin({ order: { dailyLimit: 12 } })
    expect(walks).toMatchObject([{ outcome: 'complete', durationMs: 0 }])
    expect(place.clock.nowMs()).toBe(TODAY_MS)
  })
})

const takeAsStranger = (): Promise<boolean> =>
  place.copy.takeLease(CHANNEL_ID, { owner: 'stranger', forMs: HOUR_MS })

describe('lease of a walk that waits', () => {
  test('hours of waiting - nobody else can take it, and afterwards it is free', async () => {
    await walkYesterday()
    let taken = 0
    const hurried = createHurriedClock(place.clock, async () => {
      taken += Number(await takeAsStranger())
    })
    expect((await walkWithin({ clock: hurried })).walks).toMatchObject([{ outcome: 'complete' }])
    expect(hurried.waitsMs.length).toBeGreaterThanOrEqual(90)
    expect(taken).toBe(0)
    expect(await takeAsStranger()).toBe(true)
  })

  test('lost while it waits, as after a sleep of the machine - stops without another call', async () => {
    await walkYesterday()
    const hurried = createHurriedClock(place.clock, async () => {
      if (hurried.waitsMs.length !== 5) return
      place.clock.advance(MINUTE_MS)
      expect(await takeAsStranger()).toBe(true)
    })
    const { walks } = await walkWithin({ clock: hurried })
    expect(walks).toMatchObject([{ outcome: 'failed', failure: 'VITRINE_WALK_FAILED' }])
    expect(hurried.waitsMs).toHaveLength(5)
    expect(place.catalog.countCalls(PAGES)).toBe(0)
    expect(await takeAsStranger()).toBe(true)
  })
})

describe('walk that is stopped while it waits', () => {
  test('told to stop - ends at once, without a call and without a timer', async () => {
    await walkYesterday()
    const { walks } = await stopWhileWaiting()
    expect(walks).toMatchObject([{ outcome: 'failed', failure: 'VITRINE_WALK_FAILED', durationMs: 0 }])
    expect(place.clock.pendingWaits).toBe(0)
    expect(place.catalog.countCalls(PAGES)).toBe(0)
  })

  test.each([
    ['the next day', DAY_MS],
    ['a day and an hour later', DAY_MS + HOUR_MS],
  ])('restart, %s - goes on behind the pages that it has', async (_when, laterMs) => {
    await stopWhileWaiting()
    place.clock.advance(laterMs)
    place.catalog.calls.length = 0
    expect((await walkWithin()).walks).toMatchObject([{ outcome: 'complete', productCount: PRODUCT_COUNT }])
    expect(pageCursors()).toEqual([toGtin(599), toGtin(799)])
    expect(await readBox(place.copy, toGtin(0))).toBe(`Lamp 0 @${NOON_MS}`)
    expect(await readBox(place.copy, toGtin(999))).toBe(`Lamp 999 @${NOON_MS + laterMs}`)
  })

  test('restart more than a day and an hour later - begins anew', async () => {
    await stopWhileWaiting()
    place.clock.advance(DAY_MS + HOUR_MS + 1)
    place.catalog.calls.length = 0
    await walkWithin({ order: { dailyLimit: 100 } })
    expect(pageCursors()[0]).toBeNull()
    expect(pageCursors()).toHaveLength(5)
  })
})

describe('walk that may not wait', () => {
  test('share spent between its pages - fails with what it has stored, and does not wait', async () => {
    const order = { mayWait: false }
    const { walks, calls } = await walkWithin({ order })
    expect(walks).toMatchObject([
      { outcome: 'failed', failure: 'VITRINE_CATALOG_CALL_BLOCKED', durationMs: 0 },
    ])
    expect(calls).toContainEqual({ operation: 'products', outcome: 'ok', count: 3 })
    expect(place.clock.pendingWaits).toBe(0)
    expect(await readBox(place.copy, toGtin(599))).toBe(`Lamp 599 @${NOON_MS}`)
    expect(await walkWithin({ order })).toMatchObject({ walks: [], failure: 'VITRINE_CATALOG_CALL_BLOCKED' })
    place.clock.advance(DAY_MS)
    expect((await walkWithin({ order })).walks).toMatchObject([{ outcome: 'complete' }])
    expect(pageCursors()).toHaveLength(5)
  })
})
