import type { Kysely, Transaction } from 'kysely'
import { setTimeout as wait } from 'node:timers/promises'
import { isPostgres } from './postgres.ts'

/**
 * What several machines do to one database at the same time. On SQLite one transaction follows the other by itself; elsewhere
 * transactions are made as if they did, and the one that stood in another's way is made again.
 */

/** How often a transaction is made again, and the longest first wait; each further wait is twice as long. */
const MAX_RETRIES = 8
const FIRST_WAIT_MS = 8

/**
 * SQLSTATEs of transactions that met another one: serialization failure, deadlock, a row that another one has just put in, a
 * row lock that was not to be had, a table that changed under a prepared statement, and something that another one has made
 * in spite of "if not exists".
 */
const CONFLICTS: ReadonlySet<string> = new Set([
  '40001',
  '40P01',
  '40003',
  '23505',
  '55P03',
  '0A000',
  '42710',
  '42P06',
  '42P07',
])

/** How a transaction sees others. `queued`: it locks a row first, after which it reads what others have committed. */
export type TransactOptions = Readonly<{ kind?: 'serializable' | 'queued' }>

/** Makes a transaction. `work` may run more than once, each time from the beginning. */
export async function transact<Tables, Result>(
  database: Kysely<Tables>,
  work: (transaction: Transaction<Tables>) => Promise<Result>,
  { kind = 'serializable' }: TransactOptions = {},
): Promise<Result> {
  if (!isPostgres(database)) return database.transaction().execute(work)
  const level = kind === 'queued' ? 'read committed' : 'serializable'
  return retryConflicts(() => database.transaction().setIsolationLevel(level).execute(work))
}

/** Does something again that met another transaction; what it does has to be all or nothing, or the same when done twice. */
export async function retryConflicts<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let retries = 0; ; retries += 1) {
    try {
      return await work()
    } catch (error) {
      if (!isConflict(error)) throw error
      if (retries >= (ONCE.has(findSqlState(error) ?? '') ? 1 : MAX_RETRIES)) {
        const answer = findAnswer(error)
        if (answer !== undefined) givenUp.add(answer)
        throw error
      }
      // By chance, so that two who met do not meet again; it keeps the process alive, as nothing else may.
      await wait(Math.random() * FIRST_WAIT_MS * 2 ** retries)
    }
  }
}

/** A table that has changed: the new connection knows it, or the engine cannot do this at all. */
const ONCE: ReadonlySet<string> = new Set(['0A000'])

/** Errors that were met again and again: who retries around it does not begin anew. */
const givenUp = new WeakSet<object>()

/** Did a transaction meet another one? Made again, it may succeed. */
export function isConflict(error: unknown): boolean {
  const answer = findAnswer(error)
  return answer !== undefined && CONFLICTS.has(answer.code) && !givenUp.has(answer)
}

/** Those of the system begin with an E, as EPIPE does. */
const SQLSTATE = /^[0-9A-DF-Z][0-9A-Z]{4}$/

/** What the database says in five characters, at the bottom of an error; `undefined` when it said nothing. */
export function findSqlState(error: unknown): string | undefined {
  return findAnswer(error)?.code
}

function findAnswer(error: unknown): Readonly<{ code: string }> | undefined {
  if (!(error instanceof Error)) return undefined
  if ('code' in error && typeof error.code === 'string' && SQLSTATE.test(error.code))
    return error as Error & { code: string }
  return findAnswer(error.cause)
}
