import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type CallPurpose,
  type QuotaRules,
  type QuotaState,
  QUOTA_SHARES,
  computeRemainingCalls,
  recordCall,
  createQuotaState,
  splitDailyLimit,
  checkQuota,
  toDayNumber,
} from '../../src/catalog/quota.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, computeNextMidnightUtcMs } from '../../src/clock.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { recordCalls, recordLimit, recordLimitAfter, anyStateOfDay, timeMs } from './quota-fixture.ts'
import { toRunCount } from '../helpers/property-runs.ts'

const PURPOSES: readonly CallPurpose[] = ['walk', 'refresh', 'lookup', 'channels']
/** The share that each purpose uses. */
const SHARE_BY_PURPOSE = ['walk', 'refresh', 'lookup', 'lookup'] as const
const MIDNIGHT_MS = NOON_MS + 12 * HOUR_MS
const SLACK_MS = 5 * MINUTE_MS
const UNKNOWN: QuotaRules = { dailyLimit: null, lookupsPerHour: Infinity }
const createRules = (dailyLimit: number): QuotaRules => ({ dailyLimit, lookupsPerHour: Infinity })

describe('quota: shares of a limit', () => {
  test.each([
    [1, { walk: 0, refresh: 0, lookup: 1 }],
    [2, { walk: 1, refresh: 0, lookup: 1 }],
    [3, { walk: 1, refresh: 1, lookup: 1 }],
    [10, { walk: 5, refresh: 4, lookup: 1 }],
    [99, { walk: 49, refresh: 39, lookup: 11 }],
    [10_000, { walk: 5_000, refresh: 4_000, lookup: 1_000 }],
    [1_000_000_000, { walk: 500_000_000, refresh: 400_000_000, lookup: 100_000_000 }],
  ])('%i calls a day - half to walks, two fifths to refreshes, the rest to look-ups', (limit, shares) => {
    expect(splitDailyLimit(limit)).toEqual(shares)
  })

  test('any limit - the shares are integers, add up to the limit, and none exceeds its part', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000_000_000 }), (limit) => {
        const { walk, refresh, lookup } = splitDailyLimit(limit)
        expect([walk, refresh, lookup].every(Number.isInteger)).toBe(true)
        expect(walk + refresh + lookup).toBe(limit)
        expect(walk * 2).toBeLessThanOrEqual(limit)
        expect(refresh * 10).toBeLessThanOrEqual(limit * 4)
        expect(lookup * 10).toBeGreaterThanOrEqual(limit)
        expect(Math.min(walk, refresh)).toBeGreaterThanOrEqual(0)
        expect(limit / 2 - walk).toBeLessThan(1)
        expect((limit * 4) / 10 - refresh).toBeLessThan(1)
      }),
      { numRuns: toRunCount(500) },
    )
  })

  test('purposes - lists of channels count as look-ups', () => {
    const state = createQuotaState(NOON_MS)
    const counts = PURPOSES.map((purpose) => recordCall(state, { purpose, nowMs: NOON_MS }).calls)
    expect(counts.map((calls) => QUOTA_SHARES.filter((share) => calls[share] > 0))).toEqual(
      SHARE_BY_PURPOSE.map((share) => [share]),
    )
  })
})

const check = (state: QuotaState, rules: QuotaRules, nowMs = NOON_MS): string[] =>
  PURPOSES.map((purpose) => checkQuota(state, rules, { purpose, nowMs }))

describe('quota: decisions', () => {
  const fresh = createQuotaState(NOON_MS)

  test('empty state - everything is allowed', () => {
    expect(check(recordCalls(fresh, 1_000), UNKNOWN)).toEqual(['allowed', 'allowed', 'allowed', 'allowed'])
  })

  test.each([
    ['walk', 5, ['share_exhausted', 'allowed', 'allowed', 'allowed']],
    ['refresh', 4, ['allowed', 'share_exhausted', 'allowed', 'allowed']],
    ['lookup', 1, ['allowed', 'allowed', 'share_exhausted', 'share_exhausted']],
    ['channels', 1, ['allowed', 'allowed', 'share_exhausted', 'share_exhausted']],
  ] as const)(
    'share of %s used up - only this share denies calls: shares do not borrow',
    (purpose, calls, decisions) => {
      const left = recordCalls(fresh, calls - 1, { purpose })
      expect(check(left, createRules(10))).toEqual(['allowed', 'allowed', 'allowed', 'allowed'])
      expect(check(recordCalls(left, 1, { purpose }), createRules(10))).toEqual(decisions)
    },
  )

  test('limit of one call - allows neither walks nor refreshes', () => {
    expect(check(fresh, createRules(1))).toEqual(['share_exhausted', 'share_exhausted', 'allowed', 'allowed'])
  })

  test.each([
    [0, 0, 'lookups_exhausted'],
    [600, 599, 'allowed'],
    [600, 600, 'lookups_exhausted'],
    [600, 601, 'lookups_exhausted'],
  ])(
    'look-ups per hour %j, made %i - %s; other purposes are not affected',
    (lookupsPerHour, made, decision) => {
      const rules = { dailyLimit: null, lookupsPerHour }
      expect(check({ ...fresh, lookupsLastHour: made }, rules)).toEqual([
        'allowed',
        'allowed',
        decision,
        'allowed',
      ])
    },
  )

  test('pause - blocks to its last millisecond, regardless of the remaining quota', () => {
    const state = recordLimit(fresh, { retryAfterMs: 30 * SECOND_MS, nowMs: NOON_MS })
    const untilMs = NOON_MS + 30 * SECOND_MS
    expect(new Set(check(state, createRules(1_000), untilMs - 1))).toEqual(new Set(['paused']))
    expect(new Set(check(state, createRules(1_000), untilMs))).toEqual(new Set(['allowed']))
  })

  test('any calls at any times - no share exceeds its part of the limit on any day', () => {
    const step = fc.record({ purpose: fc.constantFrom(...PURPOSES), waitMs: fc.nat({ max: 3 * HOUR_MS }) })
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 40 }),
        fc.array(step, { maxLength: 120 }),
        (dailyLimit, steps) => {
          let nowMs = NOON_MS
          let state = createQuotaState(nowMs)
          const made = new Map<string, number>()
          for (const { purpose, waitMs } of steps) {
            nowMs += waitMs
            if (checkQuota(state, createRules(dailyLimit), { purpose, nowMs }) !== 'allowed') continue
            state = recordCall(state, { purpose, nowMs })
            const key = `${toDayNumber(nowMs)} ${SHARE_BY_PURPOSE[PURPOSES.indexOf(purpose)] ?? ''}`
            made.set(key, (made.get(key) ?? 0) + 1)
          }
          const shares = splitDailyLimit(dailyLimit)
          for (const [key, calls] of made)
            expect(calls).toBeLessThanOrEqual(
              shares[QUOTA_SHARES.find((share) => key.endsWith(share)) ?? 'walk'],
            )
        },
      ),
    )
  })
})

describe('quota: midnight', () => {
  test('calls of a day - count until 23:59:59.999 UTC and not beyond', () => {
    const state = recordCalls(createQuotaState(NOON_MS), 5, { purpose: 'walk' })
    expect(computeRemainingCalls(state, createRules(10), MIDNIGHT_MS - 1)?.walk).toBe(0)
    expect(computeRemainingCalls(state, createRules(10), MIDNIGHT_MS)?.walk).toBe(5)
    expect(recordCalls(state, 1, { nowMs: MIDNIGHT_MS - 1, purpose: 'walk' }).calls.walk).toBe(6)
    expect(recordCalls(state, 1, { nowMs: MIDNIGHT_MS, purpose: 'walk' }).calls).toEqual({
      walk: 1,
      refresh: 0,
      lookup: 0,
    })
  })

  test('more walks than their share - borrow from refreshes; 0 remain, never less', () => {
    expect(
      computeRemainingCalls(
        recordCalls(createQuotaState(NOON_MS), 9, { purpose: 'walk' }),
        createRules(10),
        NOON_MS,
      ),
    ).toEqual({ walk: 0, refresh: 0, lookup: 1 })
  })

  test('any calls that are allowed - are at most the limit, and first look-ups keep their share', () => {
    const anyPurpose = fc.constantFrom<CallPurpose>('walk', 'first-walk', 'refresh', 'lookup', 'channels')
    fc.assert(
      fc.property(fc.nat(60), fc.array(anyPurpose, { maxLength: 100 }), (limit, purposes) => {
        const rules = createRules(limit)
        let state = createQuotaState(NOON_MS)
        const counts = new Map<CallPurpose, number>()
        for (const purpose of purposes) {
          const call = { purpose, nowMs: NOON_MS }
          if (checkQuota(state, rules, call) !== 'allowed') continue
          state = recordCall(state, call)
          counts.set(purpose, (counts.get(purpose) ?? 0) + 1)
        }
        const { walk, refresh, lookup } = splitDailyLimit(limit)
        const count = (purpose: CallPurpose): number => counts.get(purpose) ?? 0
        expect(count('walk')).toBeLessThanOrEqual(walk)
        expect(count('walk') + count('first-walk') + count('refresh')).toBeLessThanOrEqual(walk + refresh)
        expect(count('lookup') + count('channels')).toBeLessThanOrEqual(lookup)
      }),
    )
  })

  test('no known limit - remaining calls are unknown', () => {
    expect(computeRemainingCalls(createQuotaState(NOON_MS), UNKNOWN, NOON_MS)).toBeUndefined()
  })

  test.each([
    ['23:59:59.999', MIDNIGHT_MS - 1, MIDNIGHT_MS + SLACK_MS],
    ['00:00', MIDNIGHT_MS, MIDNIGHT_MS + HOUR_MS],
  ])('429 at %s with an hour to wait - ends soon after the next reset', (_time, nowMs, untilMs) => {
    const state = recordLimit(createQuotaState(NOON_MS), { retryAfterMs: HOUR_MS, nowMs })
    expect(state).toMatchObject({ limitedUntilMs: untilMs, day: toDayNumber(nowMs) })
  })
})

describe('quota: pauses', () => {
  test.each([
    [null, 1, MINUTE_MS],
    [SECOND_MS, 1, SECOND_MS],
    [11 * HOUR_MS, 1, 11 * HOUR_MS],
    [12 * HOUR_MS, 1, 12 * HOUR_MS],
    [12 * HOUR_MS + SLACK_MS, 1, 12 * HOUR_MS + SLACK_MS],
    [12 * HOUR_MS + SLACK_MS + 1, 1, 12 * HOUR_MS + SLACK_MS],
    [999_999_999 * SECOND_MS, 1, 12 * HOUR_MS + SLACK_MS],
    [null, 7, HOUR_MS],
    [null, 40, HOUR_MS],
  ])('Retry-After %j ms, 429 number %i in a row - %i ms', (retryAfterMs, number, pauseMs) => {
    const before = { ...createQuotaState(NOON_MS), pauseCount: number - 1 }
    const after = recordLimit(before, { retryAfterMs, nowMs: NOON_MS })
    expect(after.limitedUntilMs - NOON_MS).toBe(pauseMs)
    expect(after.pauseCount).toBe(number)
  })

  test('any Retry-After at any time - is followed, at most until the reset plus tolerance', () => {
    const wait = fc.option(fc.integer({ min: 1, max: 10 * DAY_MS }))
    fc.assert(
      fc.property(wait, timeMs, fc.nat({ max: 60 }), (retryAfterMs, nowMs, pauseCount) => {
        const before = { ...createQuotaState(nowMs), pauseCount }
        const { limitedUntilMs } = recordLimit(before, { retryAfterMs, nowMs })
        const ownMs = Math.min(MINUTE_MS * 2 ** pauseCount, HOUR_MS)
        const lastMs = computeNextMidnightUtcMs(nowMs) + SLACK_MS
        expect(limitedUntilMs).toBe(Math.min(nowMs + (retryAfterMs ?? ownMs), lastMs))
      }),
    )
  })

  test('any sequence of 429s - never shortens a pause', () => {
    const responses = fc.array(
      fc.record({
        retryAfterMs: fc.option(fc.integer({ min: 1, max: DAY_MS })),
        waitMs: fc.nat({ max: HOUR_MS }),
      }),
    )
    fc.assert(
      fc.property(anyStateOfDay(toDayNumber(NOON_MS)), responses, (start, steps) => {
        let state = start
        let nowMs = NOON_MS
        for (const { retryAfterMs, waitMs } of steps) {
          nowMs += waitMs
          const after = recordLimit(state, { retryAfterMs, nowMs })
          expect(after.limitedUntilMs).toBeGreaterThanOrEqual(state.limitedUntilMs)
          state = after
        }
      }),
    )
  })

  test('429s during a pause - change neither the count nor the learned limit, only the end', () => {
    const first = recordLimitAfter(30)
    const later = recordCalls(first, 5, { nowMs: NOON_MS + 1 })
    const during = recordLimit(later, { retryAfterMs: 2 * HOUR_MS, nowMs: NOON_MS + 1 })
    expect(during).toEqual({ ...later, limitedUntilMs: NOON_MS + 1 + 2 * HOUR_MS })
    expect(recordLimit(later, { retryAfterMs: null, nowMs: NOON_MS + 1 })).toEqual(later)
  })
})
