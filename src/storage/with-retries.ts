import { setMaxListeners } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { SECOND_MS, systemClock } from '../clock.ts'
import { retryConflicts } from '../database/transaction.ts'
import { isLocked, isReadOnly, isUnavailable } from '../database/store-failures.ts'

/** Retries of a server's write while another process has locked the SQLite file. A walk locks it for milliseconds. */
const LOCKED_RETRY_MS = 3
const LOCKED_TIMEOUT_MS = 300

/** How long a walk waits for an unavailable server. By then its lease has almost expired. */
const WALK_TIMEOUT_MS: number = 30 * SECOND_MS
const WALK_RETRY_MS: number = SECOND_MS / 2

/** Retry a write while the file is locked. The timer keeps the process alive, because this can be the last write. */
export async function retryWhileLocked<T>(write: () => Promise<T>): Promise<T> {
  for (let remainingMs = LOCKED_TIMEOUT_MS; ; remainingMs -= LOCKED_RETRY_MS) {
    try {
      return await write()
    } catch (error) {
      if (remainingMs <= 0 || !isLocked(error)) throw error
      await wait(LOCKED_RETRY_MS)
    }
  }
}

/** Runs every call of an open store, with the retries and repairs for its database. */
export type CallRunner = Readonly<{
  /** Run an action that is atomic or idempotent, because it can run twice. */
  run<T>(action: () => Promise<T>): Promise<T>
  stop(): Promise<void>
}>

/**
 * Create the runner for a database server, which retries write conflicts. A walk also waits while the server is unavailable or
 * read-only, as during a failover; visitors do not wait.
 */
export function createServerRunner({ isWalk }: Readonly<{ isWalk: boolean }>): CallRunner {
  const stopping = new AbortController()
  // Any number of calls can wait, so disable the warning about too many listeners.
  setMaxListeners(0, stopping.signal)
  return {
    async run(action) {
      for (let remainingMs = isWalk ? WALK_TIMEOUT_MS : 0; ; remainingMs -= WALK_RETRY_MS) {
        try {
          return await retryConflicts(action)
        } catch (error) {
          const isTransient = isUnavailable(error) || isReadOnly(error)
          if (remainingMs <= 0 || !isTransient || stopping.signal.aborted) throw error
          await systemClock.wait(WALK_RETRY_MS, stopping.signal)
        }
      }
    },
    stop() {
      stopping.abort()
      return Promise.resolve()
    },
  }
}
