import { accessSync, constants, existsSync, readlinkSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { StoreError, VitrineError } from '../errors.ts'
import {
  describeConnectionFailure,
  isInvalidCertificate,
  isUnknownAuthority,
} from '../outgoing/connection-failures.ts'

/**
 * What failed in a database. Failures of PostgreSQL have no private data: messages of drivers and servers can contain users and
 * values of rows.
 */

/** List an error and its causes, outermost first. The list is empty when the thrown value is not an `Error`. */
export function listCauses(error: unknown): readonly Error[] {
  return error instanceof Error ? [error, ...listCauses(error.cause)] : []
}

/** Error codes of the operating system, not of Node: Node's own errors have messages. */
const SYSTEM_CODE = /^E(?!RR_)[A-Z_]+$/

const failures = new WeakSet<Error>()

/** By SQLSTATE, or its first two characters. Other states use the server's message without user names. */
const MESSAGES: Readonly<Record<string, string>> = {
  '28000': 'the server rejects the user, does not allow this host, or requires encryption (sslmode)',
  '28': 'the server rejects the user or the password, or does not allow this host',
  '3D000': 'the database does not exist',
  '53300': 'the server has no free connection',
  '25006': 'the server is read-only, as a standby is',
  '57P03': 'the server is starting or shutting down',
  '57014': 'a statement exceeded its time limit',
  '25P03': 'a transaction was idle for too long',
  '55P03': 'another transaction holds a lock that this one needs',
}

/** A prepared statement is missing or exists already, or a table is missing: a pooler runs statements in sessions of others. */
const POOLER_CODES: ReadonlySet<string> = new Set(['26000', '42P05', '42P01'])
const POOLER_HINT = 'a connection pooler, if there is one, must use session mode'

/**
 * Convert the error of a statement or connection. `label` is host, port and database. Only the `code` of the error is kept:
 * the SQLSTATE or the system's code.
 */
export function toPostgresFailure(error: unknown, label: string): Error {
  const code = findTextCode(error)
  const failure = new Error(`${label}: ${describe(error, code)}`)
  if (code !== undefined) Object.assign(failure, { code })
  failures.add(failure)
  return failure
}

/** Find the database failure among the causes of an error. */
export function findPostgresFailure(error: unknown): Error | undefined {
  return listCauses(error).find((cause) => failures.has(cause))
}

/** Return the message of the database failure among the causes of an error. */
export function describePostgresFailure(error: unknown): string {
  return findPostgresFailure(error)?.message ?? 'unknown reason'
}

function findTextCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

function describe(error: unknown, code: string | undefined): string {
  if (!(error instanceof Error)) return 'unknown reason'
  if (code === undefined) return error.message
  // When a host name has several addresses, Node's combined error has no message.
  if (SYSTEM_CODE.test(code)) return `the server cannot be reached (${code})`
  if (isUnknownAuthority(code))
    return `${describeConnectionFailure(code)}: name a file with the authority's certificate by sslrootcert=FILE in the address`
  if (isInvalidCertificate(code)) return describeConnectionFailure(code) ?? code
  const message = error.message.replace(/\b(user|role) "[^"]*"/g, '$1')
  if (POOLER_CODES.has(code)) return `${message}; ${POOLER_HINT}`
  return MESSAGES[code] ?? MESSAGES[code.slice(0, 2)] ?? message
}

/** Excludes system error codes, which begin with E, such as EPIPE. */
const SQLSTATE = /^[0-9A-DF-Z][0-9A-Z]{4}$/

/** Return the SQLSTATE of a failure of PostgreSQL; `undefined` for another error. */
export function findSqlState(error: unknown): string | undefined {
  return listCauses(error)
    .map((cause) => ('code' in cause && typeof cause.code === 'string' ? cause.code : ''))
    .find((code) => SQLSTATE.test(code))
}

/** SQLSTATE classes of an unavailable server: no connection, login, database or resources; shutdown; disk error. A full disk can be read. */
const UNAVAILABLE_CLASS = /^(?:08|28|3D|53(?!100)|57|58)/

/** The server cancelled a statement that took too long, so the server is available. */
const QUERY_CANCELED = '57014'

/** The server is a standby. */
const READ_ONLY_STATE = '25006'

const DATA_EXCEPTION = /^22/

/** Codes of the operating system and of TLS, but not of SQLite. */
const SYSTEM_OR_TLS_CODE = /^E(?!RR_SQLITE)/

/** Messages of the driver, of `postgres.ts` and of `connection.ts`. */
const CONNECTION_LOST = /connection|timeout|terminated|did not respond|does not support SSL/i

/** SQLite's messages about a file that must be reopened. Single damaged pages are not among them. */
const FILE_DAMAGED = /not a database|disk I\/O error|unable to open/

const LOCKED = /locked|busy/

/** `true` when the server rejected a write because it is read-only. */
export function isReadOnly(error: unknown): boolean {
  return findSqlState(error) === READ_ONLY_STATE
}

/** `true` when the server is unreachable or cannot run statements; `false` when it rejects one for another reason. */
export function isUnavailable(error: unknown): boolean {
  const state = findSqlState(error)
  if (state !== undefined) return state !== QUERY_CANCELED && UNAVAILABLE_CLASS.test(state)
  const cause = listCauses(error).at(-1)
  const isSystemError = cause !== undefined && 'code' in cause && SYSTEM_OR_TLS_CODE.test(String(cause.code))
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

/** SQLSTATE class 42. An operator can fix a missing right (42501) and a prepared statement that a pooler hides (42P05). */
const INVALID_STATEMENT_STATE = /^42(?!501|P05)/
const INVALID_STATEMENT = /^no such (?:table|column)|syntax error/

/** `true` when a statement does not fit the tables, so that it fails again. */
export function isInvalidStatement(error: unknown): boolean {
  const state = findSqlState(error)
  return state === undefined
    ? INVALID_STATEMENT.test(describeStoreFailure(error))
    : INVALID_STATEMENT_STATE.test(state)
}

/** `true` for a mistake of the program, which says nothing about the database. */
export function isProgramFault(error: unknown): boolean {
  const cause = listCauses(error).at(-1)
  return [TypeError, RangeError, ReferenceError, SyntaxError].some((type) => cause instanceof type)
}

/** `true` when a statement took too long, or waited too long for a connection of the pool. */
export function isTimeout(error: unknown): boolean {
  return findSqlState(error) === QUERY_CANCELED || describeStoreFailure(error).includes('statements at once')
}

/** `true` when another process has locked the SQLite file. */
export function isLocked(error: unknown): boolean {
  return LOCKED.test(describeStoreFailure(error))
}

/** `true` when the SQLite file is damaged and must be reopened. */
export function isFileDamaged(error: unknown): boolean {
  return FILE_DAMAGED.test(describeStoreFailure(error))
}

/** Return the database's message, which contains no stored data. */
export function describeStoreFailure(error: unknown): string {
  return listCauses(error).at(-1)?.message ?? 'unknown reason'
}

/** Return the message of the database when the store failed, else the error's own. */
export function describeFailure(error: VitrineError): string {
  return error instanceof StoreError ? describeStoreFailure(error) : error.message
}

type Explanation = Readonly<{ reason: string; remedy: string }>

/** Primary result codes of SQLite. An extended code contains one of them in its lowest byte. */
const SQLITE_CORRUPT = 11
const SQLITE_FULL = 13
const SQLITE_NOTADB = 26
const PRIMARY_CODE_BITS = 0xff

const READ_ONLY: Explanation = {
  reason: 'the file system is read-only',
  remedy: 'Mount it with write access, or choose another path.',
}

/** Return the error to throw when the file at `path` cannot be opened. SQLite gives no reason, so this checks the file system. */
export function toOpenError(path: string, error: unknown): VitrineError {
  const isExplained = error instanceof VitrineError && !(error instanceof StoreError && error.remedy === null)
  if (isExplained) return error
  const explanation = explain(path, findErrorCode(error))
  if (explanation !== undefined) {
    const { reason, remedy } = explanation
    return new StoreError(`Cannot open the database "${path}": ${reason}`, { cause: error, remedy })
  }
  if (error instanceof VitrineError) return error
  const message = error instanceof Error ? error.message : 'unknown reason'
  return new StoreError(`Cannot open the database "${path}": ${message}`, { cause: error })
}

function explain(path: string, code: number | string | undefined): Explanation | undefined {
  const folder = findExistingFolder(path)
  if (code === SQLITE_FULL || code === 'ENOSPC' || code === 'EDQUOT')
    return { reason: 'the disk is full', remedy: `Free space on the disk of the folder "${folder}".` }
  if (code === 'EROFS') return READ_ONLY
  if (code === SQLITE_NOTADB)
    return {
      reason: 'the file is not a database',
      remedy: 'Choose another path, or move the file away: the server then creates a new database.',
    }
  if (code === SQLITE_CORRUPT)
    return {
      reason: 'the file is damaged',
      remedy: 'Restore a backup, or move the file away: the server then creates a new database.',
    }
  return explainPath(path, folder) ?? explainRefusal(code, `the folder "${folder}"`)
}

function explainPath(path: string, folder: string): Explanation | undefined {
  const link = findDanglingLink(path)
  if (link !== undefined)
    return {
      reason: `"${link.path}" is a link to "${link.target}", which does not exist`,
      remedy: 'Mount the volume of its target, or create the target.',
    }
  if (!isFolder(folder)) return { reason: `"${folder}" is not a folder`, remedy: 'Choose another path.' }
  if (isFolder(path)) return { reason: 'it is a folder', remedy: 'Choose the path of a file.' }
  for (const file of [path, `${path}-wal`, `${path}-shm`]) {
    const refusal = explainRefusal(findRefusal(file, constants.R_OK | constants.W_OK), `the file "${file}"`)
    if (refusal !== undefined) return refusal
  }
  return explainRefusal(findRefusal(folder, constants.W_OK | constants.X_OK), `the folder "${folder}"`)
}

function explainRefusal(code: number | string | undefined, target: string): Explanation | undefined {
  if (code === 'EROFS') return READ_ONLY
  if (code !== 'EACCES' && code !== 'EPERM') return undefined
  return { reason: 'permission denied', remedy: `Give the server's user write access to ${target}.` }
}

/** Return the folder of the file, or its nearest existing parent. */
function findExistingFolder(path: string): string {
  const folder = dirname(path)
  if (folder === '.') return resolve(folder)
  return existsSync(folder) || folder === dirname(folder) ? folder : findExistingFolder(folder)
}

/** Find the part of the path that is a link to something missing. */
function findDanglingLink(path: string): Readonly<{ path: string; target: string }> | undefined {
  if (existsSync(path) || dirname(path) === path) return undefined
  try {
    return { path, target: readlinkSync(path) }
  } catch {
    return findDanglingLink(dirname(path))
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}

/** Return the system error code of a failed access check; `undefined` when access is granted. */
function findRefusal(path: string, mode: number): string | undefined {
  try {
    accessSync(path, mode)
    return undefined
  } catch (error) {
    return (error as NodeJS.ErrnoException).code
  }
}

/** Return SQLite's primary result code or the system's error code, searching the causes of an error. */
export function findErrorCode(error: unknown): number | string | undefined {
  if (!(error instanceof Error)) return undefined
  if ('errcode' in error && typeof error.errcode === 'number') return error.errcode & PRIMARY_CODE_BITS
  return findErrorCode(error.cause) ?? (error as NodeJS.ErrnoException).code
}
