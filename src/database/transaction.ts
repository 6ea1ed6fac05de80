import type { Kysely, Transaction } from 'kysely'
import { setTimeout as wait } from 'node:timers/promises'
import { listCauses } from './error-causes.ts'
import { isPostgres } from './is-postgres.ts'

/** How often a transaction is retried, and the longest first wait; each further wait is twice as long. */
const MAX_RETRIES = 8
const INITIAL_WAIT_MS = 8

/** A table that changed under a prepared statement: the new connection knows it, or the engine cannot do this at all. */
const TABLE_CHANGED = '0A000'

/**
 * SQLSTATEs of a write conflict: serialization failure, deadlock, unknown completion, a row that another transaction has just
 * inserted, an unavailable row lock, a changed table, and what another process created in spite of "if not exists".
 */
const CONFLICTS = /^(?:40001|40P01|40003|23505|55P03|0A000|42710|42P06|42P07)$/

/**
 * Run a transaction. On SQLite one follows the other; on a server they run as if they did, and one that met a write conflict is
 * retried: `work` may run more than once, each time from the beginning. `read committed`: it first locks a row, and then reads
 * what others have committed.
 */
export async function transact<Tables, Result>(
  database: Kysely<Tables>,
  work: (transaction: Transaction<Tables>) => Promise<Result>,
  level: 'serializable' | 'read committed' = 'serializable',
): Promise<Result> {
  if (!isPostgres(database)) return database.transaction().execute(work)
  return retryConflicts(() => database.transaction().setIsolationLevel(level).execute(work))
}

/** Retry work that met a write conflict. The work is all or nothing, or has the same effect when it is done twice. */
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
      // At random, so that two who met do not meet again. The wait keeps the process alive.
      await wait(Math.random() * INITIAL_WAIT_MS * 2 ** retries)
    }
  }
}

/** Conflicts after the last retry: an outer `retryConflicts` does not begin anew. */
const exhaustedFailures = new WeakSet<object>()

/** Did a transaction meet another one, so that it may succeed when retried? */
export function isConflict(error: unknown): boolean {
  const failure = findFailure(error)
  return failure !== undefined && CONFLICTS.test(failure.code) && !exhaustedFailures.has(failure)
}

/** Codes of the system begin with an E, as EPIPE does. */
const SQLSTATE = /^[0-9A-DF-Z][0-9A-Z]{4}$/

/** Find the SQLSTATE at the bottom of an error. */
export function findSqlState(error: unknown): string | undefined {
  return findFailure(error)?.code
}

function findFailure(error: unknown): (Error & { code: string }) | undefined {
  return listCauses(error).find(
    (cause): cause is Error & { code: string } =>
      'code' in cause && typeof cause.code === 'string' && SQLSTATE.test(cause.code),
  )
}
