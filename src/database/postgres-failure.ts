import { listCauses } from './error-causes.ts'

/**
 * Failures of a server that speaks PostgreSQL's protocol, in words that may be told to anybody: what drivers and servers say
 * names users, and sometimes what lies in the rows.
 */

/** What the system calls its failures; those of Node's own have words. */
const SYSTEM_CODE = /^E(?!RR_)[A-Z_]+$/

const failures = new WeakSet<Error>()

/** By SQLSTATE, or its first two characters. Where there is none, the server's own words are told, without names of users. */
const MESSAGES: Readonly<Record<string, string>> = {
  '28': 'it refuses the user or the password, or has no rule for this machine',
  '3D000': 'it has no such database',
  '53300': 'it has no connection left',
  '25006': 'it only reads, as a standby does',
  '57P03': 'it is starting or ending',
  '57014': 'a statement took too long',
  '25P03': 'a transaction rested too long',
  '55P03': 'another transaction holds what this one needs',
}

/**
 * The failure of a statement or a connection: `label` is host, port and database. It has the SQLSTATE, or the system's code,
 * as `code`, and nothing else of the error.
 */
export function toPostgresFailure(error: unknown, label: string): Error {
  const code = findErrorCode(error)
  const failure = new Error(`${label}: ${describe(error, code)}`)
  if (code !== undefined) Object.assign(failure, { code })
  failures.add(failure)
  return failure
}

/** Find the failure of the database at the bottom of an error. */
export function findPostgresFailure(error: unknown): Error | undefined {
  return listCauses(error).find((cause) => failures.has(cause))
}

function findErrorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

function describe(error: unknown, code: string | undefined): string {
  if (!(error instanceof Error)) return 'unknown reason'
  if (code === undefined) return error.message
  // Where a name has several addresses, the error of all of them has no message.
  if (SYSTEM_CODE.test(code)) return `it cannot be reached (${code})`
  return MESSAGES[code] ?? MESSAGES[code.slice(0, 2)] ?? error.message.replace(/\b(user|role) "[^"]*"/g, '$1')
}
