import { listCauses } from '../database/error-causes.ts'
import { findSqlState } from '../database/transaction.ts'
import { StoreError, type VitrineError } from '../errors.ts'

/** SQLSTATE classes of a server that is away: no connection, refused login, no such database, no resources, shutdown, disk. */
const UNAVAILABLE_CLASS = /^(?:08|28|3D|53|57|58)/

/** The server ended a statement that took too long: so it is there. */
const QUERY_CANCELED = '57014'

/** A standby, or a server that has become one. */
const READ_ONLY = '25006'

const DATA_EXCEPTION = /^22/

/** Codes of the system and of TLS. SQLite's own failures say nothing of a connection. */
const SYSTEM_CODE = /^E(?!RR_SQLITE)/

/** In the words of the driver and of ours. */
const CONNECTION_LOST = /connection|timeout|terminated|said nothing|does not support SSL/i

/** What SQLite says of a file from which an open connection cannot recover. Single damaged pages cost what is on them. */
const FILE_DAMAGED = /not a database|disk I\/O error|unable to open/

/** Another process holds the lock of a SQLite file. */
const LOCKED = /locked|busy/

/** Did the server refuse a write because it is read-only? Stored data can still be read. */
export function isReadOnly(error: unknown): boolean {
  return findSqlState(error) === READ_ONLY
}

/** Can the server not be reached, or not be worked with? A statement that it refuses for other reasons does not count. */
export function isUnavailable(error: unknown): boolean {
  const state = findSqlState(error)
  if (state !== undefined) return state !== QUERY_CANCELED && UNAVAILABLE_CLASS.test(state)
  const cause = listCauses(error).at(-1)
  const isSystemError = cause !== undefined && 'code' in cause && SYSTEM_CODE.test(String(cause.code))
  return isSystemError || CONNECTION_LOST.test(cause?.message ?? '')
}

/** Was the database not reached, or not asked because it is known to be unavailable? */
export function isUnreachable(error: unknown): boolean {
  const isKnown = listCauses(error).some((cause) => cause instanceof StoreError && cause.isUnreachable)
  return isKnown || isUnavailable(error)
}

/** Did the database refuse a value of the statement (a text with NUL, a number out of range)? Then it works. */
export function isInvalidValue(error: unknown): boolean {
  return DATA_EXCEPTION.test(findSqlState(error) ?? '')
}

/** Did a statement take too long, or did it wait in vain for one of this process's connections? */
export function isTimeout(error: unknown): boolean {
  return findSqlState(error) === QUERY_CANCELED || describeStoreFailure(error).includes('statements at once')
}

/** Did another process hold the lock of the SQLite file? */
export function isLocked(error: unknown): boolean {
  return error instanceof StoreError && LOCKED.test(describeStoreFailure(error))
}

/** Is the SQLite file damaged so that it has to be opened again? */
export function isFileDamaged(error: unknown): boolean {
  return error instanceof StoreError && FILE_DAMAGED.test(describeStoreFailure(error))
}

/** Return why the store failed, in the words of the database, which name no data. */
export function describeStoreFailure(error: unknown): string {
  return listCauses(error).at(-1)?.message ?? 'unknown reason'
}

/** Return why something failed: for the store in the words of the database, else in our own. */
export function describeFailure(error: VitrineError): string {
  return error instanceof StoreError ? describeStoreFailure(error) : error.message
}
