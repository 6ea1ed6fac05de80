import { LRUCache } from 'lru-cache'
import { type Clock, MINUTE_MS, isPauseActive } from '../clock.ts'

/** Wrong passwords from one address before it is locked. */
const MAX_WRONG_PASSWORDS = 10

/** Starts with the first wrong password, and is the longest time an address is locked. */
const WINDOW_MS: number = 15 * MINUTE_MS

/** Tracked addresses; the least recently used are dropped. */
const MAX_ADDRESSES = 10_000

/** `address` is a key of `toLimiterKey`. */
export type AdminAttempt = Readonly<{ address: string; hasWrongPassword: boolean }>

/** Limits wrong admin passwords by address, across all processes of a server. */
export type AdminLimiter = Readonly<{
  /** Return the milliseconds for which the address stays locked. 0: not locked; a wrong password was counted. */
  admit(attempt: AdminAttempt): Promise<number>
}>

/** Create the limiter that counts. Workers use the one of their primary. */
export function createAdminLimiter(clock: Clock): AdminLimiter {
  const windows = new LRUCache<string, Readonly<{ untilMs: number; wrongCount: number }>>({
    max: MAX_ADDRESSES,
  })
  return {
    admit({ address, hasWrongPassword }) {
      const nowMs = clock.nowMs()
      const stored = windows.get(address)
      const window =
        stored !== undefined && isPauseActive({ untilMs: stored.untilMs, nowMs, maxMs: WINDOW_MS })
          ? stored
          : { untilMs: nowMs + WINDOW_MS, wrongCount: 0 }
      if (window.wrongCount >= MAX_WRONG_PASSWORDS) return Promise.resolve(window.untilMs - nowMs)
      if (hasWrongPassword) windows.set(address, { ...window, wrongCount: window.wrongCount + 1 })
      return Promise.resolve(0)
    },
  }
}
