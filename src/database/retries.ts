import { setTimeout as wait } from 'node:timers/promises'
import { systemClock } from '../clock.ts'
import { findSqlState, isLocked, isReadOnly, isUnavailable } from './failures.ts'

/** Retries after a write conflict, and the longest first wait; the limit doubles with each retry. */
const MAX_CONFLICTS = 8
const INITIAL_WAIT_MS = 8

/** A table changed after a statement was prepared, which a new connection resolves; or the feature is not supported. */
const TABLE_CHANGED = '0A000'

/**
 * SQLSTATEs of a write conflict: serialization failure, deadlock, unknown completion, duplicate row, unavailable row lock,
 * changed table, and objects that another process created in spite of "if not exists".
 */
const CONFLICTS = /^(?:40001|40P01|40003|23505|55P03|0A000|42710|42P06|42P07)$/

/** Time between two attempts while a file is locked, which a walk does for milliseconds, and while a server is unavailable. */
const LOCKED_WAIT_MS = 3
const UNAVAILABLE_WAIT_MS = 500

/** What is waited for besides write conflicts. */
export type RetryRules = Readonly<{
  /** How long to wait for a locked file, and for an unavailable or read-only server. By default, not at all. */
  lockedMs?: number | undefined
  unavailableMs?: number | undefined
  /** Ends the wait for a server. */
  signal?: AbortSignal | undefined
  /** Repair, once, what made an attempt fail that started at this time of `performance.now()`; `true`: it may succeed now. */
  repair?: ((error: unknown, startedMs: number) => Promise<boolean>) | undefined
  /** Whether the work may run again; by default, always. */
  canRepeat?: ((error: unknown) => boolean) | undefined
}>

/**
 * Run work, and run it again after a failure that can pass. It must be atomic or idempotent.
 * Calls are not nested.
 */
export async function retry<Result>(work: () => Promise<Result>, rules: RetryRules = {}): Promise<Result> {
  const state: RetryState = { startedMs: 0, conflicts: 0, isRepaired: false, failedMs: undefined }
  for (;;) {
    state.startedMs = performance.now()
    try {
      return await work()
    } catch (error) {
      if (rules.canRepeat?.(error) === false) throw error
      await prepareRetry(error, rules, state)
    }
  }
}

/** What the attempts so far have used up. Times are of `performance.now()`. */
type RetryState = {
  startedMs: number
  conflicts: number
  isRepaired: boolean
  /** The first failure that is waited for. */
  failedMs: number | undefined
}

/** Wait or repair before the next attempt. @throws the error when it does not pass, or the rules allow no more. */
async function prepareRetry(error: unknown, rules: RetryRules, state: RetryState): Promise<void> {
  const { conflicts } = state
  if (isConflict(error) && conflicts < (findSqlState(error) === TABLE_CHANGED ? 1 : MAX_CONFLICTS)) {
    // A random wait, so that two conflicting transactions do not collide again. The timer keeps the process alive.
    await wait(Math.random() * INITIAL_WAIT_MS * 2 ** conflicts)
    state.conflicts += 1
    return
  }
  let failure = error
  if (!state.isRepaired && rules.repair !== undefined)
    try {
      state.isRepaired = await rules.repair(error, state.startedMs)
      if (state.isRepaired) return
    } catch (repairError) {
      // The file can be locked, for example.
      failure = repairError
    }
  state.failedMs ??= performance.now()
  await waitForDatabase(failure, rules, performance.now() - state.failedMs)
}

/** `true` when a transaction failed because of another one and may succeed when it is repeated. */
export function isConflict(error: unknown): boolean {
  return CONFLICTS.test(findSqlState(error) ?? '')
}

async function waitForDatabase(
  error: unknown,
  { lockedMs = 0, unavailableMs = 0, signal }: RetryRules,
  waitedMs: number,
): Promise<void> {
  // The timer keeps the process alive, because this can be its last write.
  if (waitedMs < lockedMs && isLocked(error)) return wait(LOCKED_WAIT_MS)
  const canReturn = isUnavailable(error) || isReadOnly(error)
  if (waitedMs >= unavailableMs || !canReturn || signal?.aborted === true) throw error
  await systemClock.wait(UNAVAILABLE_WAIT_MS, signal)
}
