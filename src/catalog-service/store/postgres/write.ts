import { randomUUID } from 'node:crypto'
import { type Kysely, type Transaction, sql } from 'kysely'
import { SECOND_MS, systemClock } from '../../../clock.ts'
import { findPostgresFailure } from '../../../database/postgres-failure.ts'
import { findSqlState, isConflict } from '../../../database/transact.ts'
import { StoreError } from '../../../errors.ts'
import { CATALOG_HELD } from '../catalog-held.ts'
import type { CatalogStore } from '../catalog-store.ts'
import type { CatalogTables } from '../schema.ts'

/** How long a writer waits for the one who writes; as long as for a file. */
const TURN_WITHIN_MS: number = 5 * SECOND_MS

/** SQLSTATE of a lock that was not to be had in time. */
const LOCK_NOT_HAD = '55P03'

/** How often a transaction that had its turn is made again, and the longest wait before; by chance, so that two part. */
const MAX_RETRIES = 4
const RETRY_WAIT_MS = 50

/** A transaction under way. */
type Attempt = { hasTurn: boolean }

/**
 * Makes the one way to change the catalog. A writer changes one row that only writers know, and so waits for the one before
 * it; at its end it renames the state of the catalog, by which all processes know that what they keep of it is out of date.
 */
export function createWrite(
  open: () => Promise<void>,
  openWriter: () => Kysely<CatalogTables>,
): CatalogStore['write'] {
  return async (work, { isOnce = false } = {}) => {
    await open()
    const untilMs = systemClock.nowMs() + TURN_WITHIN_MS
    for (let retries = 0; ; retries += 1) {
      const attempt: Attempt = { hasTurn: false }
      try {
        const result = await openWriter()
          .transaction()
          .setIsolationLevel('read committed')
          .execute((transaction) => writeInTurn(transaction, attempt, work))
        if (isOnce) await countAnew(openWriter())
        return result
      } catch (error) {
        if (!isToRetry(error, attempt, { isOnce, retries, untilMs })) throw toWriteError(error, attempt)
        await systemClock.wait(Math.random() * RETRY_WAIT_MS * 2 ** Math.min(retries, MAX_RETRIES))
      }
    }
  }
}

async function writeInTurn<T>(
  transaction: Transaction<CatalogTables>,
  attempt: Attempt,
  work: (transaction: Transaction<CatalogTables>) => Promise<T>,
): Promise<T> {
  await sql`set local lock_timeout = ${sql.lit(TURN_WITHIN_MS)}`.execute(transaction)
  await sql`update writer_turns set turns = turns + 1 where id = 1`.execute(transaction)
  attempt.hasTurn = true
  const result = await work(transaction)
  await transaction
    .updateTable('meta')
    .set({ value: randomUUID() })
    .where('key', '=', 'state')
    .executeTakeFirstOrThrow()
  return result
}

/**
 * A table that was empty when its statements were planned is read from end to end until the server has counted it anew, which
 * it does by itself about a minute after an import. One that cannot be told to does it then.
 */
async function countAnew(database: Kysely<CatalogTables>): Promise<void> {
  for (const table of ['products', 'offers'])
    await sql`analyze ${sql.table(table)}`.execute(database).catch(() => {})
}

type Limits = Readonly<{ isOnce: boolean; retries: number; untilMs: number }>

function isToRetry(error: unknown, { hasTurn }: Attempt, { isOnce, retries, untilMs }: Limits): boolean {
  if (!isConflict(error)) return false
  if (hasTurn) return !isOnce && retries < MAX_RETRIES
  return findSqlState(error) !== LOCK_NOT_HAD && systemClock.nowMs() < untilMs
}

function toWriteError(error: unknown, { hasTurn }: Attempt): unknown {
  const failure = findPostgresFailure(error)
  if (failure === undefined) return error
  if (!hasTurn && isConflict(error)) return new StoreError(CATALOG_HELD)
  return new StoreError(`the catalog cannot be written: ${failure.message}`)
}
