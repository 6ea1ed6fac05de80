import { type RawBuilder, type SqlBool, sql } from 'kysely'

/** SQLite runs a statement on the calling thread, so nothing but a function inside the statement can end it. */
export const DEADLINE_FUNCTION = 'check_read_deadline'

/** The function is called for one row of so many: a power of two. */
const ROWS_BETWEEN_CHECKS = 256

/** On the clock of `performance.now()`. A thread makes one such read at a time. */
let deadlineMs = Infinity

/** Implement the SQL function of that name. */
export function checkReadDeadline(): number {
  if (performance.now() > deadlineMs) throw new Error('the read took longer than its deadline')
  return 1
}

/** A condition that is always true, and ends the statement with an error when the deadline of `readWithin` has passed. */
export function createDeadlineCheck(idColumn: string): RawBuilder<SqlBool> {
  const id = sql.ref(idColumn)
  return sql<SqlBool>`(${id} & ${sql.lit(ROWS_BETWEEN_CHECKS - 1)} <> 0 or ${sql.raw(DEADLINE_FUNCTION)}())`
}

/**
 * Run one read of SQLite whose statements contain `inTime`. Reads with a deadline must not overlap in a thread.
 * @returns `undefined` when the deadline ended it
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
