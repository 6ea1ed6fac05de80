import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type CallPurpose,
  type QuotaRules,
  type QuotaState,
  QUOTA_SHARES,
  createQuotaState,
  findDailyLimit,
  mergeOfflineState,
  recordSuccess,
  recordRateLimit,
  toDayNumber,
} from '../../src/catalog/quota.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/clock.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { recordCalls, recordLimit, recordLimitAfter, anyStateOfDay, timeMs } from './quota-fixture.ts'

const PURPOSES: readonly CallPurpose[] = ['walk', 'refresh', 'lookup', 'channels']
const MIDNIGHT_MS = NOON_MS + 12 * HOUR_MS
const SLACK_MS = 5 * MINUTE_MS
const UNKNOWN: QuotaRules = { dailyLimit: null, lookupsPerHour: Infinity }
const createRules = (dailyLimit: number): QuotaRules => ({ dailyLimit, lookupsPerHour: Infinity })
const TODAY_NUMBER = toDayNumber(NOON_MS)

const findCalls = (state: QuotaState, nowMs: number): number | undefined =>
  findDailyLimit(state, UNKNOWN, nowMs)?.calls

describe('quota: concurrent calls', () => {
  test('429s of calls sent before a short pause - do not count again', () => {
    let state = recordLimit(recordCalls(createQuotaState(NOON_MS), 30), {
      retryAfterMs: SECOND_MS,
      nowMs: NOON_MS,
    })
    for (const seconds of [2, 3, 4]) {
      const nowMs = NOON_MS + seconds * SECOND_MS
      state = recordRateLimit(state, { retryAfterMs: SECOND_MS, nowMs, calledAtMs: NOON_MS })
    }
    expect(state).toMatchObject({ pauseCount: 1, limitedUntilMs: NOON_MS + 5 * SECOND_MS, learnedCalls: 30 })
  })

  test('429 of a call sent after the pause - counts again', () => {
    const state = recordLimit(createQuotaState(NOON_MS), { retryAfterMs: SECOND_MS, nowMs: NOON_MS })
    const calledAtMs = NOON_MS + SECOND_MS
    const further = recordRateLimit(state, { retryAfterMs: null, nowMs: calledAtMs + 1, calledAtMs })
    expect(further).toMatchObject({ pauseCount: 2, limitedUntilMs: calledAtMs + 1 + 2 * MINUTE_MS })
  })
})

describe('quota: learned limit', () => {
  test.each([
    [0, undefined],
    [19, undefined],
    [20, 20],
    [21, 21],
    [4_321, 4_321],
  ])('429 after %i calls - the day after the limit is %j', (calls, limit) => {
    expect(findCalls(recordLimitAfter(calls), NOON_MS + DAY_MS)).toBe(limit)
  })

  test('calls of all shares - count, those of the day before do not', () => {
    let state = recordCalls(createQuotaState(NOON_MS - DAY_MS), 500, { nowMs: NOON_MS - DAY_MS })
    for (const purpose of PURPOSES) state = recordCalls(state, 6, { purpose })
    state = recordLimit(state, { retryAfterMs: HOUR_MS, nowMs: NOON_MS })
    expect(findCalls(state, NOON_MS + DAY_MS)).toBe(24)
  })

  test('day of the 429 - has no limit yet; it applies from 00:00 UTC', () => {
    const state = recordLimitAfter(100)
    expect(findCalls(state, MIDNIGHT_MS - 1)).toBeUndefined()
    expect(findDailyLimit(state, UNKNOWN, MIDNIGHT_MS)).toEqual({ calls: 100, isLearned: true })
  })

  test('later 429s of the day - do not change it: they would count probes and concurrent calls', () => {
    let state = recordLimitAfter(100)
    for (const hours of [1, 2, 3]) {
      const nowMs = NOON_MS + hours * HOUR_MS
      state = recordLimit(recordCalls(state, 60, { nowMs }), { retryAfterMs: HOUR_MS, nowMs })
    }
    expect(findCalls(state, NOON_MS + DAY_MS)).toBe(100)
  })

  test('429 of a later day after few calls - does not change the learned limit', () => {
    const learned = recordLimitAfter(1_000)
    const state = recordLimit(recordCalls(learned, 1, { nowMs: MIDNIGHT_MS }), {
      retryAfterMs: HOUR_MS,
      nowMs: MIDNIGHT_MS,
    })
    expect(findCalls(state, MIDNIGHT_MS + 2 * HOUR_MS)).toBe(1_000)
    expect(findCalls(state, MIDNIGHT_MS + DAY_MS)).toBe(1_250)
  })

  test('429 of a later day after more calls - sets a new learned limit', () => {
    const nowMs = NOON_MS + 3 * DAY_MS
    const state = recordLimit(recordCalls(recordLimitAfter(1_000), 50, { nowMs }), {
      retryAfterMs: HOUR_MS,
      nowMs,
    })
    expect(findCalls(state, nowMs + DAY_MS)).toBe(50)
  })

  test('429 of the same day after a refuted one - learns the calls made by then', () => {
    const laterMs = NOON_MS + 2 * HOUR_MS
    const refuted = recordSuccess(recordLimitAfter(100), laterMs)
    const state = recordLimit(recordCalls(refuted, 400, { nowMs: laterMs }), {
      retryAfterMs: HOUR_MS,
      nowMs: laterMs,
    })
    expect(findCalls(state, NOON_MS + DAY_MS)).toBe(500)
  })

  test('later days - it grows by a quarter per day and expires after a week', () => {
    const state = recordLimitAfter(1_000)
    const limits = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((days) => findCalls(state, NOON_MS + days * DAY_MS))
    expect(limits).toEqual([1_000, 1_250, 1_562, 1_953, 2_441, 3_051, 3_814, undefined, undefined])
  })

  test('configured limit - takes precedence', () => {
    expect(findDailyLimit(recordLimitAfter(1_000), createRules(70), NOON_MS + DAY_MS)).toEqual({
      calls: 70,
      isLearned: false,
    })
  })

  test.each([
    ['before the 429', -1, 100],
    ['during the pause', HOUR_MS - 1, 100],
    ['at the end of the pause', HOUR_MS, undefined],
    ['late on the same day', 12 * HOUR_MS - 1, undefined],
    ['at 00:00 UTC', 12 * HOUR_MS, 100],
  ])('success of a call sent %s - limit afterwards', (_when, afterMs, limit) => {
    const state = recordSuccess(recordLimitAfter(100), NOON_MS + afterMs)
    expect(findCalls(state, NOON_MS + DAY_MS)).toBe(limit)
  })

  test.each([
    ['before the 429', -1, 3],
    ['during the pause', HOUR_MS - 1, 3],
    ['after the pause', HOUR_MS, 0],
    ['the next day', DAY_MS, 0],
  ])('success of a call sent %s - consecutive pauses', (_when, afterMs, pauseCount) => {
    const state = recordSuccess({ ...recordLimitAfter(100), pauseCount: 3 }, NOON_MS + afterMs)
    expect(state.pauseCount).toBe(pauseCount)
    expect(state.limitedUntilMs).toBe(NOON_MS + HOUR_MS)
  })

  test('any state - the same success twice changes nothing more', () => {
    fc.assert(
      fc.property(anyStateOfDay(TODAY_NUMBER), timeMs, (state, calledAtMs) => {
        const after = recordSuccess(state, calledAtMs)
        expect(recordSuccess(after, calledAtMs)).toBe(after)
      }),
    )
  })
})

describe('quota: merging two states', () => {
  const sameDay = fc.tuple(
    anyStateOfDay(TODAY_NUMBER),
    anyStateOfDay(TODAY_NUMBER),
    anyStateOfDay(TODAY_NUMBER),
  )

  test('any two - no pause is shortened, and calls of both are added', () => {
    fc.assert(
      fc.property(sameDay, ([stored, own, synced]) => {
        const merged = mergeOfflineState(stored, own, synced)
        expect(merged.limitedUntilMs).toBe(Math.max(stored.limitedUntilMs, own.limitedUntilMs))
        for (const share of QUOTA_SHARES)
          expect(merged.calls[share]).toBe(stored.calls[share] + own.calls[share] - synced.calls[share])
        expect(merged.lookupsLastHour).toBe(Math.max(stored.lookupsLastHour, own.lookupsLastHour))
      }),
    )
  })

  test('any state merged with itself - does not change', () => {
    fc.assert(
      fc.property(anyStateOfDay(TODAY_NUMBER), (state) => {
        expect(mergeOfflineState(state, state, state)).toEqual(state)
      }),
    )
  })

  test('any two - all fields of the later 429 are used', () => {
    fc.assert(
      fc.property(sameDay, ([stored, own, synced]) => {
        fc.pre(stored.limitedAtMs !== own.limitedAtMs)
        const { limitedAtMs, pauseCount, learnedCalls } = own.limitedAtMs > stored.limitedAtMs ? own : stored
        expect(mergeOfflineState(stored, own, synced)).toMatchObject({
          limitedAtMs,
          pauseCount,
          learnedCalls,
        })
      }),
    )
  })

  test('success that refuted a 429 in the meantime - is preserved', () => {
    const stored = recordLimitAfter(100)
    const own = recordSuccess(stored, NOON_MS + HOUR_MS)
    expect(mergeOfflineState(stored, own, stored)).toMatchObject({
      learnedCalls: null,
      pauseCount: 0,
    })
  })

  test('counts of the day before - are not counted today, but the pause remains', () => {
    const stored = createQuotaState(MIDNIGHT_MS)
    const own = { ...recordLimitAfter(30), limitedUntilMs: MIDNIGHT_MS + SLACK_MS }
    expect(mergeOfflineState(stored, own, createQuotaState(NOON_MS))).toMatchObject({
      day: toDayNumber(MIDNIGHT_MS),
      calls: { walk: 0, refresh: 0, lookup: 0 },
      limitedUntilMs: MIDNIGHT_MS + SLACK_MS,
      learnedCalls: 30,
    })
  })
})
