import { expect, vi } from 'vitest'
import type { Clock } from '../../src/clock.ts'

/** A clock that a test advances. */
export type FakeClock = Clock & {
  /** Advance the time, and end the waits and timers that become due. */
  advance(byMs: number): void
  /** Set the clock forward or back. Waits are not affected. */
  step(byMs: number): void
  /** Number of pending waits. */
  readonly pendingWaits: number
  /** Remaining time of each pending wait in milliseconds, oldest first. */
  readonly pendingDelaysMs: readonly number[]
}

type Waiter = { dueMs: number; resolve: () => void }

/** Create a clock at `startMs`, Unix milliseconds. */
export function createFakeClock(startMs: number): FakeClock {
  let passedMs = 0
  let setMs = startMs
  const waiters = new Set<Waiter>()
  return {
    nowMs: () => setMs + passedMs,
    wait: (delayMs, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted || delayMs <= 0) return resolve()
        const waiter: Waiter = {
          dueMs: passedMs + delayMs,
          resolve: () => {
            waiters.delete(waiter)
            signal?.removeEventListener('abort', waiter.resolve)
            resolve()
          },
        }
        waiters.add(waiter)
        signal?.addEventListener('abort', waiter.resolve)
      }),
    startTimer(delayMs, run) {
      const waiter: Waiter = {
        dueMs: passedMs + delayMs,
        resolve() {
          if (waiters.delete(waiter)) run()
        },
      }
      waiters.add(waiter)
      if (delayMs <= 0) queueMicrotask(waiter.resolve)
      return () => void waiters.delete(waiter)
    },
    advance(byMs) {
      passedMs += byMs
      const due = [...waiters].filter((waiter) => waiter.dueMs <= passedMs)
      for (const waiter of due.toSorted((a, b) => a.dueMs - b.dueMs)) waiter.resolve()
    },
    step(byMs) {
      setMs += byMs
    },
    get pendingWaits() {
      return waiters.size
    },
    get pendingDelaysMs() {
      return [...waiters].map((waiter) => waiter.dueMs - passedMs)
    },
  }
}

/** Advance the clock until the promise settles. */
export async function advanceUntilSettled(
  clock: FakeClock,
  promise: Promise<unknown>,
  stepMs = 50,
): Promise<void> {
  let isSettled = false
  void promise.then(() => (isSettled = true))
  await vi.waitFor(() => {
    clock.advance(stepMs)
    expect(isSettled).toBe(true)
  })
}
