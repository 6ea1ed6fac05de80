import { findSqlState } from '../database/transact.ts'

/**
 * What a server says, by class of its five characters, when it cannot be worked with at all: no connection, no room, shutting
 * down, its disk, a login that it refuses, a database that is not there.
 */
const AWAY_CLASSES: ReadonlySet<string> = new Set(['08', '28', '3D', '53', '57', '58'])

/** It ended a statement that took too long: so it is there. */
const TOO_LONG = '57014'

/** A standby, or a server that has become one. */
const READ_ONLY = '25006'

/** Was a write refused because the database only reads? What is stored can be read all the same. */
export function isReadOnly(error: unknown): boolean {
  return findSqlState(error) === READ_ONLY
}

/** Can the database not be reached, or not be worked with? What it refuses for its own reasons is something else. */
export function isAway(error: unknown): boolean {
  const state = findSqlState(error)
  if (state === undefined) return isConnectionLost(error)
  return state !== TOO_LONG && AWAY_CLASSES.has(state.slice(0, 2))
}

function isConnectionLost(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (error.cause !== undefined) return isConnectionLost(error.cause)
  const isOfSystem = 'code' in error && typeof error.code === 'string' && error.code.startsWith('E')
  return isOfSystem || LOST.test(error.message)
}

/** In the words of the driver and of ours. */
const LOST = /connection|timeout|terminated|said nothing|does not support SSL/i

/** SQLSTATE class 22, data exception. */
const DATA_EXCEPTION = /^22/

/** Did the database refuse a value of the statement (a text with NUL, a number out of range)? Then it works. */
export function isValueRefused(error: unknown): boolean {
  return DATA_EXCEPTION.test(findSqlState(error) ?? '')
}

/** Was a statement ended because it took too long? */
export function isTooLong(error: unknown): boolean {
  return findSqlState(error) === TOO_LONG || isFull(error)
}

/** Has this process more to ask than its connections carry? */
function isFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return error.message.includes('statements at once') || isFull(error.cause)
}

/** What is thrown without asking while the database is known to be away. */
export const AWAY_WORDS = 'the database could not be reached a moment ago'

/** Was the database not reached, or not asked because it is known to be away, whatever showed that? */
export function isUnreached(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return error.message === AWAY_WORDS || isAway(error) || isUnreached(error.cause)
}

/** What is thrown without asking while the database is known to only read. */
export const READ_ONLY_WORDS = 'the database only read a moment ago'
