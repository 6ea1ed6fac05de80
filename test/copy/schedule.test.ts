import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/clock.ts'
import { type Schedule, computePeriodMs, startSchedule } from '../../src/copy/schedule.ts'
import { defer } from '../helpers/defer.ts'
import { NOON_MS } from '../helpers/harness.ts'

describe('walk period', () => {
  test.each([
    [null, null],
    ['7 * * * *', HOUR_MS],
    ['*/15 * * * *', 15 * MINUTE_MS],
    ['0 3 * * *', DAY_MS],
    // Twice a day at uneven times: the longer of both.
    ['0 6,8 * * *', 22 * HOUR_MS],
    // Never again: a pattern without a next run has no period.
    ['0 0 30 2 *', null],
  ])('%s - %j ms', (pattern, expected) => {
    expect(computePeriodMs(pattern, NOON_MS)).toBe(expected)
  })
})

describe('schedule', () => {
  let schedule: Schedule | undefined
  beforeEach(() => void vi.useFakeTimers({ now: NOON_MS }))
  afterEach(() => {
    schedule?.stop()
    vi.useRealTimers()
  })

  test('pattern - runs at its times in UTC until it is stopped', async () => {
    const runs: number[] = []
    schedule = startSchedule('7 * * * *', () => Promise.resolve(void runs.push(Date.now() - NOON_MS)))
    await vi.advanceTimersByTimeAsync(2 * HOUR_MS)
    expect(runs.map((ms) => Math.round(ms / MINUTE_MS))).toEqual([7, 67])
    schedule.stop()
    await vi.advanceTimersByTimeAsync(2 * HOUR_MS)
    expect(runs).toHaveLength(2)
  })

  test('run that is still going - is not started again', async () => {
    let started = 0
    const run = defer<void>()
    schedule = startSchedule('* * * * *', () => {
      started += 1
      return run.promise
    })
    await vi.advanceTimersByTimeAsync(5 * MINUTE_MS)
    expect(started).toBe(1)
    run.resolve()
    await vi.advanceTimersByTimeAsync(MINUTE_MS)
    expect(started).toBeGreaterThan(1)
  })
})
