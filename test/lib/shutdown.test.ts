import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createShutdown } from '../../src/lib/shutdown.ts'

const EVENTS = ['uncaughtException', 'unhandledRejection'] as const

/** The types accept one event at a time. */
const events: NodeJS.EventEmitter = process

const before = new Map(EVENTS.map((event) => [event, events.listeners(event)]))

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
  process.exitCode = undefined
  for (const event of EVENTS)
    for (const listener of events.listeners(event))
      if (!before.get(event)?.includes(listener)) events.removeListener(event, listener as () => void)
})

test.each([
  ['SIGINT', undefined, 130],
  ['SIGTERM', undefined, 143],
  ['npm', undefined, 143],
  ['SIGTERM', 0, 0],
  ['SIGTERM', 1, 1],
  ['stop', undefined, 0],
])('shutdown by %s with exit code %s - forced exit with %s', (reason, code, forced) => {
  const exit = vi.spyOn(process, 'exit').mockReturnValue(undefined as never)
  const shutdown = createShutdown(() => {})
  shutdown.begin(reason, 1_000)
  process.exitCode = code
  expect([shutdown.signal.aborted, shutdown.signal.reason]).toEqual([true, reason])
  vi.advanceTimersByTime(999)
  expect(exit).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1)
  expect(exit).toHaveBeenCalledExactlyOnceWith(forced)
})
