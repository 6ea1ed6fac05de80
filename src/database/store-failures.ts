import { listCauses } from './error-causes.ts'
import { findSqlState } from './transaction.ts'
import { StoreError, type VitrineError } from '../errors.ts'

/** SQLSTATE classes of an unavailable server: no connection, login, database or resources; shutdown; disk error. */
const UNAVAILABLE_CLASS = /^(?:08|28|3D|53|57|58)/

/** The server cancelled a statement that took too long, so the server is available. */
const QUERY_CANCELED = '57014'

/** The server is a standby. */
const READ_ONLY = '25006'

const DATA_EXCEPTION = /^22/

/** Codes of the operating system and of TLS, but not of SQLite. */
const SYSTEM_CODE = /^E(?!RR_SQLITE)/

/** Messages of the driver, of `database/postgres.ts` and of `reconnecting-store.ts`. */
const CONNECTION_LOST = /connection|timeout|terminated|did not respond|does not support SSL/i

/** SQLite's messages about a file that must be reopened. Single damaged pages are not among them. */
const FILE_DAMAGED = /not a database|disk I\/O error|unable to open/

const LOCKED = /locked|busy/

/** `true` when the server rejected a write because it is read-only. */
export function isReadOnly(error: unknown): boolean {
  return findSqlState(error) === READ_ONLY
}

/** `true` when the server is unreachable or cannot run statements; `false` when it rejects one for another reason. */
export function isUnavailable(error: unknown): boolean {
  const state = findSqlState(error)
  if (state !== undefined) return state !== QUERY_CANCELED && UNAVAILABLE_CLASS.test(state)
  const cause = listCauses(error).at(-1)
  const isSystemError = cause !== undefined && 'code' in cause && SYSTEM_CODE.test(String(cause.code))
  return isSystemError || CONNECTION_LOST.test(cause?.message ?? '')
}

/** `true` when the database was unreachable, or was not called because it is known to be. */
export function isUnreachable(error: unknown): boolean {
  const isKnown = listCauses(error).some((cause) => cause instanceof StoreError && cause.isUnreachable)
  return isKnown || isUnavailable(error)
}

/** `true` when the database rejected a value of the statement, such as a text with NUL. The database itself works. */
export function isInvalidValue(error: unknown): boolean {
  return DATA_EXCEPTION.test(findSqlState(error) ?? '')
}

/** `true` when a statement took too long, or waited too long for a connection of the pool. */
export function isTimeout(error: unknown): boolean {
  return findSqlState(error) === QUERY_CANCELED || describeStoreFailure(error).includes('statements at once')
}

/** `true` when another process has locked the SQLite file. */
export function isLocked(error: unknown): boolean {
  return error instanceof StoreError && LOCKED.test(describeStoreFailure(error))
}

/** `true` when the SQLite file is damaged and must be reopened. */
export function isFileDamaged(error: unknown): boolean {
  return error instanceof StoreError && FILE_DAMAGED.test(describeStoreFailure(error))
}

/** Return the database's message, which contains no stored data. */
export function describeStoreFailure(error: unknown): string {
  return listCauses(error).at(-1)?.message ?? 'unknown reason'
}

/** Return the message of the database when the store failed, else the error's own. */
export function describeFailure(error: VitrineError): string {
  return error instanceof StoreError ? describeStoreFailure(error) : error.message
}
