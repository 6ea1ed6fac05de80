import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type CallPurpose,
  type QuotaRules,
  type QuotaState,
  SHARES,
  createQuotaState,
  findDailyLimit,
  mergeOutage,
  noteAnswered,
  noteLimited,
  toDay,
} from '../../src/catalog/quota.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/clock.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { call, limit, limitAfter, stateOf, timeMs } from './quota-states.ts'

const PURPOSES: readonly CallPurpose[] = ['walk', 'refresh', 'lookup', 'channels']
const MIDNIGHT_MS = NOON_MS + 12 * HOUR_MS
const SLACK_MS = 5 * MINUTE_MS
const UNKNOWN: QuotaRules = { dailyLimit: null, lookupsPerHour: Infinity }
const setTo = (dailyLimit: number): QuotaRules => ({ dailyLimit, lookupsPerHour: Infinity })
const TODAY = toDay(NOON_MS)

const findCalls = (state: QuotaState, nowMs: number): number | undefined =>
  findDailyLimit(state, UNKNOWN, nowMs)?.calls

describe('quota: calls that left together', () => {
  test('429s that come after a short pause, of calls that left before it - are no further ones', () => {
    let state = limit(call(createQuotaState(NOON_MS), 30), { retryAfterMs: SECOND_MS, nowMs: NOON_MS })
    for (const seconds of [2, 3, 4]) {
      const nowMs = NOON_MS + seconds * SECOND_MS
      state = noteLimited(state, { retryAfterMs: SECOND_MS, nowMs, calledAtMs: NOON_MS })
    }
    expect(state).toMatchObject({ pauseCount: 1, limitedUntilMs: NOON_MS + 5 * SECOND_MS, learnedCalls: 30 })
  })

  test('429 of a call that left after the pause - is a further one', () => {
    const state = limit(createQuotaState(NOON_MS), { retryAfterMs: SECOND_MS, nowMs: NOON_MS })
    const calledAtMs = NOON_MS + SECOND_MS
    const further = noteLimited(state, { retryAfterMs: null, nowMs: calledAtMs + 1, calledAtMs })
    expect(further).toMatchObject({ pauseCount: 2, limitedUntilMs: calledAtMs + 1 + 2 * MINUTE_MS })
  })
})

describe('quota: a limit learned', () => {
  test.each([
    [0, undefined],
    [19, undefined],
    [20, 20],
    [21, 21],
    [4_321, 4_321],
  ])('429 after %i calls - the day after the limit is %j', (calls, limit) => {
    expect(findCalls(limitAfter(calls), NOON_MS + DAY_MS)).toBe(limit)
  })

  test('calls of all shares - count, those of the day before do not', () => {
    let state = call(createQuotaState(NOON_MS - DAY_MS), 500, { nowMs: NOON_MS - DAY_MS })
    for (const purpose of PURPOSES) state = call(state, 6, { purpose })
    state = limit(state, { retryAfterMs: HOUR_MS, nowMs: NOON_MS })
    expect(findCalls(state, NOON_MS + DAY_MS)).toBe(24)
  })

  test('the day of the 429 - has no limit yet; from 00:00 UTC it holds', () => {
    const state = limitAfter(100)
    expect(findCalls(state, MIDNIGHT_MS - 1)).toBeUndefined()
    expect(findDailyLimit(state, UNKNOWN, MIDNIGHT_MS)).toEqual({ calls: 100, isLearned: true })
  })

  test('further 429s of the day - do not change it: they count probes and calls that left together', () => {
    let state = limitAfter(100)
    for (const hours of [1, 2, 3]) {
      const nowMs = NOON_MS + hours * HOUR_MS
      state = limit(call(state, 60, { nowMs }), { retryAfterMs: HOUR_MS, nowMs })
    }
    expect(findCalls(state, NOON_MS + DAY_MS)).toBe(100)
  })

  test('429 of a later day after few calls - teaches nothing, and takes back nothing', () => {
    const learned = limitAfter(1_000)
    const state = limit(call(learned, 1, { nowMs: MIDNIGHT_MS }), {
      retryAfterMs: HOUR_MS,
      nowMs: MIDNIGHT_MS,
    })
    expect(findCalls(state, MIDNIGHT_MS + 2 * HOUR_MS)).toBe(1_000)
    expect(findCalls(state, MIDNIGHT_MS + DAY_MS)).toBe(1_250)
  })

  test('429 of a later day after more calls - teaches anew', () => {
    const nowMs = NOON_MS + 3 * DAY_MS
    const state = limit(call(limitAfter(1_000), 50, { nowMs }), { retryAfterMs: HOUR_MS, nowMs })
    expect(findCalls(state, nowMs + DAY_MS)).toBe(50)
  })

  test('429 of the same day after one that was refuted - teaches what was called by then', () => {
    const laterMs = NOON_MS + 2 * HOUR_MS
    const refuted = noteAnswered(limitAfter(100), laterMs)
    const state = limit(call(refuted, 400, { nowMs: laterMs }), { retryAfterMs: HOUR_MS, nowMs: laterMs })
    expect(findCalls(state, NOON_MS + DAY_MS)).toBe(500)
  })

  test('days go by - it grows by a quarter a day and is forgotten after a week', () => {
    const state = limitAfter(1_000)
    const limits = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((days) => findCalls(state, NOON_MS + days * DAY_MS))
    expect(limits).toEqual([1_000, 1_250, 1_562, 1_953, 2_441, 3_051, 3_814, undefined, undefined])
  })

  test('limit that was set - wins', () => {
    expect(findDailyLimit(limitAfter(1_000), setTo(70), NOON_MS + DAY_MS)).toEqual({
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
  ])('answer to a call that left %s - limit afterwards', (_when, afterMs, limit) => {
    const state = noteAnswered(limitAfter(100), NOON_MS + afterMs)
    expect(findCalls(state, NOON_MS + DAY_MS)).toBe(limit)
  })

  test.each([
    ['before the 429', -1, 3],
    ['during the pause', HOUR_MS - 1, 3],
    ['after the pause', HOUR_MS, 0],
    ['the next day', DAY_MS, 0],
  ])('answer to a call that left %s - pauses in a row', (_when, afterMs, pauseCount) => {
    const state = noteAnswered({ ...limitAfter(100), pauseCount: 3 }, NOON_MS + afterMs)
    expect(state.pauseCount).toBe(pauseCount)
    expect(state.limitedUntilMs).toBe(NOON_MS + HOUR_MS)
  })

  test('any state - an answer is no news twice', () => {
    fc.assert(
      fc.property(stateOf(TODAY), timeMs, (state, calledAtMs) => {
        const after = noteAnswered(state, calledAtMs)
        expect(noteAnswered(after, calledAtMs)).toBe(after)
      }),
    )
  })
})

describe('quota: two states of one catalog', () => {
  const sameDay = fc.tuple(stateOf(TODAY), stateOf(TODAY), stateOf(TODAY))

  test('any two - no pause is shortened, and calls of both are added', () => {
    fc.assert(
      fc.property(sameDay, ([stored, own, synced]) => {
        const merged = mergeOutage(stored, own, synced)
        expect(merged.limitedUntilMs).toBe(Math.max(stored.limitedUntilMs, own.limitedUntilMs))
        for (const share of SHARES)
          expect(merged.calls[share]).toBe(stored.calls[share] + own.calls[share] - synced.calls[share])
        expect(merged.lookupsLastHour).toBe(Math.max(stored.lookupsLastHour, own.lookupsLastHour))
      }),
    )
  })

  test('any state with itself and no calls since - is itself', () => {
    fc.assert(
      fc.property(stateOf(TODAY), (state) => {
        expect(mergeOutage(state, state, state)).toEqual(state)
      }),
    )
  })

  test('any two - what the later 429 taught is kept whole', () => {
    fc.assert(
      fc.property(sameDay, ([stored, own, synced]) => {
        fc.pre(stored.limitedAtMs !== own.limitedAtMs)
        const { limitedAtMs, pauseCount, learnedCalls } = own.limitedAtMs > stored.limitedAtMs ? own : stored
        expect(mergeOutage(stored, own, synced)).toMatchObject({ limitedAtMs, pauseCount, learnedCalls })
      }),
    )
  })

  test('answer that refuted a 429 meanwhile - is not forgotten', () => {
    const stored = limitAfter(100)
    const own = noteAnswered(stored, NOON_MS + HOUR_MS)
    expect(mergeOutage(stored, own, stored)).toMatchObject({
      learnedCalls: null,
      pauseCount: 0,
    })
  })

  test('counts of the day before - are not counted today, its pause holds', () => {
    const stored = createQuotaState(MIDNIGHT_MS)
    const own = { ...limitAfter(30), limitedUntilMs: MIDNIGHT_MS + SLACK_MS }
    expect(mergeOutage(stored, own, createQuotaState(NOON_MS))).toMatchObject({
      day: toDay(MIDNIGHT_MS),
      calls: { walk: 0, refresh: 0, lookup: 0 },
      limitedUntilMs: MIDNIGHT_MS + SLACK_MS,
      learnedCalls: 30,
    })
  })
})
