import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/clock.ts'
import { runSchedule } from '../../src/sync/walk-schedule.ts'
import { defer } from '../helpers/defer.ts'
import { type FakeClock, createFakeClock } from '../helpers/fake-clock.ts'
import { NOON_MS } from '../helpers/harness.ts'

describe('schedule', () => {
  let clock: FakeClock
  let stopping: AbortController
  /** Real time that has passed, independent of the clock. */
  let passedMs: number
  beforeEach(() => {
    passedMs = 0
    stopping = new AbortController()
    clock = createFakeClock(NOON_MS)
  })
  afterEach(() => stopping.abort())

  /** Let time pass minute by minute, running what is due in between. */
  const pass = async (forMs: number): Promise<void> => {
    for (let leftMs = forMs; leftMs > 0; leftMs -= MINUTE_MS) {
      passedMs += MINUTE_MS
      clock.advance(MINUTE_MS)
      await setImmediate()
    }
  }

  /** Start a schedule; return a function for the minutes at which it has run so far. */
  const start = (pattern: string): (() => number[]) => {
    const runs: number[] = []
    const run = (): Promise<void> => Promise.resolve(void runs.push(passedMs / MINUTE_MS))
    void runSchedule(pattern, run, { clock, signal: stopping.signal })
    return () => runs
  }

  test('pattern - runs at its times in UTC until it is stopped', async () => {
    const runs = start('7 * * * *')
    await pass(2 * HOUR_MS)
    expect(runs()).toEqual([7, 67])
    stopping.abort()
    await pass(2 * HOUR_MS)
    expect(runs()).toHaveLength(2)
    expect(clock.pendingWaits).toBe(0)
  })

  test('clock set back a day - no run is late or repeated', async () => {
    const runs = start('7 * * * *')
    await pass(30 * MINUTE_MS)
    clock.step(-DAY_MS)
    await pass(2 * HOUR_MS)
    expect(runs()).toEqual([7, 67, 127])
  })

  test('clock a day ahead is corrected - the next run is at the correct time', async () => {
    clock.step(DAY_MS)
    const runs = start('0 13 * * *')
    await pass(30 * MINUTE_MS)
    clock.step(-DAY_MS)
    await pass(HOUR_MS)
    expect(runs()).toEqual([60])
    await pass(DAY_MS)
    expect(runs()).toEqual([60, 1_500])
  })

  test('clock set back half an hour - runs after the measured wait, and again at its time', async () => {
    const runs = start('0 * * * *')
    await pass(20 * MINUTE_MS)
    clock.step(-30 * MINUTE_MS)
    await pass(2 * HOUR_MS)
    expect(runs()[0]).toBe(30)
    expect(runs()).toHaveLength(2)
  })

  test('clock set forward past a run - runs within a minute', async () => {
    const runs = start('7 * * * *')
    await pass(2 * MINUTE_MS)
    clock.step(30 * MINUTE_MS)
    await pass(MINUTE_MS)
    expect(runs()).toEqual([3])
    await pass(HOUR_MS)
    expect(runs()).toEqual([3, 37])
  })

  test('timers that fire early - cause one run, not two', async () => {
    const runs = start('7 * * * *')
    await pass(6 * MINUTE_MS)
    clock.step(-5)
    await pass(10 * MINUTE_MS)
    expect(runs()).toHaveLength(1)
  })

  test('run still in progress - is not started again', async () => {
    let started = 0
    const run = defer<void>()
    const start = (): Promise<void> => {
      started += 1
      return run.promise
    }
    let overruns = 0
    const onOverrun = (): void => void (overruns += 1)
    void runSchedule('* * * * *', start, { clock, signal: stopping.signal, onOverrun })
    await pass(5 * MINUTE_MS)
    expect([started, overruns]).toEqual([1, 4])
    run.resolve()
    await pass(MINUTE_MS)
    expect([started, overruns]).toEqual([2, 4])
  })

  test('pattern without a next time - never runs', async () => {
    const runs = start('0 0 30 2 *')
    await pass(HOUR_MS)
    expect([runs(), clock.pendingWaits]).toEqual([[], 0])
  })
})
