import { expect, test } from 'vitest'
import { HOUR_MS, SECOND_MS } from '../../src/clock.ts'
import { createBackoff, createPause, createRestartBackoff } from '../../src/lib/backoff.ts'
import { createFakeClock } from '../helpers/fake-clock.ts'

test('early exits - first restart at once, then growing delays up to 30 seconds', () => {
  const backoff = createRestartBackoff(createFakeClock(0))
  const delaysMs = Array.from({ length: 10 }, () => backoff.nextMs())
  expect(delaysMs).toEqual([0, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000])
})

test('exit after ten seconds - restart at once', () => {
  const clock = createFakeClock(0)
  const backoff = createRestartBackoff(clock)
  expect([backoff.nextMs(), backoff.nextMs()]).toEqual([0, 500])
  backoff.recordStart()
  clock.advance(10 * SECOND_MS - 1)
  expect(backoff.nextMs()).toBe(1_000)
  backoff.recordStart()
  clock.advance(10 * SECOND_MS)
  expect([backoff.nextMs(), backoff.nextMs()]).toEqual([0, 0])
})

test('clock set back - does not reset the delay', () => {
  const clock = createFakeClock(HOUR_MS)
  const backoff = createRestartBackoff(clock)
  backoff.nextMs()
  backoff.recordStart()
  clock.advance(-HOUR_MS)
  expect(backoff.nextMs()).toBe(500)
})

test('backoff - doubles up to the maximum, and starts again after a reset', () => {
  const backoff = createBackoff({ initialMs: 5, maxMs: 15 })
  expect([backoff.nextMs(), backoff.nextMs(), backoff.nextMs(), backoff.nextMs()]).toEqual([5, 10, 15, 15])
  backoff.reset()
  expect(backoff.nextMs()).toBe(5)
})

test('backoff with jitter - adds at most the given share', () => {
  const backoff = createBackoff({ initialMs: 100, maxMs: 100, jitterShare: 0.2, random: () => 0.5 })
  expect(backoff.nextMs()).toBeCloseTo(110)
})

test('pause - is longer after each failure, and ends with a success', () => {
  const clock = createFakeClock(HOUR_MS)
  const pause = createPause(clock, { initialMs: SECOND_MS, maxMs: 4 * SECOND_MS })
  expect([pause.isActive(), pause.getEndMs()]).toEqual([false, 0])
  pause.start()
  expect([pause.isActive(), pause.getEndMs()]).toEqual([true, HOUR_MS + SECOND_MS])
  clock.advance(SECOND_MS)
  expect(pause.isActive()).toBe(false)
  pause.start()
  expect(pause.getEndMs()).toBe(HOUR_MS + 3 * SECOND_MS)
  pause.end()
  expect(pause.isActive()).toBe(false)
  pause.start()
  expect(pause.getEndMs()).toBe(HOUR_MS + 2 * SECOND_MS)
})

test('pause - ends when the clock is set back', () => {
  const clock = createFakeClock(HOUR_MS)
  const pause = createPause(clock, { initialMs: SECOND_MS, maxMs: SECOND_MS })
  pause.start()
  clock.advance(-HOUR_MS)
  expect(pause.isActive()).toBe(false)
})
