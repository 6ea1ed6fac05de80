import { describe, expect, test } from 'vitest'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/clock.ts'
import { describeWalkPlan, describeWalkProblem, planWalks } from '../../src/sync/walk-plan.ts'
import { NOON_MS } from '../helpers/harness.ts'

type Copies = Parameters<typeof planWalks>[0]

/** Copies of channels with 40,000 products, walked in `durationMs` each. */
const makeCopies = (count: number, durationMs = MINUTE_MS): Copies =>
  Array.from({ length: count }, () => ({
    productCount: 40_000,
    completedAtMs: NOON_MS,
    completedStartedAtMs: NOON_MS - durationMs,
  }))

const plan = (copies: Copies, dailyLimit?: number, periodMs: number | null = HOUR_MS) =>
  planWalks(copies, {
    periodMs,
    limit: dailyLimit === undefined ? undefined : { calls: dailyLimit, isLearned: false },
  })

const describeProblem = (
  copies: Copies,
  dailyLimit?: number,
  priceMaxAgeSeconds = 86_400,
): ReturnType<typeof describeWalkProblem> | undefined => {
  const found = plan(copies, dailyLimit)
  return found === null ? undefined : describeWalkProblem(found, { priceMaxAgeSeconds })
}

describe('plan of walks', () => {
  test('fifty channels - one call for the list, one for each page, and twice a day’s calls as limit', () => {
    expect(plan(makeCopies(50))).toMatchObject({
      calls: 10_001,
      callsPerDay: 240_024,
      neededDailyLimit: 480_048,
      allowedPeriodMs: null,
      problem: null,
    })
  })

  test.each([
    ['no schedule', plan(makeCopies(1), undefined, null)],
    ['nothing walked yet', plan([{ productCount: 0, completedAtMs: null, completedStartedAtMs: null }])],
    ['no channels', plan([])],
  ])('%s - none', (_name, found) => {
    expect(found).toBeNull()
  })

  test.each([
    [480_048, null],
    [480_046, 'limit'],
    [10_000, 'limit'],
  ])('daily limit of %i - the problem is %s', (dailyLimit, problem) => {
    expect(plan(makeCopies(50), dailyLimit)?.problem).toBe(problem)
  })

  test('small channels - one page each, also without products', () => {
    const copies = [1, 0, 200, 201].map((productCount) => ({
      productCount,
      completedAtMs: NOON_MS,
      completedStartedAtMs: NOON_MS,
    }))
    expect(plan(copies)?.calls).toBe(1 + 1 + 1 + 1 + 2)
  })

  test('durations - count as if four channels were always walked at once', () => {
    expect(plan(makeCopies(40, 6 * MINUTE_MS))).toMatchObject({ durationMs: HOUR_MS, problem: null })
    expect(plan(makeCopies(41, 6 * MINUTE_MS))).toMatchObject({ problem: 'duration' })
    // A channel is never divided.
    expect(plan(makeCopies(1, 61 * MINUTE_MS))).toMatchObject({ problem: 'duration' })
  })
})

describe('problem of a plan', () => {
  test('none - says what walks need', () => {
    expect(describeProblem(makeCopies(50))).toBeNull()
    const found = plan(makeCopies(50))
    expect(found && describeWalkPlan(found)).toBe('every 1 h; one needs 10,001 calls, all of a day 240,024')
  })

  test('limit - says the calls, the limit that is needed, and how often the limit allows a walk', () => {
    expect(describeProblem(makeCopies(5), 10_000)).toEqual({
      message:
        'a walk every 1 h needs 24,024 calls a day (1,001 each), more than its half of the daily limit: the limit allows one every 4 h 48 min',
      remedy: 'Use a plan of 48,048 calls a day, or walk less often (VITRINE_SYNC_CRON).',
      hidesPrices: false,
    })
  })

  test('walks less often than prices may be old - proposes a longer age, and never assumes it', () => {
    const problem = describeProblem(makeCopies(50), 10_000)
    expect(problem).toMatchObject({ hidesPrices: true })
    expect(problem?.message).toContain('the limit allows one every 2 d')
    expect(problem?.remedy).toContain(
      'Until then, prices are hidden after VITRINE_PRICE_MAX_AGE_SECONDS, before the next walk; 345,635 would keep them, if readers may see prices that old.',
    )
    expect(describeProblem(makeCopies(50), 10_000, (3 * DAY_MS) / 1_000)?.remedy).not.toContain(
      'PRICE_MAX_AGE',
    )
  })

  test('duration - says how long a walk takes', () => {
    expect(describeProblem(makeCopies(50, 8 * MINUTE_MS))).toEqual({
      message: 'a walk takes at least 1 h 40 min, longer than its period of 1 h, so the next one starts late',
      remedy: 'Walk less often (VITRINE_SYNC_CRON).',
      hidesPrices: false,
    })
  })
})
