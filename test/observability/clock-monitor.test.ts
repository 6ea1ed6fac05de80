import { expect, onTestFinished, test, vi } from 'vitest'
import { type ClockMonitor, createClockMonitor } from '../../src/observability/clock-monitor.ts'
import { HOUR_MS, MINUTE_MS } from '../../src/clock.ts'
import { createLogger } from '../../src/observability/logger.ts'
import { type FakeClock, createFakeClock } from '../helpers/fake-clock.ts'
import { NOON_MS } from '../helpers/harness.ts'

/** Create a monitor of a database with the time of `readTime`. */
function start(readTime: (clock: FakeClock) => Promise<number | null>): Readonly<{
  monitor: ClockMonitor
  clock: FakeClock
  lines: { level: number; msg: string; other: string; differenceSeconds: number }[]
}> {
  const clock = createFakeClock(NOON_MS)
  const lines: ReturnType<typeof start>['lines'] = []
  const logger = createLogger({
    level: 'info',
    stream: { write: (line) => void lines.push(JSON.parse(line) as never) },
  })
  const monitor = createClockMonitor({ clock, logger, store: { readDatabaseTime: () => readTime(clock) } })
  onTestFinished(() => monitor.stop())
  return { monitor, clock, lines }
}

test('database an hour behind - is read every five minutes and logged once until its clock is correct', async () => {
  let aheadMs = -HOUR_MS
  const { monitor, clock, lines } = start(({ nowMs }) => Promise.resolve(nowMs() + aheadMs))
  await vi.waitFor(() => expect(clock.pendingWaits).toBe(1))
  expect(monitor.getSkewsMs()).toEqual({ database: -HOUR_MS })
  clock.advance(5 * MINUTE_MS)
  await vi.waitFor(() => expect(clock.pendingWaits).toBe(1))
  expect(lines).toMatchObject([{ level: 40, other: 'database', differenceSeconds: -3_600 }])
  aheadMs = 1
  clock.advance(5 * MINUTE_MS)
  await vi.waitFor(() => expect(lines).toHaveLength(2))
  expect(lines[1]).toMatchObject({
    level: 30,
    msg: expect.stringContaining('agrees with this machine again'),
  })
})

test('SQLite file - has no clock and is read once', async () => {
  const readTime = vi.fn<() => Promise<null>>(() => Promise.resolve(null))
  const { monitor, clock } = start(readTime)
  await vi.waitFor(() => expect(readTime).toHaveBeenCalledOnce())
  expect([monitor.getSkewsMs(), clock.pendingWaits]).toEqual([{}, 0])
})

test('database that is unavailable or slow - is not logged, and is read again', async () => {
  let isLate = false
  const { monitor, clock, lines } = start((currentClock) => {
    if (!isLate) return Promise.reject(new Error('unavailable'))
    currentClock.advance(30_000)
    return Promise.resolve(NOON_MS + HOUR_MS)
  })
  await vi.waitFor(() => expect(clock.pendingWaits).toBe(1))
  isLate = true
  clock.advance(5 * MINUTE_MS)
  await vi.waitFor(() => expect(clock.pendingWaits).toBe(1))
  expect([monitor.getSkewsMs(), lines]).toEqual([{}, []])
})

test('catalog a minute ahead - is tolerated; a moment more is logged', () => {
  const { monitor, lines } = start(() => Promise.resolve(null))
  monitor.recordSkew('catalog', MINUTE_MS)
  monitor.recordSkew('catalog', undefined)
  expect(lines).toEqual([])
  monitor.recordSkew('catalog', MINUTE_MS + 1)
  monitor.recordSkew('catalog', 2 * MINUTE_MS)
  expect(lines).toHaveLength(1)
})

test('stop - leaves no timer', async () => {
  const { monitor, clock } = start(() => Promise.resolve(NOON_MS))
  await vi.waitFor(() => expect(clock.pendingWaits).toBe(1))
  monitor.stop()
  expect(clock.pendingWaits).toBe(0)
})
