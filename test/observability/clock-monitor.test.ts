import { expect, onTestFinished, test, vi } from 'vitest'
import { type ClockMonitor, createClockMonitor } from '../../src/observability/clock-monitor.ts'
import { HOUR_MS, MINUTE_MS } from '../../src/clock.ts'
import { createLogger } from '../../src/observability/logger.ts'
import { type FakeClock, createFakeClock } from '../helpers/fake-clock.ts'
import { NOON_MS } from '../helpers/harness.ts'

/** A watch over a database that says what `readTime` says. */
function start(readTime: (clock: FakeClock) => Promise<number | null>): Readonly<{
  watch: ClockMonitor
  clock: FakeClock
  lines: { level: number; msg: string; other: string; differenceSeconds: number }[]
}> {
  const clock = createFakeClock(NOON_MS)
  const lines: ReturnType<typeof start>['lines'] = []
  const logger = createLogger({
    level: 'info',
    stream: { write: (line) => void lines.push(JSON.parse(line) as never) },
  })
  const watch = createClockMonitor({ clock, logger, store: { readDatabaseTime: () => readTime(clock) } })
  onTestFinished(() => watch.stop())
  return { watch, clock, lines }
}

test('database an hour behind - is asked every five minutes, and told once until it is right', async () => {
  let aheadMs = -HOUR_MS
  const { watch, clock, lines } = start(({ nowMs }) => Promise.resolve(nowMs() + aheadMs))
  await vi.waitFor(() => expect(clock.pendingWaits).toBe(1))
  expect(watch.getSkewsMs()).toEqual({ database: -HOUR_MS })
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

test('file - has no clock, and is asked once', async () => {
  const readTime = vi.fn<() => Promise<null>>(() => Promise.resolve(null))
  const { watch, clock } = start(readTime)
  await vi.waitFor(() => expect(readTime).toHaveBeenCalledOnce())
  expect([watch.getSkewsMs(), clock.pendingWaits]).toEqual([{}, 0])
})

test('database that is away, or answers late - says nothing, and is asked again', async () => {
  let isLate = false
  const { watch, clock, lines } = start((own) => {
    if (!isLate) return Promise.reject(new Error('away'))
    own.advance(30_000)
    return Promise.resolve(NOON_MS + HOUR_MS)
  })
  await vi.waitFor(() => expect(clock.pendingWaits).toBe(1))
  isLate = true
  clock.advance(5 * MINUTE_MS)
  await vi.waitFor(() => expect(clock.pendingWaits).toBe(1))
  expect([watch.getSkewsMs(), lines]).toEqual([{}, []])
})

test('catalog a minute ahead - is no difference; a moment more - is', () => {
  const { watch, lines } = start(() => Promise.resolve(null))
  watch.recordSkew('catalog', MINUTE_MS)
  watch.recordSkew('catalog', undefined)
  expect(lines).toEqual([])
  watch.recordSkew('catalog', MINUTE_MS + 1)
  watch.recordSkew('catalog', 2 * MINUTE_MS)
  expect(lines).toHaveLength(1)
})

test('stop - leaves no wait behind', async () => {
  const { watch, clock } = start(() => Promise.resolve(NOON_MS))
  await vi.waitFor(() => expect(clock.pendingWaits).toBe(1))
  watch.stop()
  expect(clock.pendingWaits).toBe(0)
})
