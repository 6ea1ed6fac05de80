import { sql } from 'kysely'
import { SECOND_MS, systemClock } from '../../../clock.ts'
import { StoreError, StoreNewerError, VitrineError } from '../../../errors.ts'
import { isUpToDate, migratePostgres } from '../../../database/migrate.ts'
import { findSqlState } from '../../../database/transact.ts'
import { inTime } from '../../../database/postgres.ts'
import { findPostgresFailure } from '../../../database/postgres-failure.ts'
import { type CatalogConnections, SCHEMA } from './connections.ts'
import { POSTGRES_CATALOG_MIGRATIONS } from './migrations.ts'

/** How long a failed opening holds for those who ask next: each of them would wait for a connection. */
const TRY_AGAIN_AFTER_MS: number = SECOND_MS / 2

/** How long a service waits for its database at a start before it answers without. */
const START_WITHIN_MS: number = 5 * SECOND_MS

/** What an answer may take beyond the one statement that it waits for. */
const MARGIN_MS: number = SECOND_MS / 4

/** SQLSTATEs of statements that cannot be right: another try would not help. Without a right to them it may. */
const IS_FAULT = /^42(?!501)/

/** The database, brought to this version as soon as it is there. */
export type Opening = Readonly<{
  /** Resolves when it is. @throws StoreError, StoreNewerError */
  open(): Promise<void>
  /** The same at the start of a service, which goes on without: why, if it has to. @throws StoreNewerError */
  openSoon(): Promise<VitrineError | undefined>
  /** Does something with it that somebody waits for. @throws StoreError when it is away, or says nothing. */
  ask<T>(work: () => Promise<T>): Promise<T>
}>

/** Makes the opening; nothing is connected yet. */
export function createOpening(connections: CatalogConnections): Opening {
  const { address } = connections
  let isOpen = false
  let opening: Promise<void> | undefined
  let failure: VitrineError | undefined
  let failedAtMs = -Infinity
  const openNow = async (): Promise<void> => {
    try {
      await migrate(connections)
      isOpen = true
    } catch (error) {
      failedAtMs = systemClock.nowMs()
      failure = toOpeningError(error, address.label)
      throw failure
    } finally {
      opening = undefined
    }
  }
  const open = async (): Promise<void> => {
    if (isOpen) return
    const sinceMs = systemClock.nowMs() - failedAtMs
    if (failure !== undefined && sinceMs >= 0 && sinceMs < TRY_AGAIN_AFTER_MS) throw failure
    await (opening ??= openNow())
  }
  return {
    open,
    async openSoon() {
      try {
        await inTime(open(), START_WITHIN_MS)
        return undefined
      } catch (error) {
        if (error instanceof StoreNewerError) throw error
        return toOpeningError(error, address.label)
      }
    },
    async ask(work) {
      try {
        if (isOpen) return await inTime(work(), address.statementTimeoutMs + MARGIN_MS)
        return await inTime(open().then(work), address.statementTimeoutMs + MARGIN_MS)
      } catch (error) {
        throw toAskingError(error, address.label)
      }
    },
  }
}

/** Looks first: one of this version is opened without a right to change its tables. */
async function migrate({ openWriter }: CatalogConnections): Promise<void> {
  const database = openWriter()
  await sql`select 1`.execute(database)
  if (!(await isUpToDate(database, POSTGRES_CATALOG_MIGRATIONS)))
    await migratePostgres(database, SCHEMA, POSTGRES_CATALOG_MIGRATIONS)
}

function toOpeningError(error: unknown, label: string): VitrineError {
  if (error instanceof VitrineError) return error
  const reason =
    findPostgresFailure(error)?.message ?? `${label}: ${isSilent(error) ? error.message : 'unknown reason'}`
  return new StoreError(`the catalog's database cannot be opened: ${reason}`)
}

/** What went wrong while somebody waited. What is no failure of the database is a bug, and stays one. */
function toAskingError(error: unknown, label: string): unknown {
  if (error instanceof StoreNewerError) return new StoreError(error.message)
  if (error instanceof VitrineError) return error
  const failure = findPostgresFailure(error)
  if (failure !== undefined && IS_FAULT.test(findSqlState(failure) ?? '')) return failure
  if (failure !== undefined) return new StoreError(`the catalog's database failed: ${failure.message}`)
  return isSilent(error) ? new StoreError(`the catalog's database failed: ${label}: ${error.message}`) : error
}

function isSilent(error: unknown): error is Error {
  return error instanceof Error && error.message.startsWith('the database said nothing')
}
