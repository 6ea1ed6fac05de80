import { describe, expect, test } from 'vitest'
import { tryReadBeforeDeadline, tryWithTimeout } from '../../src/lib/with-timeout.ts'
import { defer } from '../helpers/defer.ts'
import { createFakeClock } from '../helpers/fake-clock.ts'

describe('visitor timeout', () => {
  test('result in time - is returned, and no timer is left', async () => {
    const clock = createFakeClock(0)
    expect(await tryWithTimeout(clock, 800, Promise.resolve('result'))).toBe('result')
    expect(clock.pendingWaits).toBe(0)
  })

  test('failure in time - undefined at once', async () => {
    const clock = createFakeClock(0)
    expect(await tryWithTimeout(clock, 800, Promise.reject(new Error('broken')))).toBeUndefined()
    expect(clock.pendingWaits).toBe(0)
  })

  test('late result - undefined after the timeout; the call continues', async () => {
    const clock = createFakeClock(0)
    const call = defer<string>()
    const waiting = tryWithTimeout(clock, 800, call.promise)
    clock.advance(800)
    expect(await waiting).toBeUndefined()
    call.resolve('late')
    expect(await call.promise).toBe('late')
  })

  test('failure after the timeout - is ignored', async () => {
    const clock = createFakeClock(0)
    const call = defer<string>()
    const waiting = tryWithTimeout(clock, 800, call.promise)
    clock.advance(800)
    expect(await waiting).toBeUndefined()
    call.reject(new Error('late'))
    await expect(call.promise).rejects.toThrow('late')
  })
})

describe('read before a deadline', () => {
  test.each([
    ['deadline to come', 800, 800],
    ['deadline that has passed', -1, 100],
  ])('%s - is given up after its time', async (_case, deadlineMs, timeoutMs) => {
    const clock = createFakeClock(0)
    const read = defer<string>()
    const reading = tryReadBeforeDeadline(
      { clock, config: { visitorTimeoutMs: 800 } },
      deadlineMs,
      read.promise,
    )
    expect(clock.pendingDelaysMs).toEqual([timeoutMs])
    clock.advance(timeoutMs)
    expect(await reading).toBeUndefined()
  })
})
