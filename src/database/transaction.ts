import type { Kysely, Transaction } from 'kysely'
import { setTimeout as wait } from 'node:timers/promises'
import { listCauses } from './error-causes.ts'
import { isPostgres } from './is-postgres.ts'

/** Retries of a transaction, and the longest first wait; the limit doubles with each retry. */
const MAX_RETRIES = 8
const INITIAL_WAIT_MS = 8

/** A table changed after a statement was prepared, which a new connection resolves; or the feature is not supported. */
const TABLE_CHANGED = '0A000'

/**
 * SQLSTATEs of a write conflict: serialization failure, deadlock, unknown completion, duplicate row, unavailable row lock,
 * changed table, and objects that another process created in spite of "if not exists".
 */
const CONFLICTS = /^(?:40001|40P01|40003|23505|55P03|0A000|42710|42P06|42P07)$/

/**
 * Run a transaction. PostgreSQL retries it after a write conflict, so `work` may run more than once. Use `read committed` when
 * `work` first locks a row and must then see what other transactions committed.
 */
export async function transact<Tables, Result>(
  database: Kysely<Tables>,
  work: (transaction: Transaction<Tables>) => Promise<Result>,
  level: 'serializable' | 'read committed' = 'serializable',
): Promise<Result> {
  if (!isPostgres(database)) return database.transaction().execute(work)
  return retryConflicts(() => database.transaction().setIsolationLevel(level).execute(work))
}

/** Retry work after a write conflict. The work must be atomic or idempotent. */
export async function retryConflicts<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let retries = 0; ; retries += 1) {
    try {
      return await work()
    } catch (error) {
      if (!isConflict(error)) throw error
      if (retries >= (findSqlState(error) === TABLE_CHANGED ? 1 : MAX_RETRIES)) {
        const failure = findFailure(error)
        if (failure !== undefined) exhaustedFailures.add(failure)
        throw error
      }
      // A random wait, so that two conflicting transactions do not collide again. The timer keeps the process alive.
      await wait(Math.random() * INITIAL_WAIT_MS * 2 ** retries)
    }
  }
}

/** Conflicts after the last retry: an outer `retryConflicts` must not retry them again. */
const exhaustedFailures = new WeakSet<object>()

/** `true` when a transaction failed because of another one and may succeed when retried. */
export function isConflict(error: unknown): boolean {
  const failure = findFailure(error)
  return failure !== undefined && CONFLICTS.test(failure.code) && !exhaustedFailures.has(failure)
}

/** Excludes system error codes, which begin with E, such as EPIPE. */
const SQLSTATE = /^[0-9A-DF-Z][0-9A-Z]{4}$/

export function findSqlState(error: unknown): string | undefined {
  return findFailure(error)?.code
}

function findFailure(error: unknown): (Error & { code: string }) | undefined {
  return listCauses(error).find(
    (cause): cause is Error & { code: string } =>
      'code' in cause && typeof cause.code === 'string' && SQLSTATE.test(cause.code),
  )
}
