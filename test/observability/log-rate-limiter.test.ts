import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SECOND_MS } from '../../src/clock.ts'
import { LogRateLimiter } from '../../src/observability/log-rate-limiter.ts'
import { createFakeClock } from '../helpers/fake-clock.ts'
import { NOON_MS } from '../helpers/harness.ts'

const LINES_PER_SECOND = 50

describe('log rate limiter', () => {
  test('fifty lines in a second - are written, further ones are not', () => {
    const limiter = new LogRateLimiter(createFakeClock(NOON_MS))
    const results = Array.from({ length: 60 }, () => limiter.tryAcquire())
    expect(results).toEqual([...Array(50).fill(0), ...Array(10).fill(undefined)])
  })

  test('next second - only its first line has the number of suppressed lines', () => {
    const clock = createFakeClock(NOON_MS)
    const limiter = new LogRateLimiter(clock)
    for (let line = 0; line < 150; line += 1) limiter.tryAcquire()
    clock.advance(SECOND_MS - 1)
    expect(limiter.tryAcquire()).toBeUndefined()
    clock.advance(1)
    expect([limiter.tryAcquire(), limiter.tryAcquire()]).toEqual([101, 0])
  })

  test('no line after a flood - the next one has the number of suppressed lines', () => {
    const clock = createFakeClock(NOON_MS)
    const limiter = new LogRateLimiter(clock)
    for (let line = 0; line < 51; line += 1) limiter.tryAcquire()
    clock.advance(3_600 * SECOND_MS)
    expect(limiter.tryAcquire()).toBe(1)
  })

  test('two limiters - have separate limits', () => {
    const clock = createFakeClock(NOON_MS)
    const [one, other] = [new LogRateLimiter(clock), new LogRateLimiter(clock)]
    for (let line = 0; line < 51; line += 1) one.tryAcquire()
    expect(other.tryAcquire()).toBe(0)
  })

  test('any flood - at most fifty lines in a second, and each line is written or counted', () => {
    const waits = fc.array(fc.oneof(fc.constant(0), fc.constant(0), fc.nat({ max: 400 })), { maxLength: 600 })
    fc.assert(
      fc.property(waits, (waitsMs) => {
        const clock = createFakeClock(NOON_MS)
        const limiter = new LogRateLimiter(clock)
        const bySecond = new Map<number, number>()
        let reported = 0
        let written = 0
        for (const waitMs of [...waitsMs, SECOND_MS]) {
          clock.advance(waitMs)
          const suppressed = limiter.tryAcquire()
          if (suppressed === undefined) continue
          const second = Math.floor(clock.nowMs() / SECOND_MS)
          bySecond.set(second, (bySecond.get(second) ?? 0) + 1)
          written += 1
          reported += suppressed
        }
        expect(Math.max(...bySecond.values())).toBeLessThanOrEqual(LINES_PER_SECOND)
        expect(written + reported).toBe(waitsMs.length + 1)
      }),
    )
  })
})
