import {
  describeConnectionFailure,
  isInvalidCertificate,
  isUnknownAuthority,
} from '../outgoing/connection-failures.ts'
import { listCauses } from './error-causes.ts'

/** Failures of a PostgreSQL server without private data: messages of drivers and servers can contain users and row values. */

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
  const code = findErrorCode(error)
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

function findErrorCode(error: unknown): string | undefined {
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
