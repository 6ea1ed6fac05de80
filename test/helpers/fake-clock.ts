import { expect, vi } from 'vitest'
import type { Clock } from '../../src/clock.ts'

/** A clock that stands still until the test moves it. */
export type FakeClock = Clock & {
  /** Moves time on; every wait and timer that ends by then does so. */
  advance(byMs: number): void
  /** Sets the clock, forward or back; no time passes, so that waits stay as they are. */
  step(byMs: number): void
  /** Waits that have not ended. */
  readonly pendingWaits: number
  /** What is left of each of them, in milliseconds, the oldest first. */
  readonly pendingDelaysMs: readonly number[]
}

type Waiter = { dueMs: number; resolve: () => void }

/** Makes a clock that shows `startMs`, Unix milliseconds. */
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

/** Moves the clock until the promise is settled. */
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
