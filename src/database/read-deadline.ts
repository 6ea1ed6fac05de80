import { type QueryExecutorProvider, type RawBuilder, type SqlBool, sql } from 'kysely'
import { isPostgres } from './dialect.ts'

/** SQLite runs statements on the calling thread, so only a function inside the statement can stop it. */
export const DEADLINE_FUNCTION = 'check_read_deadline'

/** Must be a power of two. */
const ROWS_BETWEEN_CHECKS = 256

/** In the time of `performance.now()`. A thread runs one such read at a time. */
let deadlineMs = Infinity

/** Implement the SQL function `check_read_deadline`. */
export function checkReadDeadline(): number {
  if (performance.now() > deadlineMs) throw new Error('the read exceeded its deadline')
  return 1
}

/** Create a condition that is always true, but fails a SQLite statement after the deadline of `runWithDeadline`. */
export function createDeadlineCheck(idColumn: string): RawBuilder<SqlBool> {
  const id = sql.ref(idColumn)
  return sql<SqlBool>`(${id} & ${sql.lit(ROWS_BETWEEN_CHECKS - 1)} <> 0 or ${sql.raw(DEADLINE_FUNCTION)}())`
}

/** Create the deadline check of a SQLite statement that scans many rows. PostgreSQL has a statement timeout instead. */
export function createDeadlineCondition(
  database: QueryExecutorProvider,
  idColumn: string,
): RawBuilder<SqlBool> {
  return isPostgres(database) ? sql<SqlBool>`1 = 1` : createDeadlineCheck(idColumn)
}

/**
 * Run one SQLite read whose statements contain a deadline check. Such reads must not overlap in a thread.
 * @returns `undefined` when the deadline stopped the read
 */
export async function runWithDeadline<T>(timeoutMs: number, read: () => Promise<T>): Promise<T | undefined> {
  deadlineMs = performance.now() + timeoutMs
  try {
    return await read()
  } catch (error) {
    if (performance.now() > deadlineMs) return undefined
    throw error
  } finally {
    deadlineMs = Infinity
  }
}
