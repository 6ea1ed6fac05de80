import { LRUCache } from 'lru-cache'
import { type Clock, MINUTE_MS, isPauseActive } from '../clock.ts'

/** Wrong passwords from one address before it is locked: people mistype, programs guess. */
const MAX_WRONG_PASSWORDS = 10

/** Starts with the first wrong password; no address is locked for longer. */
const WINDOW_MS: number = 15 * MINUTE_MS

/** Addresses that are remembered, the least recently seen are dropped first. */
const MAX_ADDRESSES = 10_000

/** One request for a page of the admin. `address` is a key made by `toLimiterKey`. */
export type AdminAttempt = Readonly<{ address: string; hasWrongPassword: boolean }>

/** Limits wrong admin passwords by address, in one place for all processes of a server. */
export type AdminLimiter = Readonly<{
  /** Return for how many milliseconds the address stays locked; 0: it is not, and a wrong password was counted. */
  admit(attempt: AdminAttempt): Promise<number>
}>

/** Create the limiter that counts; workers ask the one of their primary. */
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
