import { getEventListeners } from 'node:events'
import * as fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'
import {
  DAY_MS,
  DAY_SECONDS,
  HOUR_MS,
  MINUTE_MS,
  SECOND_MS,
  isFuture,
  isNewer,
  isWithin,
  computeNextMidnightUtcMs,
  systemClock,
  toNewerMs,
} from '../src/clock.ts'

const MIDNIGHT_MS = Date.UTC(2026, 10, 21)

/** Count the timers that keep the process alive. */
const countTimers = (): number =>
  process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length

/** Return whether a promise is settled after the pending microtasks have run. */
async function isSettled(promise: Promise<void>): Promise<boolean> {
  let settled = false
  void promise.then(() => (settled = true))
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve()
  return settled
}

afterEach(() => void vi.useRealTimers())

describe('system clock', () => {
  test('now - Unix milliseconds', () => {
    vi.useFakeTimers({ now: MIDNIGHT_MS + 7 })
    expect(systemClock.nowMs()).toBe(MIDNIGHT_MS + 7)
  })

  test('wait - before the delay: pending; after it: resolved without a timer', async () => {
    vi.useFakeTimers()
    const waiting = systemClock.wait(SECOND_MS)
    vi.advanceTimersByTime(SECOND_MS - 1)
    expect([await isSettled(waiting), vi.getTimerCount()]).toEqual([false, 1])
    vi.advanceTimersByTime(1)
    expect([await isSettled(waiting), vi.getTimerCount()]).toEqual([true, 0])
  })

  test('wait, delay over - removes its listener from the signal', async () => {
    vi.useFakeTimers()
    const { signal } = new AbortController()
    const waiting = systemClock.wait(SECOND_MS, signal)
    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
    vi.advanceTimersByTime(SECOND_MS)
    await waiting
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })

  test('wait, aborted - resolves at once without an error and without a timer', async () => {
    vi.useFakeTimers()
    const stop = new AbortController()
    const waiting = systemClock.wait(HOUR_MS, stop.signal)
    expect([await isSettled(waiting), vi.getTimerCount()]).toEqual([false, 1])
    stop.abort(new Error('stopped'))
    expect(await waiting).toBeUndefined()
    expect([vi.getTimerCount(), getEventListeners(stop.signal, 'abort').length]).toEqual([0, 0])
  })

  test('wait, signal already aborted - resolves at once and starts no timer', async () => {
    vi.useFakeTimers()
    const signal = AbortSignal.abort()
    expect(await systemClock.wait(HOUR_MS, signal)).toBeUndefined()
    expect([vi.getTimerCount(), getEventListeners(signal, 'abort').length]).toEqual([0, 0])
  })

  test('two waits on one signal, the first over - an abort still resolves the second', async () => {
    vi.useFakeTimers()
    const stop = new AbortController()
    const short = systemClock.wait(SECOND_MS, stop.signal)
    const long = systemClock.wait(HOUR_MS, stop.signal)
    vi.advanceTimersByTime(SECOND_MS)
    expect([await isSettled(short), await isSettled(long)]).toEqual([true, false])
    stop.abort()
    expect([await isSettled(long), vi.getTimerCount()]).toEqual([true, 0])
  })

  test('pending wait - does not keep the process alive', async () => {
    const stop = new AbortController()
    const before = countTimers()
    const waiting = systemClock.wait(HOUR_MS, stop.signal)
    const during = countTimers()
    stop.abort()
    await waiting
    expect(during).toBe(before)
  })
})

describe('times in the future', () => {
  const NOW_MS = MIDNIGHT_MS
  const SOON_MS = NOW_MS + MINUTE_MS
  const FUTURE_MS = SOON_MS + 1

  test.each([
    [-DAY_MS, false],
    [0, false],
    [MINUTE_MS, false],
    [MINUTE_MS + 1, true],
    [365 * DAY_MS, true],
  ])('%d ms ahead - in the future: %s', (aheadMs, expected) => {
    expect(isFuture(NOW_MS + aheadMs, NOW_MS)).toBe(expected)
  })

  test.each([
    [-SECOND_MS, false],
    [-SECOND_MS + 1, true],
    [0, true],
    [MINUTE_MS, true],
    [MINUTE_MS + 1, false],
    [-Infinity, false],
  ])('%d ms ahead - within the last second: %s', (aheadMs, expected) => {
    expect(isWithin(NOW_MS + aheadMs, SECOND_MS, NOW_MS)).toBe(expected)
  })

  test.each([
    ['later', NOW_MS, NOW_MS - 1, true],
    ['the same', NOW_MS, NOW_MS, false],
    ['earlier', NOW_MS - 1, NOW_MS, false],
    ['a minute ahead', SOON_MS, NOW_MS, true],
    ['in the future', FUTURE_MS, NOW_MS, false],
    ['known, the other in the future', 0, FUTURE_MS, true],
    ['both in the future', FUTURE_MS + 1, FUTURE_MS, false],
  ])('%s - which time is newer', (...[, timeMs, thanMs, expected]) => {
    expect([isNewer(timeMs, thanMs, NOW_MS), toNewerMs(timeMs, thanMs, NOW_MS) === timeMs]).toEqual([
      expected,
      expected || timeMs === thanMs,
    ])
  })
})

describe('next midnight, UTC', () => {
  test.each([
    ['midnight itself', MIDNIGHT_MS, MIDNIGHT_MS + DAY_MS],
    ['a millisecond later', MIDNIGHT_MS + 1, MIDNIGHT_MS + DAY_MS],
    ['a millisecond before the next', MIDNIGHT_MS + DAY_MS - 1, MIDNIGHT_MS + DAY_MS],
    ['end of February in a leap year', Date.UTC(2028, 1, 28, 23), Date.UTC(2028, 1, 29)],
    ['the last second of a year', Date.UTC(2026, 11, 31, 23, 59, 59), Date.UTC(2027, 0, 1)],
    ['the Unix epoch', 0, DAY_MS],
    ['before 1970', -1, 0],
  ])('%s - returns the following midnight', (_name, nowMs, expected) => {
    expect(computeNextMidnightUtcMs(nowMs)).toBe(expected)
  })

  test('any time - 00:00:00.000 of the next UTC day', () => {
    const years = { min: new Date(0), max: new Date('2199-12-31'), noInvalidDate: true }
    fc.assert(
      fc.property(fc.date(years), (date) => {
        const next = new Date(computeNextMidnightUtcMs(date.getTime()))
        const expected = Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate() + 1)
        expect(next.getTime()).toBe(expected)
        expect(next.toISOString()).toMatch(/T00:00:00\.000Z$/)
      }),
    )
  })

  test('durations - a day in milliseconds equals a day in seconds', () => {
    expect([DAY_MS, DAY_SECONDS]).toEqual([86_400_000, 86_400])
  })
})
