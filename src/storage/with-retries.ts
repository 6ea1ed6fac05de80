import { setMaxListeners } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { SECOND_MS, systemClock } from '../clock.ts'
import { retryConflicts } from '../database/transaction.ts'
import { isLocked, isReadOnly, isUnavailable } from './store-failures.ts'

/** A write of a server retries while another process holds the SQLite file; a walk does for milliseconds. */
const LOCKED_RETRY_MS = 3
const LOCKED_TIMEOUT_MS = 300

/** How long a walk waits for an unavailable server; its lease is as good as over then. */
const WALK_TIMEOUT_MS: number = 30 * SECOND_MS
const WALK_RETRY_MS: number = SECOND_MS / 2

/** Run a write again while another process holds the file. The wait keeps the process alive: it may be the last write. */
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

/** Runs every call of an open store, with the repairs and retries of its engine. */
export type CallRunner = Readonly<{
  /** Run an action that may be done twice: one transaction, or a step of a walk that may be repeated. */
  run<T>(action: () => Promise<T>): Promise<T>
  stop(): Promise<void>
}>

/**
 * Create the runner for a database server: it retries write conflicts. A walk also waits while the server is unavailable or
 * read-only, as when another machine takes its place; visitors do not wait.
 */
export function createServerRunner({ isWalk }: Readonly<{ isWalk: boolean }>): CallRunner {
  const stopping = new AbortController()
  // There is no limit to the number of calls that wait.
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
